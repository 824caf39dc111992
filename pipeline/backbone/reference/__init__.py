"""A rule-based policy behind a chat API: it shows the wiring, and is not a language model."""
