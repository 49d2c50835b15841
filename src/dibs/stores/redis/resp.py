"""Commands as the bytes that are sent."""

from __future__ import annotations

from collections.abc import Iterable


def encode(*words: str) -> bytes:
    """One command."""
    return b"*%d\r\n%b" % (len(words), bulks(word.encode() for word in words))


def bulks(words: Iterable[bytes]) -> bytes:
    """Words as parts of a command."""
    return b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])
