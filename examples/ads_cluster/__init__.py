"""A primary and its workers, each with an HTTP server, write one value in turn: under a lock, and with a fence."""
