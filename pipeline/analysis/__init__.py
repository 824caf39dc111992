"""Scores and summaries over the tables of a run."""
