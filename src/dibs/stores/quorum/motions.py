"""What can be put to all servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dibs.model.asks import Acquire, KeepAlive, Leave, Renew, Said
from dibs.model.quorum import Register, kept, needed
from dibs.model.value import value
from dibs.ports.store import Command
from dibs.stores.quorum.ballot import Ballot, Errand, Heard, Poll
from dibs.stores.quorum.departure import Departure
from dibs.stores.quorum.election import Election
from dibs.stores.quorum.naming import Naming
from dibs.stores.quorum.setting import Setting

if TYPE_CHECKING:
    from dibs.model.sheet import Change
    from dibs.stores.quorum.council import Council
    from dibs.stores.quorum.node import NodeStore


@value
class ToElect:
    """Give me this lock."""

    store: NodeStore
    name: str
    ask: Acquire

    def ballot(self, council: Council, heard: Heard) -> Ballot:
        return Election(council, self.store, heard, (self.name, self.ask))


@value
class ToKeep:
    """Keep these leases and tickets."""

    store: NodeStore
    asks: Sequence[tuple[str, KeepAlive | Renew]]

    def ballot(self, council: Council, heard: Heard) -> Ballot:
        return Renewal(council, self.store, heard, self.asks)


@value
class ToLeave:
    """Remove every trace of me."""

    store: NodeStore
    name: str
    leave: Leave

    def ballot(self, council: Council, heard: Heard) -> Ballot:
        return Departure(council, self.store, heard, (self.name, self.leave))


@value
class ToKnow:
    """Tell me, all of you or any majority."""

    store: NodeStore
    question: Command[Any]
    sum_up: Callable[[Council, Sequence[Any]], Any]
    is_for_all: bool = True

    def ballot(self, council: Council, heard: Heard) -> Ballot:
        return Poll(council, self.store, heard, self.question, self.sum_up, is_for_all=self.is_for_all)


@value
class ToNote:
    """Note this, any one of you."""

    store: NodeStore
    question: Command[Any]

    def ballot(self, council: Council, heard: Heard) -> Ballot:
        return Errand(council, self.store, heard, self.question)


@value
class ToSet:
    """Tell me these sheets; or make these changes, each for itself."""

    store: NodeStore
    wishes: Sequence[str] | Sequence[Change]

    def ballot(self, council: Council, heard: Heard) -> Ballot:
        return Setting(council, self.store, heard, self.wishes)


@value
class ToCheck:
    """How are you set up?"""

    store: NodeStore

    def ballot(self, council: Council, heard: Heard) -> Ballot:
        return Checkup(council, self.store, heard)


@value
class ToMeet:
    """What time is it? The first question to all of them, by which we learn who is there, and who is new."""

    store: NodeStore

    def ballot(self, council: Council, heard: Heard) -> Ballot:
        return Meeting(council, self.store, heard)


class Renewal(Ballot):
    """Leases and tickets, each of which is kept if a majority keeps it. It waits for those that are slow."""

    is_urgent = False

    def __init__(
        self, council: Council, store: NodeStore, heard: Heard, asks: Sequence[tuple[str, KeepAlive | Renew]]
    ) -> None:
        super().__init__(council, store, heard)
        self._asks = asks

    def begin(self) -> None:
        self.put(self.store.keep(self._asks))

    def look(self) -> None:
        council, said = self.council, self.said()
        if len(said) < council.need:
            if not self.out:
                self.fail()
            return
        size = council.size
        needs = [needed(size, ask.room if isinstance(ask, Renew) else 1) for _, ask in self._asks]
        verdicts = [
            kept([answers[place] for answers in said], size=size, need=need) for place, need in enumerate(needs)
        ]
        if not self.out:  # whoever else could say that it is kept does not
            verdicts = [verdict or Said.GONE for verdict in verdicts]
        if None not in verdicts:
            self.decide(verdicts)


class Checkup(Ballot):
    """How each of them is set up, as it says itself, and whether it may forget what it has answered."""

    def begin(self) -> None:
        self.voters = self.council.present()
        if not self.voters:
            self.fail()
        for node in self.voters:
            self.council.ask(node, self.store.checkup(), self.hear)
            self.council.ask(node, self.store.fsync(), self._hear_more)

    def _hear_more(self, number: int, answer: Any) -> None:
        self.hear(number + self.council.size, answer)

    def look(self) -> None:
        if len(self.answers) >= 2 * len(self.voters):
            self._tell()

    def hurry(self) -> None:
        if not self.is_decided:
            self._tell()

    def _tell(self) -> None:
        self.decide(sorted({finding for findings in self.said() for finding in findings}))


class Meeting(Ballot):
    """All are asked what they are; those who are new are told what to do, before anybody asks for a lock."""

    _unnamed = 0
    """How many of those that are new have not been told yet."""

    def begin(self) -> None:
        now = self.council.now()
        self.voters = [node for node in self.council.nodes if not node.is_away(now)]
        self.council.present()
        if len(self.voters) < self.council.need:
            self.fail()
        for node in self.voters:
            self.council.ask(node, self.store.census(), self.hear)

    def look(self) -> None:
        registers = self.said()
        if len(registers) < self.council.need:
            if not self.out:
                self.fail()
            return
        if all(register.is_born for register in registers):
            self._meet()
        elif not self.out and not self._unnamed:
            self._name_all()

    def _name_all(self) -> None:
        known = [self.answers.get(node.number) for node in self.council.nodes]
        registers = [answer if isinstance(answer, Register) else None for answer in known]
        new = [node for node in self.council.nodes if (own := registers[node.number]) is not None and not own.is_born]
        self._unnamed = len(new)
        for node in new:
            Naming(self.council, self.store, self._named).tell(node, registers)

    def _named(self) -> None:
        self._unnamed -= 1
        if not self._unnamed and not self.is_decided:
            self._meet()

    def _meet(self) -> None:
        self.decide(self.asked_at + self.council.note_time())
