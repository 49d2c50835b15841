"""How a lock is asked for, waited for, prolonged and given back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING
from weakref import ref

from dibs import events
from dibs.errors import ClientClosed, LeaseLost, SelfDeadlock, StoreRefused, StoreUnreachable
from dibs.flows.asking import ask
from dibs.flows.desk import Waiting, note_debt, owe, tell_loss
from dibs.flows.hold import EVICTED, FORGOTTEN, Hold
from dibs.model.asks import Acquire, Busy, Granted, Held, Leave, Queued, Renew, Said, StillQueued
from dibs.model.backoff import backoff
from dibs.model.request import A_MOMENT, PATIENCE, Request
from dibs.model.tenure import Tenure, Verdict
from dibs.model.value import value
from dibs.ports.world import AskAgain, Handed, Taken

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World


Watchers = Sequence[Callable[[LeaseLost], object]]


@value
class Denied:
    """Somebody else had the lock for as long as we were told to wait."""

    held: Held
    waiters: int
    waited: float


@value
class Circumstances:
    """Who asks: what it is inside of already, whom to tell of a loss, and the object that stands for the lease."""

    inside: Hold | None = None
    watchers: Watchers = ()
    bearer: object = None


ALONE = Circumstances()


async def acquire(world: World, desk: Desk, request: Request, by: Circumstances = ALONE) -> Hold | Denied:
    """From asking to holding. Whoever comes out without the lock has left, or owes it, at every await."""
    if by.inside is not None:
        _refuse_self_deadlock(world, request, by.inside)
    asking = _Asking(world, desk, request, by)
    try:
        outcome = await asking.outcome()
    except GeneratorExit:  # thrown away, by the garbage collector perhaps: this is no place to talk to a store
        asking.leave(to_the_keeper=True)
        raise
    except BaseException:
        asking.leave()
        raise
    finally:
        asking.close()
    if isinstance(outcome, Hold):
        return outcome
    asking.leave()
    waited = world.now() - asking.began_at if request.is_patient else 0.0
    desk.tell(events.FoundBusy(request.name, outcome.held.who, waited))
    return Denied(outcome.held, outcome.waiters, waited)


async def prolong(world: World, desk: Desk, hold: Hold) -> LeaseLost | None:
    """Ask for a whole TTL more, now; gives the loss if it was too late."""
    asked_at = world.now()
    ttl = hold.renewal(asked_at)
    if hold.check(asked_at) is not Verdict.LOST and ttl is not None:
        [answer] = await ask(world, desk.store.keep([(hold.name, Renew(hold.owner, hold.fence, ttl))]), PATIENCE)
        if answer is Said.KEPT:
            hold.prolong(Tenure(ttl, asked_at), world.now())
        else:
            hold.lose(FORGOTTEN)
    if hold.check(world.now()) is Verdict.LOST:
        desk.strike(hold)
        tell_loss(desk, hold)
    return hold.loss()


async def release(world: World, desk: Desk, hold: Hold) -> LeaseLost | None:
    """Give the lock back; gives the loss if it was not ours any more. Belief ends first."""
    hold.check(world.now())
    leave = Leave(hold.owner, hold.bar_until)
    try:
        if not hold.end():
            return None
        desk.strike(hold)
        if hold.lost_because is not None:  # told at once: the store may be silent, and that may be why
            tell_loss(desk, hold)
            owe(world, desk, hold.name, leave, ttl=hold.request.ttl)
            return hold.loss()
        answer = await ask(world, desk.store.leave(hold.name, leave), PATIENCE)
    except GeneratorExit:
        desk.strike(hold)
        note_debt(world, desk, hold.name, leave, ttl=hold.request.ttl)
        raise
    except BaseException:  # a signal perhaps, at any moment: what was begun is finished
        hold.is_over = True
        desk.strike(hold)
        owe(world, desk, hold.name, leave, ttl=hold.request.ttl)
        raise
    if answer is Said.RELEASED:
        desk.tell(events.Released(hold.name, hold.fence, hold.held_for(world.now())))
        return None
    hold.lost_because = FORGOTTEN
    tell_loss(desk, hold)
    return hold.loss()


async def give_back(world: World, desk: Desk, hold: Hold, *, reason: str) -> None:
    """Release because all work is about to end. Belief ends first, so that whoever still works can see it."""
    was_lost = hold.check(world.now()) is Verdict.LOST
    hold.lose(reason)
    if not hold.end():
        return
    desk.strike(hold)
    answer = await ask(world, desk.store.leave(hold.name, Leave(hold.owner, hold.bar_until)), PATIENCE)
    if not was_lost and answer is Said.RELEASED:
        desk.tell(events.Released(hold.name, hold.fence, hold.held_for(world.now())))
        return
    if not was_lost:
        hold.lost_because = FORGOTTEN
    tell_loss(desk, hold)


def _refuse_self_deadlock(world: World, request: Request, inside: Hold) -> None:
    if request.is_patient and inside.check(world.now()) is not Verdict.LOST and not inside.is_forsaken():
        raise SelfDeadlock(request.name, fence=inside.fence)


class _Asking:
    """One owner on its way to the lock."""

    _tenure: Tenure

    def __init__(self, world: World, desk: Desk, request: Request, by: Circumstances) -> None:
        self._world, self._desk, self._request, self._by = world, desk, request, by
        self._owner = world.token()
        self._inbox = world.listen(self._owner)
        self.began_at = self._asked_at = self._silent_since = world.now()
        self._give_up_at = self.began_at + (inf if request.wait is None else request.wait)
        self._has_asked = self._was_granted = False
        self._tries = 0
        self._unanswered: list[float] = []
        self._void: set[int] = set()

    async def outcome(self) -> Hold | Busy:
        """Ask until the answer settles it."""
        self._desk.inboxes[self._owner] = ref(self._inbox)
        while True:
            try:
                answer = await self._ask_once()
            except StoreUnreachable as silence:
                await self._bear(silence)
                continue
            if isinstance(answer, Busy):
                return answer
            if isinstance(answer, Granted):
                settled: Hold | Busy | None = self._enter(answer.fence, self._tenure)
            else:
                settled = await self._turn(answer)
            if settled is not None:
                return settled
            self._silent_since, self._tries = self._world.now(), 0

    def leave(self, *, to_the_keeper: bool = False) -> None:
        """Take back whatever the store may still have of us; who was told no and did not queue has left nothing."""
        if self._unanswered or self._was_granted or (self._has_asked and self._request.is_patient):
            tell = note_debt if to_the_keeper else owe
            tell(self._world, self._desk, self._request.name, Leave(self._owner, self._bar()), ttl=self._request.ttl)

    def close(self) -> None:
        """Stop waiting."""
        self._desk.tickets.pop(self._owner, None)
        self._desk.inboxes.pop(self._owner, None)

    async def _ask_once(self) -> Granted | Queued | Busy:
        if self._desk.is_closed:
            raise ClientClosed("wait for a lock")
        world, store, request = self._world, self._desk.store, self._request
        now = world.now()
        ends_at = min(now + PATIENCE, self._patient_until())
        store_time = world.store_time()
        if store_time is None:
            store_time = await world.ask(store.time(), max(ends_at - now, A_MOMENT))
            now = world.now()
        self._asked_at, within = now, max(ends_at - now, A_MOMENT)
        wish = Acquire(
            self._owner,
            request.ttl,
            not_after=store_time + min(request.ttl, within),
            channel=self._inbox.channel,
            who=self._desk.who,
            purpose=request.purpose,
            seen=self._desk.seen_fence,
            queue=request.is_patient,
        )
        # Until it is answered, this ask may still land when we have left: our leave must bar it.
        self._has_asked = True
        self._unanswered.append(wish.not_after)
        try:
            answer = await world.ask(store.acquire(request.name, wish), within)
        except StoreRefused:
            self._unanswered.pop()
            raise
        self._unanswered.pop()
        self._was_granted = isinstance(answer, Granted)
        self._tenure = Tenure(request.ttl, now)
        if answer is Said.REFUSED or (self._was_granted and self._tenure.trusted_until <= world.now()):
            silent_for = world.now() - self._silent_since
            raise StoreUnreachable(self._desk.server, after=silent_for, why="it is too far away for this TTL")
        return answer

    async def _bear(self, silence: StoreUnreachable) -> None:
        """Bear the silence for a while, while patience lasts: the next try is a new ask by the same owner."""
        now = self._world.now()
        if now > self._asked_at + 2 * PATIENCE:  # so long no ask lasts: we were stopped ourselves
            self._silent_since = now
        if now >= self._patient_until():
            raise silence.lasting(now - self._silent_since) from silence
        await self._world.pause(min(backoff(self._tries, self._owner), self._patient_until() - now))
        self._tries += 1

    def _patient_until(self) -> float:
        return self._give_up_at if self._request.wait else self._silent_since + PATIENCE

    async def _turn(self, place: Queued) -> Hold | Busy | None:
        """Wait to be handed the lock; `None` when it is time to ask again."""
        self._stand_in_queue(place)
        ask_at = self._asked_at + place.ask_again_in
        while True:
            wake = await self._inbox.next(max(min(ask_at, self._give_up_at) - self._world.now(), 0.0))
            if isinstance(wake, Handed):
                tenure = Tenure(self._request.ttl, wake.asked_at)
                return None if tenure.is_stale(self._world.now()) else self._enter(wake.fence, tenure)
            if wake is None:  # nothing came: it is time to ask again, or to give up
                is_over = self._world.now() >= self._give_up_at
                return Busy(place.held, place.position + 1) if is_over else None
            if isinstance(wake, AskAgain):
                return None
            if isinstance(wake, StillQueued):
                ask_at = self._world.now() + wake.ask_again_in
            else:
                self._void.add(wake.fence)

    def _stand_in_queue(self, place: Queued) -> None:
        request = self._request
        if self._owner not in self._desk.tickets:
            self._desk.tell(events.JoinedQueue(request.name, place.held.who, place.position))
        waiting = Waiting(request.name, self._owner, request.ttl, kept_at=self._asked_at)
        self._desk.tickets[self._owner] = waiting
        self._desk.look_after(waiting.keep_at)

    def _enter(self, fence: int, tenure: Tenure) -> Hold | None:
        """Begin to hold, unless the grant was taken back. That it can be trusted has just been seen."""
        if fence in self._void:
            return None
        now, desk = self._world.now(), self._desk
        hold = Hold(self._request, self._owner, fence, tenure, now - self.began_at, self._bar(), self._by.watchers)
        if self._by.bearer is not None:
            hold.bearer = ref(self._by.bearer, lambda _: desk.abandon(hold))
        desk.enrol(hold)
        if desk.is_closed:  # looked at after enrolling, while closing looks at what is enrolled after saying so
            desk.strike(hold)
            raise ClientClosed("take a lock")
        arrived = self._inbox.arrived()
        if arrived and Taken(fence) in arrived:
            hold.lose(EVICTED)
            desk.nudge()
        desk.tell(events.Acquired(self._request.name, fence, hold.waited))
        return hold

    def _bar(self) -> float | None:
        return max(self._unanswered) if self._unanswered else None
