"""Worlds of several servers, of which a majority decides."""
