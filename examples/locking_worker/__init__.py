"""A cluster of processes that take one another's place: whoever has the lock tries the work, and most of them fail."""
