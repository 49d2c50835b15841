"""Watches a world of several servers. What a majority promises is judged by what the processes do with it.

I1 accepted writes at a separate resource carry rising fences · I2 fences are unique and rise in real time · I5 nothing
is left behind · I6 everybody comes to an end once all is well · I7 no two believe in a lock at once, unless a
clock was set · I8 unknown is reported as unknown · I9 nobody else's lock is released, on
any server.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dibs.flows.hold import Hold
from dibs.model.asks import Evict, Leave
from dibs.model.quorum import majority
from dibs.testing.simulation.minutes import Minutes

if TYPE_CHECKING:
    from dibs.errors import StoreUnreachable
    from dibs.model.asks import Answer, Ask, Memo
    from dibs.model.lock import LockState
    from dibs.testing.simulation.agenda import Agenda
    from dibs.testing.simulation.process import Process
    from dibs.testing.simulation.quorum.node import NodeServer


class QuorumReferee(Minutes):
    """Sees every vote of every server, and every outcome of a client."""

    def __init__(self, agenda: Agenda, servers: list[NodeServer], trace: list[str] | None) -> None:
        super().__init__(agenda, trace)
        self._servers = servers
        self.healed_at: float | None = None
        self.is_exclusive = True
        """Whether no clock is set: where one is, somebody may be let in while another believes."""
        self.newest = 0
        self._fences: dict[int, str] = {}
        self._inside: dict[str, tuple[Process, Hold]] = {}
        self._written: dict[str, tuple[int, str]] = {}
        for number, server in enumerate(servers):
            server.witness = _Eye(self, f"node{number}")

    # What each server does.

    def saw(self, node: str, name: str, change: tuple[LockState, LockState], ask: Ask, answer: Answer) -> None:
        """I9: who holds a part keeps it, unless it leaves, or is evicted."""
        before, after = change
        if self._trace is not None:
            self.note(node, f"{name}: {ask} -> {answer}")
        for was in before.holders:
            is_its_own = isinstance(ask, Leave) and ask.owner == was.owner
            is_evicted = isinstance(ask, Evict) and ask.fence == was.fence
            if after.held_by(was.owner) is None and not (is_its_own or is_evicted):
                self.fault("I9", f"{ask} took {name} from {was.owner}")
        if len(after.holders) > 1 and len(after.holders) > min(holder.room for holder in after.holders):
            self.fault("I3", f"{len(after.holders)} hold {name} on one server")

    # What clients believe, and do.

    def entered(self, process: Process, hold: Hold, *, asked_after: int) -> None:
        """I2, I7: a client begins to work; when it asked, `asked_after` was the highest fence anybody had."""
        self.counts["entered"] += 1
        self.note(process.name, f"entered as {hold.owner} with {hold.fence}")
        if hold.fence <= asked_after:
            self.fault("I2", f"{hold.owner} got {hold.fence}, though {asked_after} was there before it asked")
        if self._fences.setdefault(hold.fence, hold.owner) != hold.owner:
            self.fault("I2", f"{hold.owner} and {self._fences[hold.fence]} both got {hold.fence}")
        self.newest = max(self.newest, hold.fence)
        if self.is_exclusive:
            self._judge_room(hold)
        self._inside[hold.owner] = process, hold

    def _judge_room(self, hold: Hold) -> None:
        others = [
            other
            for process, other in self._inside.values()
            if other.name == hold.name and not process.is_dead and _believes(process, other)
        ]
        if others and len(others) >= min(hold.request.room, *(other.request.room for other in others)):
            self.fault("I7", f"{hold.owner} is in while {[other.owner for other in others]} believe, too")

    def released(self, process: Process, hold: Hold, *, cleanly: bool) -> None:
        """A client has left."""
        self.counts["released" if cleanly else "lost"] += 1
        self._inside.pop(hold.owner, None)

    def write(self, process: Process, hold: Hold) -> None:
        """I1: a write reaches the resource, which refuses those below the newest fence it has seen."""
        fence, writer = self._written.get(hold.name, (0, ""))
        if hold.fence < fence:
            self.counts["stale writes refused"] += 1
            return
        if hold.fence == fence and writer != hold.owner:
            self.fault("I1", f"{process.name} and {writer} both wrote with fence {fence}")
        self.counts["writes"] += 1
        self._written[hold.name] = (hold.fence, hold.owner)

    # The end.

    def unreachable(self, process: Process, error: StoreUnreachable) -> None:
        """A client says that nobody knows. After healing it has no reason to."""
        self.counts["unreachable"] += 1
        ttl = process.weather.ttl
        if self.healed_at is not None and self._agenda.now > self.healed_at + 4 * ttl + 40:
            self.fault("I8", f"{process.name} cannot reach servers that are well: {error}")

    def failed(self, process: Process, error: BaseException) -> None:
        """A task ended by an error that nothing explains."""
        self.fault("I8", f"a task of {process.name} ended by {error!r}")

    def still_busy(self, process: Process) -> None:
        """A client did not come to an end in the time that healing and all TTLs take."""
        self.fault("I6", f"{process.name} still waits at the end")

    def judge_remains(self, alive: set[str], longest: float) -> None:
        """I5: a majority has forgotten those who left, and all have once TTLs are over.

        One server that refuses each time to hear of it, with nobody asking anything any more, is left to the TTL.
        """
        known: Counter[str] = Counter()
        for server in self._servers:
            for name, lock in server.locks.items():
                now = lock.at(server.clock())
                known.update(ticket.owner for ticket in now.queue if ticket.owner.rpartition(".")[0] in alive)
                known.update(holder.owner for holder in now.holders if holder.owner.rpartition(".")[0] in alive)
                if not lock.at(server.clock() + longest).is_blank:
                    self.fault("I5", f"{name} will never be forgotten: {lock}")
        for owner, times in known.items():
            self.counts["left to the TTL by one server"] += 1
            if times >= majority(len(self._servers)) and self.is_exclusive:
                self.fault("I5", f"{times} servers still know {owner}, who has left")


class _Eye:
    """The referee's eye on one server."""

    def __init__(self, referee: QuorumReferee, node: str) -> None:
        self._referee, self._node = referee, node

    def saw(self, name: str, before: LockState, after: LockState, ask: Ask, answer: Answer) -> None:
        self._referee.saw(self._node, name, (before, after), ask, answer)

    def saw_done(self, name: str, before: Memo | None) -> None:
        """What is remembered is judged elsewhere."""

    def saw_none(self, name: str, before: LockState, after: LockState, *, told_held: str | None) -> None:
        """Several locks are not taken here."""


def _believes(process: Process, hold: Hold) -> bool:
    return hold.lost_because is None and not hold.is_over and process.clock() < hold.tenure.trusted_until
