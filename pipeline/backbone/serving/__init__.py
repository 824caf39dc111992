"""How a backbone is served for a run."""
