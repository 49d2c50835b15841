"""What one server of several does with sheets that a majority sets: as the model has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from dibs.model.quorum import Absent
from dibs.model.register import EMPTY, Cell, accepted, promised, unnoted
from dibs.model.sheet import Change
from dibs.ports.store import Command
from dibs.stores.direct import DirectLocks
from dibs.stores.quorum.cells import Beaten, Heeded
from dibs.testing.simulation.network import Server

if TYPE_CHECKING:
    from dibs.model.asks import Push
    from dibs.model.register import Kept, Rank

Copies = Mapping[str, tuple[Cell, float]]


class CellServer(Server):
    """The memory store with its part of such sheets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cells: dict[str, Cell] = {}
        self.floor: int | None = None
        """Up to which no number is heeded; `None` if it has forgotten its sheets."""
        self.most_promised = 0
        self.told_under = ""

    def forget(self) -> None:
        super().forget()
        self.sheets.clear()
        self.cells.clear()
        self.floor, self.most_promised, self.told_under = None, 0, ""

    def execute(self, words: Sequence[Any], now: float, listens: Callable[[str], bool]) -> tuple[Any, Sequence[Push]]:
        match words:
            case ("survey", token):
                return self._surveyed(token), ()
            case ("adopt", token, floor, copies):
                return self._adopted(token, floor, copies), ()
            case ("consult" | "prepare" | "accept" | "learn" | "copy" as what, *more):
                if self.floor is None:
                    return Absent.BARE, ()
                return getattr(self, f"_{what}")(self.floor, *more, now=now), ()
            case _:
                return super().execute(words, now, listens)

    def _consult(self, _floor: int, name: str, *, now: float) -> Cell:
        return self.cells.get(name, EMPTY)

    def _prepare(self, floor: int, name: str, rank: Rank, *, now: float) -> Cell | Beaten:
        before = self.cells.get(name, EMPTY)
        cell = promised(before, rank, floor=floor)
        if cell is None:
            return Beaten(max(floor, before.promised.number))
        self.cells[name], self.most_promised = cell, max(self.most_promised, rank.number)
        return cell

    def _accept(self, floor: int, name: str, rank: Rank, kept: Kept, not_after: float, *, now: float) -> Heeded:
        before = self.cells.get(name, EMPTY)
        cell = accepted(before, rank, kept, floor=floor)
        if cell is None:
            return Beaten(max(floor, before.promised.number))
        if now > not_after:
            return Absent.LATE
        self.cells[name] = cell
        return None

    def _learn(self, _floor: int, name: str, rank: Rank, *, now: float) -> Heeded:
        cell = self.cells.get(name, EMPTY)
        if cell.rank != rank or cell.kept is None:
            return Beaten(cell.promised.number)
        if cell.noted < cell.kept.revision:
            self._note_unnoted(name, cell, cell.kept, now)
            self.cells[name] = replace(cell, noted=cell.kept.revision)
        return None

    def _note_unnoted(self, name: str, cell: Cell, kept: Kept, now: float) -> None:
        sheets = self.sheets[""]
        if kept.text is None:
            sheets.histories.pop(name, None)
        elif entries := unnoted(cell):
            noted = Change(name, 0, None, None, -inf, inf, entries=entries, keep=kept.keep, keep_for=kept.keep_for)
            self._noted(sheets, noted, now)

    def _surveyed(self, token: str) -> int | str:
        if self.floor is not None:
            return self.most_promised
        self.told_under = self.told_under or token
        return self.told_under

    def _copy(self, before: int, floor: int, *, now: float) -> Copies:
        self.floor, self.most_promised = max(before, floor), max(self.most_promised, floor)
        return {name: (cell, inf) for name, cell in self.cells.items() if cell.kept is not None}

    def _adopted(self, token: str, floor: int, copies: Copies) -> Heeded:
        if self.floor is not None:
            return None
        if token != self.told_under:
            return Absent.BARE
        self.cells = {name: Cell(rank=cell.rank, kept=cell.kept) for name, (cell, _) in copies.items()}
        self.floor, self.most_promised, self.told_under = floor, floor, ""
        return None


class DirectCells(DirectLocks):
    """How such a server is asked."""

    def consult(self, name: str) -> Command[Cell | Absent]:
        return self._of("consult", name)

    def prepare(self, name: str, rank: Rank, until: float) -> Command[Cell | Beaten | Absent]:
        return self._of("prepare", name, rank)

    def accept(self, name: str, rank: Rank, kept: Kept, *, not_after: float, until: float) -> Command[Heeded]:
        return self._of("accept", name, rank, kept, not_after)

    def learn(self, name: str, rank: Rank, kept: Kept) -> Command[Heeded]:
        return self._of("learn", name, rank)

    def survey(self, token: str = "") -> Command[int | str]:
        return self._of("survey", token)

    def copy(self, floor: int) -> Command[Copies | Absent]:
        return self._of("copy", floor)

    def adopt(self, token: str, floor: int, copies: Copies) -> Command[object]:
        return self._of("adopt", token, floor, copies)

    def _of(self, *words: Any) -> Command[Any]:
        return Command(words, _as_it_is, self._node)


def _as_it_is(reply: Any) -> Any:
    return reply
