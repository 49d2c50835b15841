"""As much of the Redis protocol as it takes to say one command, and to see where a message ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress

LINE = b"\r\n"
WHOLE = {b"$", b"=", b"!"}
"""Texts, which say how many bytes follow."""
MEMBERS = {b"*": (1, 0), b"~": (1, 0), b">": (1, 0), b"%": (2, 0), b"|": (2, 1)}
"""Collections, which say how many follow; an attribute is followed by what it is an attribute of."""

PUSHES = {
    *("MESSAGE", "PMESSAGE", "SMESSAGE"),
    *("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"),
}


def command(*words: str) -> bytes:
    """The words of a command, as a server wants them."""
    texts = [word.encode() for word in words]
    return b"*%d\r\n" % len(texts) + b"".join(b"$%d\r\n%b\r\n" % (len(text), text) for text in texts)


def messages(stream: bytes) -> tuple[list[bytes], bytes]:
    """The whole messages that a stream begins with, and the rest."""
    found, start = [], 0
    while (end := _end(stream, start)) is not None:
        found.append(stream[start:end])
        start = end
    return found, stream[start:]


class Inbox:
    """The messages of one stream, as they come."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream, self._rest = stream, b""

    async def batch(self) -> list[bytes]:
        """All that have come at once; of one that breaks off, what there was of it; nothing more at the end."""
        with suppress(ConnectionError):  # which is an end, too
            while data := await self._stream.read(65536):
                found, self._rest = messages(self._rest + data)
                if found:
                    return found
        broken, self._rest = self._rest, b""
        return [broken] if broken else []


def name(message: bytes) -> str:
    """Which command or push it is, in capitals: the first word of a list, or of a line that somebody has typed."""
    words = message.split(LINE)[2:] if message.startswith((b"*", b">")) else message.split()
    return words[0].decode(errors="replace").upper() if words else ""


def is_push(message: bytes) -> bool:
    """Whether it is no reply; in the older protocol only the first word tells."""
    return message.startswith(b">") or (message.startswith(b"*") and name(message) in PUSHES)


def is_answered(name: str) -> bool:
    """Whether a reply will come; to subscribe is answered by pushes, one for each channel."""
    return not name.endswith("SUBSCRIBE")


def _end(stream: bytes, start: int) -> int | None:
    """Where the message ends that starts there, or None if not all of it has come."""
    end_of_line = stream.find(LINE, start)
    if end_of_line < 0:
        return None
    sort, head, after = stream[start : start + 1], stream[start + 1 : end_of_line], end_of_line + len(LINE)
    if sort in WHOLE and head != b"-1":
        end = after + int(head) + len(LINE)
        return end if end <= len(stream) else None
    times, more = MEMBERS.get(sort, (0, 0))
    return _end_of_members(stream, after, times * max(int(head), 0) + more if times else 0)


def _end_of_members(stream: bytes, start: int, count: int) -> int | None:
    for _ in range(count):
        end = _end(stream, start)
        if end is None:
            return None
        start = end
    return start
