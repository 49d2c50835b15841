"""Readers of events."""
