"""Grants that count only once so many replicas have them, too: `min_replicas`.

A command that must not be forgotten goes with a second one, a write of no consequence behind it, after which is waited
for the replicas: on a connection of its own, as everything else on that one waits as well.
"""
