"""How one of several servers is asked about a sheet that a majority of them sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from dibs.model.quorum import Absent
from dibs.model.register import LINGERS, NOBODY, Cell, Kept, Rank, kept_of
from dibs.model.value import value
from dibs.ports.store import Command, Store
from dibs.stores.quorum.scripts import ACCEPT, ADOPT, CONSULT, COPY, LEARN, PREPARE, SURVEY
from dibs.stores.redis.dialect import RedisLocks
from dibs.stores.redis.jobs import entry_words, micros, millis
from dibs.stores.redis.resp import bulks

if TYPE_CHECKING:
    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.scripts import Script

_LATE, _KEPT, _CHANGED, _BARE = 4, 6, 10, 11


@value
class Beaten:
    """It has promised itself to another, who has this number; or has accepted another's; or is in another era."""

    by: int
    era: str = ""


@value
class Copies:
    """What one of them knows, for one that has forgotten it."""

    most_promised: int
    """Its highest number, of any sheet."""
    sheets: Mapping[str, tuple[Cell, float]]
    """What was accepted, and until when it is kept."""


Heeded = Beaten | Absent | None
"""`None`: it has done as it was told."""


class CellStore(Store, Protocol):
    """What one of several servers can be asked about sheets that a majority sets. Times are its own."""

    def consult(self, name: str) -> Command[Cell | Absent]:
        """What it has accepted."""
        ...

    def prepare(self, name: str, rank: Rank, until: float, era: str) -> Command[Cell | Beaten | Absent]:
        """Heed no lower rank, and tell what was accepted so far, if it still is in the era that we have heard of.

        Until when it is to know of this, at least.
        """
        ...

    def accept(self, name: str, rank: Rank, kept: Kept, *, not_after: float, until: float) -> Command[Heeded]:
        """Keep this, if this very rank was promised last; until then, at least."""
        ...

    def learn(self, name: str, rank: Rank, kept: Kept) -> Command[Heeded]:
        """What was accepted under this rank is settled: what came with it is to be noted."""
        ...

    def survey(self, token: str = "") -> Command[int | str]:
        """The highest number it has promised, if it knows all of its sheets; else the token to tell it under.

        That of whoever asked first stands until it was told: so it has not forgotten again since, and all may use it.
        """
        ...

    def copy(self, floor: int) -> Command[Copies | Absent]:
        """Heed no number up to this, and tell of all sheets what was accepted."""
        ...

    def adopt(self, token: str, floor: int, sheets: Mapping[str, tuple[Cell, float]]) -> Command[object]:
        """What others have accepted, for one that has forgotten it and still knows the token."""
        ...


class RedisCells(RedisLocks):
    """The part of the dialect that is about such sheets."""

    def __init__(self, keys: Keys) -> None:
        super().__init__(keys)
        self._registers = keys.registers

    def consult(self, name: str) -> Command[Cell | Absent]:
        return self._of(CONSULT, 1, (name.encode(),), _cell)

    def prepare(self, name: str, rank: Rank, until: float, era: str) -> Command[Cell | Beaten | Absent]:
        return self._of(PREPARE, 2, (name.encode(), *_rank(rank), micros(until), era.encode()), _cell)

    def accept(self, name: str, rank: Rank, kept: Kept, *, not_after: float, until: float) -> Command[Heeded]:
        latest = b"" if not_after == inf else micros(not_after)
        words = (name.encode(), *_rank(rank), latest, micros(until), kept.written().encode())
        return self._of(ACCEPT, 2, words, _heeded)

    def learn(self, name: str, rank: Rank, kept: Kept) -> Command[Heeded]:
        what = b"drop" if kept.text is None else b"keep"
        revisions = [b"%d" % revision for revision, _ in kept.pending]
        entries = entry_words(name, [entry for _, entry in kept.pending])
        terms = (b"%d" % kept.revision, what, b"%d" % kept.keep, millis(kept.keep_for), b"%d" % len(revisions))
        args = (name.encode(), *_rank(rank), *terms, *revisions, *entries)
        keys = self._registers[0] + self._keys.counter + self._keys.entries + self._keys.ends
        return Command((LEARN.head(keys=4, args=len(args)) + keys + bulks(args),), _heeded)

    def survey(self, token: str = "") -> Command[int | str]:
        return self._of(SURVEY, 1, (token.encode(),), _surveyed)

    def copy(self, floor: int) -> Command[Copies | Absent]:
        return self._of(COPY, 2, (b"%d" % floor,), lambda answer: _bare(answer) or _copies(answer[2:]))

    def adopt(self, token: str, floor: int, sheets: Mapping[str, tuple[Cell, float]]) -> Command[object]:
        words = [token.encode(), b"%d" % floor]
        for name, (cell, until) in sheets.items():
            text = "" if cell.kept is None else cell.kept.written()
            words += name.encode(), micros(until), *_rank(cell.rank), text.encode()
        return self._of(ADOPT, 2, words, _heeded)

    def _of(self, script: Script, keys: int, args: Sequence[bytes], read: Callable[[Any], Any]) -> Command[Any]:
        head = script.head(keys=keys, args=len(args))
        return Command((head + b"".join(self._registers[:keys]) + bulks(args),), read)


def lasts_until(kept: Kept | None, now: float) -> float:
    """Until when a server is to know of a sheet."""
    if kept is None:
        return now + LINGERS
    return inf if kept.ends_at is None else kept.ends_at + LINGERS


def _rank(rank: Rank) -> tuple[bytes, bytes]:
    return b"%d" % rank.number, b"%d" % rank.proposer


def _bare(answer: Sequence[Any]) -> Absent | None:
    return Absent.BARE if answer[1] == _BARE else None


def _surveyed(answer: Sequence[Any]) -> int | str:
    return answer[2].decode() if answer[1] == _BARE else int(answer[2])


def _cell(answer: Sequence[Any]) -> Cell | Beaten | Absent:
    return _told(answer[3:], answer[2].decode()) if answer[1] == _KEPT else _no(answer)


def _heeded(answer: Sequence[Any]) -> Heeded:
    return None if answer[1] == _KEPT else _no(answer)


def _no(answer: Sequence[Any]) -> Beaten | Absent:
    if answer[1] == _LATE:
        return Absent.LATE
    return Beaten(int(answer[2]), answer[3].decode()) if answer[1] == _CHANGED else Absent.BARE


def _told(words: Sequence[bytes], era: str = "") -> Cell:
    number, proposer, noted, text = words
    return Cell(NOBODY, Rank(int(number), int(proposer)), kept_of(text.decode()) if text else None, int(noted), era)


def _copies(words: Sequence[bytes]) -> Copies:
    found = [words[place : place + 6] for place in range(1, len(words), 6)]
    sheets = {name.decode(): (_told(told), float(until) / 1e6) for name, until, *told in found}
    return Copies(int(words[0]), sheets)
