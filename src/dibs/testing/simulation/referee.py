"""Watches one world and says which promise was broken. Knows the truth that no client can see.

I1 accepted writes at a separate resource carry rising fences · I2 fences are unique and rise · I3 no more are in
than all who are in allow, and several locks are taken together or not at all · I4 once a window is once · I5 nothing
is left behind · I6 a free lock does not stay unused, and nobody barges · I7 whoever believes it holds, holds, and is
told in time when it does not · I8 unknown is reported as unknown · I9 nobody else's lock is released
(I11, of those who lead, is the succession's).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from dibs.errors import StoreUnreachable
from dibs.flows.hold import RAN_OUT, REACHED_MAX_HOLD, Hold
from dibs.model.asks import Busy, Evict, Leave, Queued, Renew
from dibs.model.tenure import NOT_RENEWED
from dibs.stores.memory.server import BLANK
from dibs.testing.simulation.minutes import Minutes

if TYPE_CHECKING:
    from dibs.errors import LeaseLost
    from dibs.events import Event
    from dibs.model.asks import Answer, Ask, Memo
    from dibs.model.lock import Holder, LockState
    from dibs.testing.simulation.network import Server
    from dibs.testing.simulation.process import Process

OVER_BY_CLOCK = {RAN_OUT, NOT_RENEWED, REACHED_MAX_HOLD}


class Referee(Minutes):
    """Sees every turn of the store and every outcome of a client."""

    def __init__(self, server: Server, processes: list[Process], trace: list[str] | None = None) -> None:
        super().__init__(server.agenda, trace)
        self._server, self._processes = server, processes
        self.healed_at: float | None = None
        self._highest_fence = 0
        self._excused: dict[str, float] = {}
        self._granted: dict[str, int] = {}
        self._entered: dict[int, Hold] = {}
        self._told_held: set[str] = set()
        self._queued_at: dict[str, float] = {}
        self._released: set[str] = set()
        self._staying: set[str] = set()
        self._shortened: set[str] = set()
        self._written: dict[str, tuple[int, str]] = {}
        self._has_jumped_back = self.fences_may_repeat = False
        self._free_since: dict[str, float] = {}
        server.witness = self

    # What the store does.

    def saw(self, name: str, before: LockState, after: LockState, ask: Ask, answer: Answer) -> None:
        """Hold what one ask did against the law."""
        if self._trace is not None:
            self.note("store", f"{name}: {ask} -> {answer}")
        owner = getattr(ask, "owner", "")
        for was in before.holders:
            if after.held_by(was.owner) is None:
                self._judge_removal(name, was.owner, was.fence, ask)
        if len(after.queue) < len(before.queue):
            gone = {ticket.owner for ticket in before.queue} - {ticket.owner for ticket in after.queue}
            if gone := gone - {owner, *(holder.owner for holder in after.holders)}:
                self.fault("I9", f"{ask} on {name} removed the tickets of {sorted(gone)}")
        self._note_shortened(name, before, ask)
        known = {was.fence for was in before.holders}
        for now in after.holders:
            if now.fence not in known:
                self._judge_grant(name, before, after, now, ask)
        self._judge_room(name, after)
        self._note_free(name, after)
        if isinstance(answer, Queued | Busy):
            self._told_held.add(owner)
            if isinstance(answer, Queued):
                self._queued_at.setdefault(owner, self._server.agenda.now)
        self._judge_beliefs()

    def _note_shortened(self, name: str, before: LockState, ask: Ask) -> None:
        """Those who wait know of a later end, and hear of this one when their tickets are kept."""
        held = before.held_by(ask.owner) if isinstance(ask, Renew) else None
        if held is not None and isinstance(ask, Renew) and ask.ttl < held.expires_at - self._server.clock():
            self._shortened.add(name)

    def saw_done(self, name: str, before: Memo | None) -> None:
        """I4: what is to be done once a window is done once; the window may end early if the clock was set back."""
        self.counts["done"] += 1
        if before is not None and before.until > self._server.clock() and not self._has_jumped_back:
            self.fault("I4", f"the work of {name} was done again in its window, which lasts until {before.until}")

    def saw_none(self, name: str, before: LockState, after: LockState, *, told_held: str | None) -> None:
        """Where one of several locks was not free, none may have changed."""
        self.counts["not all at once"] += 1
        if told_held is not None:
            self._told_held.add(told_held)
        if before != after.at(self._server.clock()):
            self.fault("I3", f"{name} was changed, though the others were not to be had: {before} -> {after}")

    def _judge_room(self, name: str, lock: LockState) -> None:
        """Readers with readers, permits up to their number, everybody else alone."""
        rooms = [holder.room for holder in lock.holders]
        if rooms and len(rooms) > min(rooms):
            self.fault("I3", f"{len(rooms)} hold {name}, where one of them allows {min(rooms)}")
        self.counts["together"] += len(rooms) > 1

    def _judge_removal(self, name: str, owner: str, fence: int, ask: object) -> None:
        match ask:
            case Leave(leaver) if leaver == owner:
                self._released.add(owner)
            case Evict(seen) if seen == fence:
                self._excused[owner] = self._server.agenda.now
                self.counts["evictions"] += 1
            case _:
                self.fault("I9", f"{ask} took {name} from {owner}")

    def _judge_grant(self, name: str, before: LockState, after: LockState, granted: Holder, ask: object) -> None:
        asker, owner, fence = getattr(ask, "owner", ""), granted.owner, granted.fence
        self.counts["grants"] += 1
        self.counts["hand-overs"] += owner != asker
        if fence <= self._highest_fence:
            self.fault("I2", f"{name} was granted to {owner} with fence {fence}, after {self._highest_fence}")
        self._highest_fence = max(fence, self._highest_fence)
        self._granted[owner] = fence
        for ticket in before.queue:
            if ticket.owner == owner:
                break
            has_gone = after.held_by(ticket.owner) is not None or (isinstance(ask, Leave) and ticket.owner == asker)
            if ticket.channel in self._server.listeners and not has_gone:
                self.fault("I6", f"{owner} got {name} before {ticket.owner}, who was first")
        self._judge_idleness(name, owner)

    def _note_free(self, name: str, lock: LockState) -> None:
        if not lock.holders:
            self._free_since.setdefault(name, self._server.agenda.now)
        else:
            left = max(holder.expires_at for holder in lock.holders) - self._server.clock()
            self._free_since[name] = self._server.agenda.now + left / self._server.rate

    def _judge_idleness(self, name: str, owner: str) -> None:
        """Where messages arrive, a lock is not free for long while somebody stands in its queue and runs."""
        free_since = self._free_since.pop(name, None)
        queued_at = self._queued_at.pop(owner, None)
        if free_since is None or queued_at is None:
            return
        ttl = self._processes[0].weather.ttl
        process = next(process for process in self._processes if process.name == owner.rpartition(".")[0])
        ready_at = max(free_since, queued_at, process.awake_since(), self._settled_at())
        idle = self._server.agenda.now - ready_at
        if idle > 0.1 * ttl + 0.06 + (ttl / 3 if name in self._shortened else 0.0):
            self.fault("I6", f"{name} was free for {idle:.3f}s while {owner} waited for it")

    def _settled_at(self) -> float:
        """From when on nothing that went wrong before has an effect any more."""
        ttl = self._processes[0].weather.ttl
        return inf if self.healed_at is None else self.healed_at + (2 * ttl + 2 if self.healed_at else 0.0)

    # What clients believe.

    def _judge_beliefs(self) -> None:
        """I7: belief is truth, unless it is excused."""
        for process in self._processes:
            if process.is_dead:
                continue
            for hold in process.desk.holds.values():
                if _believes(process, hold) and not self.is_excused(hold):
                    self._judge_belief(process, hold)

    def is_excused(self, hold: Hold) -> bool:
        """Whether the store's memory, clock or force deceives it, and its next renewal is not to be answered yet."""
        excused_at = self._excused.get(hold.owner)
        return excused_at is not None and self._server.agenda.now < excused_at + 1.1 * hold.tenure.ttl

    def _judge_belief(self, process: Process, hold: Hold) -> None:
        lock = self._server.locks.get(hold.name, BLANK).at(self._server.clock())
        holder = lock.held_by(hold.owner)
        if holder is None or holder.fence != hold.fence:
            others = ", ".join(f"{other.owner} (fence {other.fence})" for other in lock.holders)
            has = f"{others} has it" if others else "nobody has it"
            self.fault("I7", f"{process.name} believes in {hold.owner} (fence {hold.fence}), but {has}")

    def excuse_all(self) -> None:
        """The store has forgotten, or its clock has jumped: those who hold now cannot know."""
        self._excused.update(dict.fromkeys(self._granted, self._server.agenda.now))
        self._free_since.clear()

    def clock_went_back(self) -> None:
        """What was over by the store's clock may come again: an old ask is in time, what should expire does not."""
        self._has_jumped_back = True
        self.fences_may_fall()

    def fences_may_fall(self) -> None:
        """Fences rise while the store remembers the last one, or its clock is ahead of it; else they cannot."""
        if max(self._server.clock() * 1e6, self._server.last_fence) <= self._highest_fence:
            self._highest_fence = self._server.last_fence
            self._written.clear()
            self.fences_may_repeat = True

    def entered(self, process: Process, hold: Hold) -> None:
        """A client begins to work."""
        self.counts["entered"] += 1
        self._entered[hold.fence] = hold
        if hold.fence in process.heard_evicted and hold.lost_because is None:
            self.fault("I7", f"{process.name} entered as {hold.owner}, though it had heard that this was taken from it")
        if self._granted.get(hold.owner) != hold.fence:
            self.fault("I8", f"{process.name} entered with fence {hold.fence}, which was never granted to it")
        self._judge_beliefs()

    def was_told_busy(self, process: Process) -> None:
        """A client reports that somebody else has the lock."""
        owner = process.running.owner if process.running else ""
        self.counts["busy"] += 1
        if owner not in self._told_held:
            self.fault("I8", f"{process.name} says that the lock is busy, but the store never said so to {owner}")

    def released(self, process: Process, hold: Hold, *, cleanly: bool) -> None:
        """A client reports what came of its release."""
        self.counts["released" if cleanly else "lost"] += 1
        if hold.request.at_least:
            self._staying.add(hold.owner)
        elif cleanly and hold.owner not in self._released:
            self.fault("I8", f"{process.name} says that it released {hold.owner}, but the store never did")

    def write(self, process: Process, hold: Hold) -> None:
        """A write reaches the resource, which refuses those below the newest fence it has seen."""
        fence, writer = self._written.get(hold.name, (0, ""))
        if hold.fence < fence:
            self.counts["stale writes refused"] += 1
            return
        if hold.fence == fence and writer != hold.owner and not self.fences_may_repeat:
            self.fault("I1", f"{process.name} and {writer} both wrote with fence {fence}")
        self.counts["writes"] += 1
        self._written[hold.name] = (hold.fence, hold.owner)

    def told(self, process: Process, event: Event) -> None:
        """A process reports an event."""
        if self._trace is not None:
            self.note(process.name, repr(event))

    def told_loss(self, process: Process, loss: LeaseLost) -> None:
        """I7: whose lease is over by its own clock is told before the margin is used up."""
        hold = None if process.is_dead else self._entered.get(loss.fence)
        if (
            hold is None
            or loss.reason not in OVER_BY_CLOCK
            or process.agenda.now - process.awake_since() < hold.tenure.ttl
        ):
            return
        late = process.clock() - hold.tenure.asked_at - hold.tenure.ttl
        if late > 0:
            self.fault("I7", f"{process.name} was told {late:.3f}s too late that {hold.owner} is lost")

    # The end.

    def failed(self, process: Process, error: BaseException) -> None:
        """A task ended by an error that nothing explains."""
        self.fault("I8", f"a task of {process.name} ended by {error!r}")

    def unreachable(self, process: Process, error: StoreUnreachable) -> None:
        """A client says that nobody knows. After healing it has no reason to."""
        self.counts["unreachable"] += 1
        ttl = process.weather.ttl
        if self.healed_at is not None and process.agenda.now > self.healed_at + 4 * ttl + 4:
            self.fault("I8", f"{process.name} cannot reach a store that is well: {error}")

    def still_busy(self, process: Process) -> None:
        """A client did not come to an end in the time that healing and all TTLs take."""
        self.fault("I6", f"{process.name} still waits at the end")

    def judge_remains(self) -> None:
        """I5: of those who live nothing is left once all was answered; of the dead nothing once TTLs are over."""
        at = self._server.clock()
        alive = {process.name for process in self._processes if not process.is_dead}
        for name, lock in self._server.locks.items():
            now = lock.at(at)
            owners = [ticket.owner for ticket in now.queue] + [holder.owner for holder in now.holders]
            left = [owner for owner in owners if owner.rpartition(".")[0] in alive and owner not in self._staying]
            if left and not self._has_jumped_back:
                self.fault("I5", f"{name} still knows {left}, who have left")
            if not lock.at(at + 3 * self._processes[0].weather.ttl + 10).is_blank:
                self.fault("I5", f"{name} will never be forgotten: {lock}")


def _believes(process: Process, hold: Hold) -> bool:
    """Whether the process would act on this hold, by its own clock, if it ran now."""
    if hold.lost_because is not None or hold.is_over:
        return False
    return process.clock() < hold.tenure.trusted_until
