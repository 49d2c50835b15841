"""How a lock is asked for on all servers at once: a majority grants it, under a fence that a majority counts from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.asks import Acquire, Busy, Granted, Leave, Queued, Said
from dibs.model.quorum import (
    MOST_LEAPS,
    Absent,
    Standing,
    busy,
    is_settled,
    is_split,
    jitter,
    leapt,
    likeliest,
    needed,
    queued,
    standing,
)
from dibs.stores.quorum.ballot import Ballot, Heard
from dibs.stores.quorum.naming import Naming

if TYPE_CHECKING:
    from dibs.stores.quorum.council import Council
    from dibs.stores.quorum.node import NodeStore

NEW, SILENT = Absent.NEW, Absent.SILENT
NOTHING: Mapping[int, Any] = {}
NOBODY: frozenset[int] = frozenset()
UNSURE = 32
"""So many times longer waits who cannot know whether somebody has a majority: not all have answered."""
SPLIT = "others asked at the same time, and each got a part of it"


class Election(Ballot):
    """One ask for a lock. In the first phase a majority grants it; in the second one counts from the highest fence.

    All are asked to give the same fence. Where a majority does, which is the rule, the second phase is done already.
    """

    def __init__(self, council: Council, store: NodeStore, heard: Heard, wish: tuple[str, Acquire]) -> None:
        super().__init__(council, store, heard)
        self._name, self._ask = wish
        self._need = needed(council.size, self._ask.room)
        self.not_after: Mapping[int, float] = NOTHING
        """When each of their clocks bars what it has not answered."""
        self.inherited: Mapping[int, float | None] = NOTHING
        self._yes = self._no = self._leaps = 0
        self._fences: dict[int, int] = {}
        self._fence = self._proposed = 0
        self._raised: dict[int, int | None] = {}
        self._told: Mapping[int, Collection[int]] = NOTHING
        """Which other fences what each has granted may have by now."""
        self._is_lost = self._is_over = self._is_left = False
        self._closed: frozenset[int] = NOBODY

    def begin(self) -> None:
        council, ask = self.council, self._ask
        floor = council.floor(ask.seen)
        self._proposed = floor + 1
        if ask.queue:
            council.wakes[ask.owner] = NOBODY
        self.voters = [node for node in council.present() if node.ahead is not None]
        if len(self.voters) < self._need:
            self.fail()
            return
        self.not_after = council.at_each(self.voters, ask.not_after)
        council.know(ask.owner, self)
        worded, read = self.store.vote(self._name, ask, floor)
        for node in self.voters:
            council.post(node, worded(self.not_after[node.number]), read, self.hear)

    def unanswered_at(self, number: int) -> float | None:
        """Until when a vote that was asked for may still be given; `None` if none is out there."""
        answer = self.answers.get(number, SILENT)
        if isinstance(answer, Granted) and not self.inherited:  # as nearly always
            return None
        is_out = answer is SILENT or (isinstance(answer, StoreUnreachable) and not isinstance(answer, StoreRefused))
        bars = [self.inherited.get(number), self.not_after.get(number) if is_out else None]
        return max((bar for bar in bars if bar is not None), default=None)

    @property
    def is_surely_undone(self) -> bool:
        return not any(self.unanswered_at(number) for number in self.not_after.keys() | self.inherited.keys())

    @property
    def is_smooth(self) -> bool:
        """Whether all were asked, for the first time, and whoever has answered by now has granted it."""
        return not self.inherited and len(self.not_after) == self.council.size and len(self.answers) == self._yes

    def inherit(self, before: Election) -> None:
        """Who was asked in the election before may know our owner; and who did not answer may still do it."""
        known = before.not_after.keys() | before.inherited.keys()
        self.inherited = {number: before.unanswered_at(number) for number in known}

    def has_asked(self, number: int) -> bool:
        """Whether that server may know its owner."""
        return number in self.not_after or number in self.inherited

    def close(self, numbers: Iterable[int]) -> None:
        """Its owner asks these servers anew: what they still answer to this changes nothing."""
        self._closed = self._closed.union(numbers)

    def leave(self) -> Collection[int]:
        """The same with all of them, as its owner leaves.

        Gives those who were asked for their vote once, and may answer on the connection on which they were.
        """
        self._is_left = True
        if len(self.answers) == len(self.not_after):
            return ()
        out = [number for number in self.not_after if number not in self.answers]
        return [number for number in out if self.inherited.get(number) is None]

    def hear(self, number: int, answer: Any) -> None:
        if self.answers.get(number, SILENT) is not SILENT:
            return
        self.answers[number] = answer
        if isinstance(answer, Granted):
            self._yes += 1
            self._fences[number] = answer.fence
            if answer.fence != self._proposed:
                self.council.note_fence(answer.fence)
        elif isinstance(answer, Queued | Busy):
            self._no += 1
        elif answer is NEW:
            Naming(self.council, self.store).begin(self.council.nodes[number])
        if self._is_left or number in self._closed:
            return
        if self.is_decided:
            self._tidy_up(number, answer)
        elif self._fence:
            self._confirm_late(number)
        else:
            self.look()

    def look(self) -> None:
        if self._yes == len(self.answers) < self._need:  # what comes next decides, and not this
            return
        match standing(self._need, yes=self._yes, no=self._no, out=self.out):
            case Standing.ELECTED:
                self._settle()
            case Standing.BEATEN:
                self._yield()
            case Standing.UNKNOWN:
                self._is_lost = True
                if self._is_late():
                    self.decide(Said.REFUSED)  # an answer, which tells the asker the time: it will ask by that
                else:
                    self.fail()
                self._take_back()
            case None:
                pass

    def _is_late(self) -> bool:
        """Whether enough are there, and some say that the ask came too late: its asker had their time wrong."""
        there = [answer for answer in self.answers.values() if not isinstance(answer, StoreUnreachable)]
        return Absent.LATE in there and len(there) >= self._need

    def hurry(self) -> None:
        if self._fence and not self.is_decided:  # the second phase: who has not confirmed it does not
            for number in self._fences:
                if number not in self._raised and self.is_silent(self.council.nodes[number]):
                    self._raised[number] = None
            self._count_raised()
        else:
            super().hurry()

    # The second phase.

    def _settle(self) -> None:
        council, fences = self.council, self._fences
        self._fence = fence = max(fences.values())
        council.note_agreed(self._proposed - 1, fence)
        if is_settled(fences.values(), fence, council.need):
            self._win()
            return
        self._raised = {number: 0 for number, each in fences.items() if each == fence}
        for number in fences.keys() - self._raised.keys():
            self._raise(number)

    def _raise(self, number: int) -> None:
        node, fence = self.council.nodes[number], self._fence
        self._told = {**self._told, number: {*self._told.get(number, ()), fence}}

        def told(_number: int, answer: Any) -> None:
            if fence == self._fence and not self.is_decided and not (self._is_left or number in self._closed):
                self._raised[number] = None if isinstance(answer, StoreUnreachable) else answer
                self._count_raised()

        self.council.ask(node, self.store.raise_(self._name, self._ask.owner, fence), told)

    def _count_raised(self) -> None:
        confirmed = sum(answer == 0 for answer in self._raised.values())
        still_out = len(self._fences) - len(self._raised)
        if confirmed >= self.council.need:
            self._win()
        elif confirmed + still_out < self.council.need:
            counters = [answer for answer in self._raised.values() if answer]
            if counters and self._leaps < MOST_LEAPS:
                self._leap([*counters, self._fence])
            else:
                self._yield()

    def _confirm_late(self, number: int) -> None:
        """One more has granted it while the others are told the fence."""
        if self._fences.get(number) == self._fence:
            self._raised[number] = 0
            self._count_raised()
        else:
            self._join_late(number)

    def _leap(self, counters: list[int]) -> None:
        """Others have counted further meanwhile: agree on a fence above all of theirs."""
        self._leaps += 1
        self._fence, self._raised = leapt(counters), {}
        for number in list(self._fences):
            self._raise(number)

    def _win(self) -> None:
        self.council.splits.pop(self._ask.owner, None)
        self.council.wakes.pop(self._ask.owner, None)
        self.decide(Granted(self._fence))
        for number, fence in self._fences.items():
            if fence != self._fence and number not in self._raised:
                self._join_late(number)

    def _join_late(self, number: int) -> None:
        """One more has granted it: it is to know the fence as well, lest it should not know the lease by it."""
        if self._fences.get(number, self._fence) != self._fence:
            self._raise(number)

    # Without a majority.

    def _yield(self) -> None:
        """Give back what we have got, so that somebody can have a majority; those who refused keep our ticket."""
        council, ask, size = self.council, self._ask, self.council.size
        refusals = [answer for answer in self.answers.values() if isinstance(answer, Queued | Busy)]
        self._is_lost = True
        split = not refusals or is_split(refusals, size=size, yes=self._yes)
        is_unsure = bool(refusals) and likeliest(refusals)[1] < council.need
        self._take_back()
        if split and not (ask.queue and refusals):
            self._conclude(self.refusal(why=SPLIT, fix="ask again"))
        elif not ask.queue:
            self._is_over = True
            council.forget(ask.owner)
            self.decide(busy(refusals))
        else:
            again_in = self._pause() if split else UNSURE * jitter(0, ask.owner) if is_unsure else None
            self.decide(queued(refusals, need=self._need, yes=self._yes, again_in=again_in))

    def _pause(self) -> float:
        council, owner = self.council, self._ask.owner
        tries = council.splits.get(owner, 0)
        if council.asked.get(owner) is self:  # else it has left, and nobody would take this back
            council.splits[owner] = tries + 1
        return jitter(tries, owner)

    def _take_back(self) -> None:
        for number in self.answers:
            self._withdraw(number)

    def _tidy_up(self, number: int, answer: Any) -> None:
        """An answer comes when all is decided."""
        council = self.council
        if not self._is_lost:
            self._join_late(number)
        elif isinstance(answer, StoreUnreachable) and not isinstance(answer, StoreRefused) and self._is_over:
            leave = Leave(self._ask.owner, self.not_after[number])  # nobody asks or leaves under that name any more
            council.owe(council.nodes[number], self.store, self._name, leave)
        else:
            self._withdraw(number)

    def _withdraw(self, number: int) -> None:
        """Give back what one has granted in this election, and nothing else of its owner's."""
        if number not in self._fences:
            return
        for fence in {self._fences[number], *self._told.get(number, ())}:
            leave = Leave(self._ask.owner, fence=fence)
            self.council.leave(self.council.nodes[number], self.store, self._name, leave)
