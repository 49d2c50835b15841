"""How Redis and Valkey are asked about jobs: their sheets, when somebody has to look at them, and their histories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dibs.model.sheet import Line, Look, Sheet
from dibs.ports.store import Command
from dibs.stores.redis.keys import Keys
from dibs.stores.redis.resp import bulks
from dibs.stores.redis.scripts import AMEND, DUE, LINES, MICRO, NAMED, NOTE, SHEETS

if TYPE_CHECKING:
    from dibs.model.sheet import Change, Entry, Question

FAR = 10**18
"""Nobody's clock gets so far (µs), to either side: it stands for what has no end."""
LONGEST = 10**14
"""A history is kept no longer than this (ms)."""
BEYOND = b"\xff"
"""No name has this byte: whatever begins as another does comes before that with this behind it."""


class RedisJobs:
    """The part of the dialect that is about jobs."""

    def __init__(self, keys: Keys, *, node: int = 0) -> None:
        self._keys, self._node = keys, node

    def due(self, skip: int, limit: int, by: float | None = None) -> Command[Look]:
        until = b"" if by is None else micros(by)
        words = DUE.head(keys=3, args=3) + self._keys.jobs + self._keys.indexes
        return Command((words + bulks((until, b"%d" % skip, b"%d" % limit)),), _due, self._node)

    def sheets(self, names: Sequence[str]) -> Command[Look]:
        words = SHEETS.head(keys=1, args=len(names)) + self._keys.jobs + bulks(name.encode() for name in names)
        return Command((words,), partial(_read, names), self._node)

    def amend(self, changes: Sequence[Change]) -> Command[Sequence[int]]:
        args, keys = [word for change in changes for word in _change(change)], self._keys
        head = AMEND.head(keys=6, args=len(args))
        words = head + keys.counter + keys.jobs + keys.indexes + keys.entries + keys.ends + bulks(args)
        return Command((words,), lambda answer: answer[1:], self._node)

    def named(self, prefix: str, after: str, limit: int) -> Command[Look]:
        words = NAMED.head(keys=3, args=3) + self._keys.jobs + self._keys.indexes
        first = b"(" + after.encode() if after >= prefix else b"[" + prefix.encode()
        words += bulks((first, b"(" + prefix.encode() + BEYOND, b"%d" % limit))
        return Command((words,), _named, self._node)

    def note(self, name: str, entries: Sequence[Entry], keep: int, keep_for: float) -> Command[object]:
        args = (name.encode(), b"%d" % keep, millis(keep_for), *entry_words(name, entries))
        words = NOTE.head(keys=3, args=len(args)) + self._keys.counter + self._keys.entries + self._keys.ends
        return Command((words + bulks(args),), lambda _: None, self._node)

    def lines(self, question: Question) -> Command[Sequence[Line]]:
        words = LINES.head(keys=3, args=4) + self._keys.entries + self._keys.lines_of(question.tag)
        page = b"%d" % question.skip, b"%d" % question.limit
        return Command((words + bulks((micros(question.until), micros(question.since), *page)),), _lines, self._node)


def _change(change: Change) -> Sequence[bytes]:
    acts_at = b"" if change.acts_at is None else micros(change.acts_at)
    return (
        change.name.encode(),
        b"%d" % change.revision,
        micros(change.earliest),
        micros(change.not_after),
        b"%d" % change.seen,
        change.unless_due.encode(),
        b"drop" if change.text is None else b"keep",
        acts_at,
        (change.text or "").encode(),
        b"%d" % change.keep,
        millis(change.keep_for),
        b"%d" % len(change.entries),
        *entry_words(change.name, change.entries),
    )


def entry_words(name: str, entries: Sequence[Entry]) -> Sequence[bytes]:
    """What is to be noted in this history: when, under what else, and what."""
    return [word for entry in entries for word in (micros(entry.at), _tags(name, entry), entry.text.encode())]


def _tags(name: str, entry: Entry) -> bytes:
    """Under what else it is found."""
    return "".join(f"\t{tag}" for tag in dict.fromkeys(entry.tags) if tag != name).encode()


def micros(at: float) -> bytes:
    """The nearest, as what was told in parts of a second is given back in seconds."""
    return b"%d" % round(min(max(at * MICRO, -FAR), FAR))


def millis(duration: float) -> bytes:
    """As far as there are so many."""
    return b"%d" % min(duration * 1_000, LONGEST)


def _due(answer: Sequence[Any]) -> Look:
    now, life, next_at, *found = answer
    return Look(now / MICRO, _text(life), _sheets(found), float(next_at) / MICRO if next_at else None)


def _named(answer: Sequence[Any]) -> Look:
    now, life, *found = answer
    return Look(now / MICRO, _text(life), _sheets(found))


def _sheets(found: Sequence[bytes]) -> Sequence[Sheet]:
    pairs = zip(found[::2], found[1::2], strict=True)
    return [sheet for name, kept in pairs if (sheet := _sheet(_text(name), kept))]


def _read(names: Sequence[str], answer: Sequence[Any]) -> Look:
    now, life, *found = answer
    sheets = [sheet for name, kept in zip(names, found, strict=True) if kept and (sheet := _sheet(name, kept))]
    return Look(now / MICRO, _text(life), sheets)


def _sheet(name: str, kept: bytes) -> Sheet | None:
    """Nothing, if it is in a format of another version's, or by another program."""
    match kept.split(b"\n", 3):
        case [b"1", revision, _, text] if revision.isdigit():
            return Sheet(name, int(revision), _text(text))
        case _:
            return None


def _lines(answer: Sequence[Any]) -> Sequence[Line]:
    pairs = zip(answer[1::2], answer[2::2], strict=True)
    return [line for at, entry in pairs if (line := _line(float(at) / MICRO, entry))]


def _line(at: float, entry: bytes) -> Line | None:
    """Nothing, if it is in a format of another version's."""
    match entry.split(b"\n", 2):
        case [b"1", words, text]:
            return Line(_text(words.partition(b"\t")[0]), at, _text(text))
        case _:
            return None


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
