"""Tasks, gold answers and scorers."""
