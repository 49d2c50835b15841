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
from dibs.stores.quorum.cells import Beaten, Copies, Heeded
from dibs.testing.simulation.network import Server

if TYPE_CHECKING:
    from dibs.model.asks import Push
    from dibs.model.register import Kept, Rank

Sheets = Mapping[str, tuple[Cell, float]]


class CellServer(Server):
    """The memory store with its part of such sheets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cells: dict[str, Cell] = {}
        self.floor: int | None = None
        """Up to which no number is heeded; `None` if it has forgotten its sheets."""
        self.most_promised = 0
        self.told_under = self.life = ""
        """The token under which it waits to be told; and that under which it was told last."""

    @property
    def era(self) -> str:
        """Another whenever it has told one that forgot, or was told itself."""
        return f"{self.floor} {self.life}"

    def forget(self) -> None:
        super().forget()
        self.sheets.clear()
        self.cells.clear()
        self.floor, self.most_promised, self.told_under, self.life = None, 0, "", ""

    def execute(self, words: Sequence[Any], now: float, listens: Callable[[str], bool]) -> tuple[Any, Sequence[Push]]:
        match words:
            case ("survey", token):
                return self._surveyed(token), ()
            case ("adopt", token, floor, sheets):
                return self._adopted(token, floor, sheets), ()
            case ("consult" | "prepare" | "accept" | "learn" | "copy" as what, *more):
                if self.floor is None:
                    return Absent.BARE, ()
                return getattr(self, f"_{what}")(self.floor, *more, now=now), ()
            case _:
                return super().execute(words, now, listens)

    def _consult(self, _floor: int, name: str, *, now: float) -> Cell:
        return replace(self.cells.get(name, EMPTY), era=self.era)

    def _prepare(self, floor: int, name: str, rank: Rank, era: str, *, now: float) -> Cell | Beaten:
        before = self.cells.get(name, EMPTY)
        cell = promised(before, rank, floor=floor)
        if cell is None or era != self.era:
            return self._beaten(floor, before)
        self.cells[name], self.most_promised = cell, max(self.most_promised, rank.number)
        return replace(cell, era=self.era)

    def _beaten(self, floor: int, cell: Cell) -> Beaten:
        return Beaten(max(floor, cell.promised.number), self.era)

    def _accept(self, floor: int, name: str, rank: Rank, kept: Kept, not_after: float, *, now: float) -> Heeded:
        before = self.cells.get(name, EMPTY)
        cell = accepted(before, rank, kept, floor=floor)
        if cell is None:
            return self._beaten(floor, before)
        if now > not_after:
            return Absent.LATE
        self.cells[name] = cell
        return None

    def _learn(self, floor: int, name: str, rank: Rank, *, now: float) -> Heeded:
        cell = self.cells.get(name, EMPTY)
        if cell.rank != rank or cell.kept is None:
            return self._beaten(floor, cell)
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
        sheets = {name: (cell, inf) for name, cell in self.cells.items() if cell.kept is not None}
        return Copies(self.most_promised, sheets)

    def _adopted(self, token: str, floor: int, sheets: Sheets) -> Heeded:
        if self.floor is not None:
            return None
        if token != self.told_under:
            return Absent.BARE
        self.cells = {name: Cell(rank=cell.rank, kept=cell.kept) for name, (cell, _) in sheets.items()}
        self.floor, self.most_promised, self.told_under, self.life = floor, floor, "", token
        return None


class DirectCells(DirectLocks):
    """How such a server is asked."""

    def consult(self, name: str) -> Command[Cell | Absent]:
        return self._of("consult", name)

    def prepare(self, name: str, rank: Rank, until: float, era: str) -> Command[Cell | Beaten | Absent]:
        return self._of("prepare", name, rank, era)

    def accept(self, name: str, rank: Rank, kept: Kept, *, not_after: float, until: float) -> Command[Heeded]:
        return self._of("accept", name, rank, kept, not_after)

    def learn(self, name: str, rank: Rank, kept: Kept) -> Command[Heeded]:
        return self._of("learn", name, rank)

    def survey(self, token: str = "") -> Command[int | str]:
        return self._of("survey", token)

    def copy(self, floor: int) -> Command[Copies | Absent]:
        return self._of("copy", floor)

    def adopt(self, token: str, floor: int, sheets: Sheets) -> Command[object]:
        return self._of("adopt", token, floor, sheets)

    def _of(self, *words: Any) -> Command[Any]:
        return Command(words, _as_it_is, self._node)


def _as_it_is(reply: Any) -> Any:
    return reply
