"""Commands as the bytes that are sent."""

from __future__ import annotations

from collections.abc import Iterable


def encode(*words: bytes | str | int) -> bytes:
    """One command."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def bulks(words: Iterable[bytes]) -> bytes:
    """Words as parts of a command whose beginning was written already."""
    return b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])
