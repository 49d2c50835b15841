"""Worlds of nodes that run jobs."""
