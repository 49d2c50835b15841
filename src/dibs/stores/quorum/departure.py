"""How an owner leaves all servers, whatever they have of it, and whatever of its asks may still come to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreUnreachable
from dibs.model.asks import RELEASED, Leave, Memo
from dibs.model.quorum import left
from dibs.model.request import PATIENCE
from dibs.stores.quorum.ballot import Ballot, Heard

if TYPE_CHECKING:
    from dibs.ports.store import Command
    from dibs.stores.quorum.council import Council, Debt, Node
    from dibs.stores.quorum.election import Election
    from dibs.stores.quorum.node import NodeStore


class Departure(Ballot):
    """One who leaves all servers: behind what it has asked there, and barring what they have not answered.

    What is still under way on a connection is heard before the farewell that follows on the same one, and need not be
    barred: only if that is not answered, and has to be said again on another, may what was asked come after it.
    """

    is_urgent = False

    def __init__(self, council: Council, store: NodeStore, heard: Heard, farewell: tuple[str, Leave]) -> None:
        super().__init__(council, store, heard)
        self._name, self._leave = farewell
        self._election: Election | None = None
        self._behind: Collection[int] = ()
        """Those on whose connections it follows what they have not answered yet."""
        self._released = 0

    def begin(self) -> None:
        council, leave, here = self.council, self._leave, self.council.present()
        self._election = election = council.forget(leave.owner)
        usual = self.store.leave(self._name, leave)
        if election is not None:
            self._behind = election.leave()
            is_plain = leave.bar_until is None and leave.memo is None
            if is_plain and election.is_smooth and len(here) == council.size:  # as nearly always
                self.voters = here
                for node in here:
                    council.post(node, usual.words, usual.read, self.hear)
                return
        self._begin_carefully(here, usual)

    def _begin_carefully(self, here: Sequence[Node], usual: Command[Any]) -> None:
        """Each in its own words: some are away, or have not answered what they were asked before."""
        council, election = self.council, self._election
        for node in council.nodes:
            is_known = election is None or election.has_asked(node.number)
            if node in here or (is_known and not node.is_down):
                self.voters.append(node)
                said = self._for(node, is_behind=node.number in self._behind)
                command = usual if said is self._leave else self.store.leave(self._name, said)
                council.ask(node, command, self.hear)
            elif is_known:
                council.owe(node, *self._owed(node))
        if len(self.voters) < council.need:
            self.fail()

    def hear(self, number: int, answer: Any) -> None:
        if isinstance(answer, StoreUnreachable):
            node = self.council.nodes[number]
            self.council.owe(node, *self._owed(node))
        elif number in self._behind:
            self._see_behind(self.council.nodes[number])
        if answer is RELEASED:
            self._released += 1
        self.answers[number] = answer
        if not self.is_decided:
            self.look()

    def _see_behind(self, node: Node) -> None:
        """One who has answered the farewell and not what was asked before it was told them on two connections."""
        if self._out_until(node) is not None:
            self.council.leave(node, *self._owed(node))

    def _owed(self, node: Node) -> Debt:
        """What it is to be told if it does not answer: then what was asked before may come after."""
        return self.store, self._name, self._for(node, is_behind=False)

    def _for(self, node: Node, *, is_behind: bool) -> Leave:
        leave, at = self._leave, self.council.at
        out_until = None if is_behind else self._out_until(node)
        if out_until is None and leave.bar_until is None and leave.memo is None:  # as nearly always
            return leave
        bars = [] if leave.bar_until is None else [at(node, leave.bar_until)]
        bars += [] if out_until is None else [out_until]
        memo = leave.memo and Memo(leave.memo.text, at(node, leave.memo.until))
        return Leave(leave.owner, max(bars, default=None), memo)

    def _out_until(self, node: Node) -> float | None:
        """Until when what was asked before may still land, by its own clock; if it was on another line, as it may."""
        if self._election is not None:
            return self._election.unanswered_at(node.number)
        council = self.council
        return None if self._leave.bar_until else council.at(node, council.now() + council.note_time() + PATIENCE)

    def look(self) -> None:
        if self._released == len(self.answers) < self.council.need:  # what comes next decides, and not this
            return
        answer = left(self.said(), size=self.council.size, out=self.out)
        if answer is not None:
            self.decide(answer)
        elif not self.out:
            self.fail()
