"""Locks on one Redis: ours beside those of others, and beside what the wire itself takes."""
