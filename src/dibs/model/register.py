"""A sheet that several servers keep, none of which knows all: how a majority of them sets it, one change after another.

It is a register in the manner of CASPaxos. Who wants to set it takes a *rank* that nobody else has, has a majority
promise to heed no lower one, and hears what each has accepted so far. What stands under the highest rank is what may
have been settled; a change is made from that alone, and is settled once a majority has accepted it under the new rank.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from hashlib import sha1
from typing import NamedTuple

from dibs.model.fence import MICROSECONDS
from dibs.model.quorum import majority
from dibs.model.sheet import Change, Entry, Line, Sheet
from dibs.model.value import value

MOST_SIGNS = 8
LINGERS = 86_400.0
"""So long after its end a server drops a sheet: by then all clocks agree that it is over."""


class Rank(NamedTuple):
    """Who may set a sheet. No two are equal, as no two proposers are, and none takes a number twice."""

    number: int
    proposer: int


NOBODY = Rank(0, 0)


def proposer_of(channel: str) -> int:
    """The number of the one whose channel this is, which is nobody else's; a double can hold it."""
    return int.from_bytes(sha1(channel.encode(), usedforsecurity=False).digest()[:6], "big")


def next_number(*, now: float, last: int, seen: int) -> int:
    """The number of a new rank: it follows the clock, is above our own last one, and above those that beat us."""
    return max(int(now * MICROSECONDS), last + 1, seen + 1)


@value
class Kept:
    """What a sheet was set to, by whom, and from what."""

    revision: int
    maker: Rank
    """Under which it was first put to the servers: so no other has the same."""
    after: tuple[str, ...]
    """The signs of what it was made from, the latest first: so many that one who was overtaken still finds its own."""
    text: str | None
    """`None`: it was thrown away."""
    ends_at: float | None
    """From then on it is as if it had never been."""
    pending: tuple[tuple[int, Entry], ...] = ()
    """What may not have been noted yet in the history by a majority, each with the revision that it came with."""
    keep: int = 1_000
    keep_for: float = 30 * 86_400.0

    @property
    def sign(self) -> str:
        """What tells it from all others."""
        return f"{self.maker.number}/{self.maker.proposer}"

    @property
    def line(self) -> tuple[str, ...]:
        """Its own sign, and before it those of what it was made from."""
        return (self.sign, *self.after)

    def written(self) -> str:
        """For a server that keeps it."""
        pending = [[revision, entry.at, entry.tags, entry.text] for revision, entry in self.pending]
        told = [self.revision, self.maker, self.after, self.text, self.ends_at, pending, self.keep, self.keep_for]
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def kept_of(text: str) -> Kept:
    """What was written."""
    revision, maker, after, sheet, ends_at, pending, keep, keep_for = json.loads(text)
    entries = tuple((came_with, Entry(at, told, tuple(tags))) for came_with, at, tags, told in pending)
    return Kept(revision, Rank(*maker), tuple(after), sheet, ends_at, entries, keep, keep_for)


@value
class Cell:
    """What one server knows of a sheet: whom it has promised to heed, and what it has accepted, under which rank."""

    promised: Rank = NOBODY
    rank: Rank = NOBODY
    kept: Kept | None = None
    noted: int = 0
    """The revision up to which it has noted what came with the changes."""
    era: str = ""
    """When it was told: the server's is another whenever it has told one that forgot, or was told itself."""


EMPTY = Cell()


# What one server does.


def promised(cell: Cell, rank: Rank, *, floor: int) -> Cell | None:
    """It heeds nothing below this rank from now on; `None` if it has promised that to a higher one."""
    if rank.number <= floor or rank < cell.promised:
        return None
    return replace(cell, promised=rank)


def accepted(cell: Cell, rank: Rank, kept: Kept, *, floor: int) -> Cell | None:
    """It keeps this; `None` if it has promised itself to another since, or has forgotten that it had to this one."""
    if rank.number <= floor or rank != cell.promised:
        return None
    return replace(cell, rank=rank, kept=kept)


def unnoted(cell: Cell) -> Sequence[Entry]:
    """What of it this server has still to note, once it is settled."""
    return [] if cell.kept is None else [entry for revision, entry in cell.kept.pending if revision > cell.noted]


# What the answers of several come to.


def highest(cells: Sequence[Cell]) -> Cell:
    """What may have been settled: whatever was is at the highest rank of any majority, or below it in its line."""
    return max(cells, key=lambda cell: cell.rank)


def settled(cells: Sequence[Cell], need: int) -> Cell | None:
    """What so many have accepted under one rank, and noted: nothing else was settled since, when they were asked."""
    times = Counter((cell.rank, cell.kept is None or cell.noted >= cell.kept.revision) for cell in cells)
    return next((cell for cell in cells if times[cell.rank, True] >= need), None)


def standing(name: str, kept: Kept | None, now: float) -> Sheet | None:
    """The sheet, unless it was thrown away, or is over."""
    if kept is None or kept.text is None or (kept.ends_at is not None and kept.ends_at <= now):
        return None
    return Sheet(name, kept.revision, kept.text)


def changed(cells: Sequence[Cell], change: Change, *, need: int, rank: Rank, now: float) -> Kept | None:
    """What the sheet becomes, if it is what the change was made from, and it is made in its time."""
    before = highest(cells).kept
    sheet = standing(change.name, before, now)
    if change.revision != (0 if sheet is None else sheet.revision) or not change.earliest <= now <= change.not_after:
        return None
    revision = max(rank.number, change.seen + 1, change.revision + 1, 0 if before is None else before.revision + 1)
    ends_at = change.acts_at
    if change.text is None and before is not None:  # whoever missed it has the sheet until its own end
        ends_at = before.ends_at
    new = tuple((revision, entry) for entry in change.entries)
    pending = () if before is None or settled(cells, need) else before.pending
    after = line_of(before)[:MOST_SIGNS]
    return Kept(revision, rank, after, change.text, ends_at, pending + new, change.keep, change.keep_for)


class Fate(Enum):
    """What became of a change that was put to the servers, and not answered by enough of them."""

    MADE = "it is there, or was made from"
    UNMADE = "another one was made in its place, or nothing has changed yet"
    UNKNOWN = "others were made since, and nobody knows from what"


def fate(mine: Kept, found: Kept | None) -> Fate:
    """What one can tell by what is settled now."""
    line = line_of(found)
    if mine.sign in line:
        return Fate.MADE
    is_whole = len(line) <= MOST_SIGNS
    return Fate.UNMADE if is_whole or any(sign in line for sign in mine.after[:1]) else Fate.UNKNOWN


def line_of(kept: Kept | None) -> tuple[str, ...]:
    """All that is known of what came of what; nothing, where there was nothing."""
    return () if kept is None else kept.line


def told_once(pages: Sequence[Sequence[Line]]) -> Sequence[Line]:
    """What several servers have noted, each line once; of the same time, in the order in which all have what they have.

    Any of them may have missed some.
    """
    found, times = list[Line](), sorted({line.at for page in pages for line in page}, reverse=True)
    for at in times:
        left = [[line for line in page if line.at == at] for page in pages]
        while left := [page for page in left if page]:
            found.append(first := _first(left))
            left = [page[1:] if page[0] == first else page for page in left]
    return list(dict.fromkeys(found))


def _first(pages: Sequence[Sequence[Line]]) -> Line:
    """What nobody has behind something else, as far as they agree."""
    heads = list(dict.fromkeys(page[0] for page in pages))
    if len(heads) == 1:  # as nearly always
        return heads[0]
    return next((head for head in heads if not any(head in page[1:] for page in pages)), heads[0])


def is_restorable(size: int, *, whole: int, bare: int) -> bool:
    """Whether a server that has forgotten its sheets can be told all that a majority of so many has ever settled.

    So many of those that have not forgotten share one with each majority, less those that have. Or else so many have
    forgotten that nobody can know any more.
    """
    return whole > size - majority(size) or bare >= majority(size)
