"""The driver: plan, actors, journal, tables."""
