"""Served models, behind one client."""
