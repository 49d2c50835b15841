"""The scripts: the transition table as the server carries it out, each in one step."""

from __future__ import annotations

import re
from hashlib import sha1
from importlib.resources import files

from dibs.model.value import value
from dibs.stores.redis.resp import bulks, encode

MICRO = 1_000_000
"""Nearly every answer begins with the server's time, in so many parts of a second."""

_INCLUDE = re.compile(r"^-- include (\w+)$", re.MULTILINE)


@value
class Script:
    """One script, by the name that the server gives it."""

    name: str
    text: str
    sha: bytes

    @property
    def load(self) -> bytes:
        """The command that makes a server know it."""
        return encode("SCRIPT", "LOAD", self.text)

    def head(self, *, keys: int, args: int) -> bytes:
        """How a command begins that runs it."""
        return b"*%d\r\n" % (3 + keys + args) + bulks((b"EVALSHA", self.sha, b"%d" % keys))


def source(name: str, *rooms: str) -> str:
    """A file with all that it includes, each from the first of these rooms that has it, or else from ours."""
    places = [files(room).joinpath("lua", f"{name}.lua") for room in (*rooms, "dibs.stores.redis")]
    text = next(place for place in places if place.is_file()).read_text("utf-8")
    return _INCLUDE.sub(lambda found: source(found[1], *rooms), text)


def script(name: str, text: str) -> Script:
    """The script of that text."""
    return Script(name, text, sha1(text.encode()).hexdigest().encode())  # noqa: S324 - a name, and Redis's choice


def _script(name: str) -> Script:
    return script(name, source(name))


ACQUIRE, ENTER, TOGETHER, KEEP, LEAVE, EVICT = map(_script, ("acquire", "enter", "together", "keep", "leave", "evict"))
INSPECT, HELD, RECALL, COUNT, TIME = map(_script, ("inspect", "held", "recall", "count", "time"))
DUE, SHEETS, AMEND, NAMED, NOTE, LINES = map(_script, ("due", "sheets", "amend", "named", "note", "lines"))
ALL = (
    *(ACQUIRE, ENTER, TOGETHER, KEEP, LEAVE, EVICT, INSPECT, HELD, RECALL, COUNT, TIME),
    *(DUE, SHEETS, AMEND, NAMED, NOTE, LINES),
)
