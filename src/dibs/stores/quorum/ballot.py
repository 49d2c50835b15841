"""One question put to all servers, from the first ask until a majority has settled it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.quorum import Absent
from dibs.ports.store import Command, Reply
from dibs.stores.quorum.naming import Naming

if TYPE_CHECKING:
    from dibs.stores.quorum.council import Council, Node
    from dibs.stores.quorum.node import NodeStore

Heard = Callable[[Reply | StoreUnreachable], None]

LONGEST = 1.0
"""After so long nobody is waited for, however much there is to do."""
FEW = "too few of its servers answer"
UNTOLD = "too few of its servers know how work stands: some have forgotten it, and were not told by the others yet"
NEWCOMERS = "too few of its servers count: some have forgotten all, and are silent for the longest TTL"


class Motion(Protocol):
    """What is asked, and may be asked again: each time by another ballot."""

    def ballot(self, council: Council, heard: Heard) -> Ballot:
        """A new one."""
        ...


class Ballot(ABC):
    """What all ballots share: they are decided once, and `heard` is told."""

    is_urgent = True
    """Whether one silent server may not keep it open for long."""

    def __init__(self, council: Council, store: NodeStore, heard: Heard) -> None:
        self.council, self.store, self._heard = council, store, heard
        self.asked_at = council.now()
        self.is_decided = False
        self.answers: dict[int, Any] = {}
        self.voters: list[Node] = []
        self.concluded: Callable[[Ballot], object] | None = None

    @abstractmethod
    def begin(self) -> None:
        """Ask."""

    def hurry(self) -> None:
        """Wait no longer for those that are silent. Who answers others meanwhile is not silent, but has much to do."""
        if not self.is_decided:
            for node in self.voters:
                if node.number not in self.answers and self.is_silent(node):
                    self.answers[node.number] = Absent.SILENT
            self.look()

    def is_silent(self, node: Node) -> bool:
        """Whether it is not to be waited for any more."""
        now = self.council.now()
        return node.is_away(now) or now - self.asked_at >= LONGEST

    @abstractmethod
    def look(self) -> None:
        """See whether it is decided by now."""

    def put(self, question: Command[Any]) -> None:
        """Ask all who are there, if they are enough to decide anything."""
        self.voters = self.council.present()
        if len(self.voters) < self.council.need:
            self.fail()
            return
        for node in self.voters:
            self.council.ask(node, question, self.hear)

    def hear(self, number: int, answer: Any) -> None:
        """One has answered, or will not."""
        if number not in self.answers:
            self.answers[number] = answer
            if answer is Absent.NEW:
                Naming(self.council, self.store).begin(self.council.nodes[number])
            if not self.is_decided:
                self.look()

    @property
    def out(self) -> int:
        """How many of those that were asked have not answered."""
        return len(self.voters) - len(self.answers)

    def said(self) -> list[Any]:
        """What was answered, by those who count."""
        return [
            answer
            for answer in self.answers.values()
            if not isinstance(answer, StoreUnreachable) and not isinstance(answer, Absent)
        ]

    def decide(self, answer: Any) -> None:
        """It is so."""
        self._conclude(Reply(answer, self.asked_at + self.council.note_time()))

    def fail(self) -> None:
        """Nobody knows; or nobody was asked."""
        self._conclude(self._trouble())

    @property
    def is_surely_undone(self) -> bool:
        """Whether no server can have done, or can still do, what was asked."""
        return not self.voters

    def refusal(self, *, why: str, fix: str = "ask again") -> StoreUnreachable:
        """The servers are there, and cannot decide it."""
        kind = StoreRefused if self.is_surely_undone else StoreUnreachable
        after = self.council.now() - self.asked_at
        return kind(self.council.server, after=after, why=why, fix=fix, is_outage=False)

    def _trouble(self) -> StoreUnreachable:
        council, faults = self.council, list(self.answers.values())
        if Absent.NEW in faults:
            return self.refusal(why=NEWCOMERS, fix="wait; or see why they have forgotten, if nobody has emptied them")
        if Absent.BARE in faults:
            return self.refusal(why=UNTOLD)
        errors = [answer for answer in faults if isinstance(answer, StoreUnreachable)]
        if errors and not any(error.is_outage for error in errors):
            return self.refusal(why=errors[0].why, fix=errors[0].fix)
        if Absent.LATE in faults and not errors:
            return self.refusal(why=Absent.LATE.value)
        there = council.size - sum(node.is_away(council.now()) for node in council.nodes)
        kind = StoreRefused if self.is_surely_undone else StoreUnreachable
        why = f"{FEW}: {there} of {council.size}, where {council.need} decide"
        return kind(council.server, after=council.now() - self.asked_at, why=why)

    def _conclude(self, outcome: Reply | StoreUnreachable) -> None:
        if self.is_decided:
            return
        self.is_decided = True
        if self.concluded is not None:
            self.concluded(self)
        self.council.decided.append((self._heard, outcome))


class Poll(Ballot):
    """A question to which what all say is summed up: once a majority has answered, or all who are there have."""

    def __init__(
        self,
        council: Council,
        store: NodeStore,
        heard: Heard,
        question: Command[Any],
        sum_up: Callable[[Council, Sequence[Any]], Any],
        *,
        is_for_all: bool,
    ) -> None:
        super().__init__(council, store, heard)
        self._question, self._sum_up, self._is_for_all = question, sum_up, is_for_all

    @property
    def is_surely_undone(self) -> bool:
        return True  # or it does no harm to do it twice

    def begin(self) -> None:
        self.put(self._question)

    def look(self) -> None:
        said = self.said()
        if len(said) >= self.council.need and not (self._is_for_all and self.out):
            self.decide(self._sum_up(self.council, said))
        elif not self.out:
            self.fail()


class Errand(Ballot):
    """What any one of them may be told: the first who is there, and never a second."""

    def __init__(self, council: Council, store: NodeStore, heard: Heard, question: Command[Any]) -> None:
        super().__init__(council, store, heard)
        self._question = question

    def begin(self) -> None:
        here = self.council.present()
        if not here:
            self.fail()
            return
        self.voters = here[:1]
        self.council.ask(here[0], self._question, self.hear)

    def look(self) -> None:
        [answer] = self.answers.values()
        if isinstance(answer, StoreUnreachable):
            self._conclude(answer)
        elif answer is Absent.SILENT:
            self.fail()
        else:
            self.decide(answer)
