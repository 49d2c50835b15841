"""Scheduled methods under a lock, on several workers: what `@DistributedLock` is in NestJS."""
