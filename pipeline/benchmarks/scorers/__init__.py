"""Scorers: gold and answer in, metrics out."""
