"""How a sheet is read and set by a majority: each reading and each change is settled before the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from dibs.model.quorum import Absent
from dibs.model.register import NOBODY, Cell, Fate, Kept, Rank, changed, fate, highest, line_of, settled, standing
from dibs.model.sheet import Look, Sheet
from dibs.ports.store import Command
from dibs.stores.quorum.ballot import LONGEST, Ballot, Heard
from dibs.stores.quorum.cells import Beaten, lasts_until
from dibs.stores.quorum.restoring import Restoring

if TYPE_CHECKING:
    from dibs.model.sheet import Change
    from dibs.stores.quorum.council import Council, Node
    from dibs.stores.quorum.node import NodeStore

MOST_TRIES = 12
AT_ONCE = 3
"""Who was beaten tries again at once; each so many times it waits until it is hurried, as each is at its own time."""
CROWDED = "others change it at the same time"


@dataclass(frozen=True, slots=True)
class _Told:
    """What those who promised are told to accept."""

    preparing: int
    """The question that they promised it to."""
    name: str
    rank: Rank
    kept: Kept
    found: Rank
    """The rank of what it was made from, or found."""
    not_after: float


class Setting(Ballot):
    """Sheets, one after the other: each is looked at, or changed if it still is what the change was made from.

    Where a majority has accepted the same, and noted what came with it, a look is one question. Else, and for a change:
    have a majority *promise* to heed nobody below us; have it *accept* what we found, or make of it; and once it has,
    that is settled: have it *learn* so, and note what came with it. Whoever is beaten on the way begins again.
    """

    def __init__(
        self, council: Council, store: NodeStore, heard: Heard, wishes: Sequence[str] | Sequence[Change]
    ) -> None:
        super().__init__(council, store, heard)
        self._left: list[str | Change] = list(reversed(wishes))
        self._wish: str | Change = ""
        self._done: list[Sheet | int | None] = []
        self._weigh: Callable[[], None] = self._weigh_looks
        self._posed, self._posed_at = 0, 0.0
        self._told: _Told | None = None
        self._settled: _Told | None = None
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._tries = self._beaten_by = 0
        self._rank, self._found_rank, self._preparing = NOBODY, NOBODY, 0
        self._mine: Kept | None = None
        """What we want, once it was put to them."""
        self._is_resting = False

    @property
    def is_surely_undone(self) -> bool:
        return self._mine is None and not any(isinstance(done, int) and done for done in self._done)

    @property
    def _name(self) -> str:
        return self._wish if isinstance(self._wish, str) else self._wish.name

    def _time(self) -> float:
        return self.council.now() + self.council.note_time()

    def begin(self) -> None:
        self._next()

    def _next(self) -> None:
        if not self._left:
            self.decide(self._summed_up())
            return
        self._wish = self._left.pop()
        self._start_afresh()
        if isinstance(self._wish, str):
            self._pose(self.council.present(), lambda _: self.store.consult(self._name), self._weigh_looks)
        else:
            self._prepare()

    def _summed_up(self) -> Look | Sequence[int]:
        if not isinstance(self._wish, str):
            return [done for done in self._done if isinstance(done, int)]
        now = self.asked_at + self.council.note_time()
        return Look(now, "", [done for done in self._done if isinstance(done, Sheet)])

    # One question after the other, of which each is decided by a majority.

    def _pose(self, nodes: Iterable[Node], question: Callable[[Node], Command[Any]], weigh: Callable[[], None]) -> None:
        self.voters, self.answers = list(nodes), {}
        self._weigh, self._posed, self._posed_at = weigh, self._posed + 1, self.council.now()
        if len(self.voters) < self.council.need:
            self.fail()
            return
        for node in self.voters:
            self._put_to(node, question(node))

    def _put_to(self, node: Node, question: Command[Any]) -> None:
        posed = self._posed

        def told(number: int, answer: Any) -> None:
            if isinstance(answer, Cell | Beaten):
                node.era = answer.era
            if posed == self._posed:
                self.hear(number, answer)
            elif isinstance(answer, Cell):
                self._join_late(posed, node, answer)

        self.council.ask(node, question, told)

    def hear(self, number: int, answer: Any) -> None:
        if answer is Absent.BARE:
            Restoring(self.council, self.store).begin(self.council.nodes[number])
        super().hear(number, answer)

    def is_silent(self, node: Node) -> bool:
        now = self.council.now()
        return node.is_away(now) or now - self._posed_at >= LONGEST

    def look(self) -> None:
        self._weigh()

    def hurry(self) -> None:
        if self._is_resting and not self.is_decided:
            self._is_resting = False
            self._prepare()
        else:
            super().hurry()

    def _cells(self) -> list[Cell]:
        return [answer for answer in self.answers.values() if isinstance(answer, Cell)]

    def _heeded(self) -> list[int]:
        return [number for number, answer in self.answers.items() if answer is None]

    # A look.

    def _weigh_looks(self) -> None:
        cells = self._cells()
        if (found := settled(cells, self.council.need)) is not None:
            self._end(standing(self._name, found.kept, self._time()))
        elif not self.out:
            if len(cells) >= self.council.need:
                self._prepare()
            else:
                self.fail()

    # The promise.

    def _prepare(self) -> None:
        rank = self._rank = self.council.rank(self._beaten_by)
        until = lasts_until(None, self._time())
        eras = [node.era for node in self.council.nodes]  # of one moment, before any of them promises
        self._preparing = self._posed + 1

        def question(node: Node) -> Command[Any]:
            return self.store.prepare(self._name, rank, until, eras[node.number])

        self._pose(self.council.present(), question, self._weigh_promises)

    def _weigh_promises(self) -> None:
        cells = self._cells()
        if len(cells) >= self.council.need:
            self._propose(cells)
        elif len(cells) + self.out < self.council.need:
            self._try_again()

    def _propose(self, cells: Sequence[Cell]) -> None:
        found, wish = highest(cells), self._wish
        self._found_rank, kept = found.rank, found.kept
        if not isinstance(wish, str):
            if self._mine is None:
                kept = self._mine = changed(cells, wish, need=self.council.need, rank=self._rank, now=self._time())
            elif self._mine.after[:1] == line_of(found.kept)[:1]:  # nothing has come of it yet
                kept = self._mine
        if kept is None:
            self._end(None if isinstance(wish, str) else 0)
        else:
            self._accept(kept)

    def _join_late(self, preparing: int, node: Node, cell: Cell) -> None:
        """One more has promised: it is told, too, unless it knows of something that we did not hear of in time."""
        told = self._told
        if told is None or told.preparing != preparing or cell.rank > told.found:
            return
        if self._weigh == self._weigh_accepts and not self.is_decided:
            self.voters.append(node)
            self._put_to(node, self._acceptance(node, told))
        elif told is self._settled:  # nobody waits for this one
            self.council.ask(node, self._acceptance(node, told), _ignored)
            self.council.ask(node, self.store.learn(told.name, told.rank, told.kept), _ignored)

    # What is set.

    def _accept(self, kept: Kept) -> None:
        nodes = [self.council.nodes[number] for number, answer in self.answers.items() if isinstance(answer, Cell)]
        is_ours = kept is self._mine and not isinstance(self._wish, str)
        not_after = self._wish.not_after if is_ours and not isinstance(self._wish, str) else inf
        told = self._told = _Told(self._preparing, self._name, self._rank, kept, self._found_rank, not_after)
        self._pose(nodes, lambda node: self._acceptance(node, told), self._weigh_accepts)

    def _acceptance(self, node: Node, told: _Told) -> Command[Any]:
        at = self.council.at
        until = at(node, lasts_until(told.kept, self._time()))
        return self.store.accept(told.name, told.rank, told.kept, not_after=at(node, told.not_after), until=until)

    def _weigh_accepts(self) -> None:
        heeded = len(self._heeded())
        if heeded >= self.council.need and self._told is not None:
            self._learn(self._told)
        elif heeded + self.out < self.council.need:
            self._try_again()

    def _learn(self, told: _Told) -> None:
        """Also those whose answer is still out: they have heard of it by the time that they hear this."""
        self._settled = told
        self._pose(self.voters, lambda _: self.store.learn(told.name, told.rank, told.kept), self._weigh_learnt)

    def _weigh_learnt(self) -> None:
        """It is settled, however many have noted what came with it: who looks at it next sees to the others."""
        if self._told is not None and (len(self._heeded()) >= self.council.need or not self.out):
            self._conclude_settled(self._told.kept)

    def _conclude_settled(self, kept: Kept) -> None:
        if isinstance(self._wish, str):
            self._end(standing(self._name, kept, self._time()))
            return
        mine = self._mine
        match None if mine is None else fate(mine, kept):
            case Fate.MADE if mine is not None:
                self._end(mine.revision)
            case Fate.UNMADE:
                self._end(0)
            case _:
                self._conclude(self.refusal(why=CROWDED))

    # What comes of it.

    def _try_again(self) -> None:
        beaten_by = [answer.by for answer in self.answers.values() if isinstance(answer, Beaten)]
        if not beaten_by:
            self.fail()
            return
        self._tries, self._beaten_by = self._tries + 1, max(self._beaten_by, *beaten_by)
        if self._tries > MOST_TRIES:
            self._conclude(self.refusal(why=CROWDED))
        elif self._tries % AT_ONCE:
            self._prepare()
        else:
            self._is_resting = True

    def _end(self, done: Sheet | int | None) -> None:
        self._done.append(done)
        self._next()


def _ignored(_number: int, _answer: object) -> None:
    """Nobody waits for it."""
