"""How Redis and Valkey are asked about jobs: their sheets, when somebody has to look at them, and their histories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dibs.model.sheet import Look, Sheet
from dibs.ports.store import Command
from dibs.stores.redis.keys import Keys
from dibs.stores.redis.resp import bulks
from dibs.stores.redis.scripts import AMEND, DUE, MICRO, SHEETS

if TYPE_CHECKING:
    from dibs.model.sheet import Change

FAR = 10**18
"""Nobody's clock gets so far (µs), to either side: it stands for what has no end."""
LONGEST = 10**14
"""A history is kept no longer than this (ms)."""


class RedisJobs:
    """The part of the dialect that is about jobs."""

    def __init__(self, keys: Keys, *, node: int = 0) -> None:
        self._keys, self._node = keys, node

    def due(self, skip: int, limit: int) -> Command[Look]:
        words = DUE.head(keys=2, args=2) + self._keys.jobs + self._keys.due + bulks((b"%d" % skip, b"%d" % limit))
        return Command((words,), _due, self._node)

    def sheets(self, names: Sequence[str]) -> Command[Look]:
        words = SHEETS.head(keys=1, args=len(names)) + self._keys.jobs + bulks(name.encode() for name in names)
        return Command((words,), partial(_read, names), self._node)

    def amend(self, changes: Sequence[Change]) -> Command[Sequence[int]]:
        args = [word for change in changes for word in _change(change)]
        parts = [AMEND.head(keys=3 + len(changes), args=len(args)), self._keys.counter, self._keys.jobs, self._keys.due]
        parts.extend(self._keys.history_of(change.name) for change in changes)
        parts.append(bulks(args))
        return Command((b"".join(parts),), lambda answer: answer[1:], self._node)

    def history(self, name: str, limit: int) -> Command[Sequence[str]]:
        words = b"*5\r\n" + bulks((b"ZRANGE",)) + self._keys.history_of(name)
        words += bulks((b"0", b"%d" % (limit - 1), b"REV"))
        return Command((words,), lambda members: [_noted(member) for member in members][:limit], self._node)


def _change(change: Change) -> Sequence[bytes]:
    acts_at = b"" if change.acts_at is None else _micros(change.acts_at)
    entries = [word for entry in change.entries for word in (_micros(entry.at), entry.text.encode())]
    return (
        change.name.encode(),
        b"%d" % change.revision,
        _micros(change.earliest),
        _micros(change.not_after),
        b"%d" % change.seen,
        b"drop" if change.text is None else b"keep",
        acts_at,
        (change.text or "").encode(),
        b"%d" % change.keep,
        b"%d" % min(change.keep_for * 1_000, LONGEST),
        b"%d" % len(change.entries),
        *entries,
    )


def _micros(at: float) -> bytes:
    """The nearest, as what was told in parts of a second is given back in seconds."""
    return b"%d" % round(min(max(at * MICRO, -FAR), FAR))


def _due(answer: Sequence[Any]) -> Look:
    now, life, next_at, *found = answer
    sheets = [sheet for name, kept in zip(found[::2], found[1::2], strict=True) if (sheet := _sheet(_text(name), kept))]
    return Look(now / MICRO, _text(life), sheets, float(next_at) / MICRO if next_at else None)


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


def _noted(member: bytes) -> str:
    return _text(member.partition(b"\n")[2])


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
