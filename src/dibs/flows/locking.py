"""How a lock is asked for, waited for, prolonged and given back."""

from __future__ import annotations

from collections.abc import Awaitable
from math import inf
from typing import TYPE_CHECKING, Literal
from weakref import ref

from dibs import events
from dibs.errors import ClientClosed, LeaseLost, SelfDeadlock, StoreRefused, StoreUnreachable
from dibs.flows.asking import ask
from dibs.flows.desk import Waiting, note_debt, owe, tell_loss
from dibs.flows.hold import EVICTED, FORGOTTEN, Hold, Watchers
from dibs.model.asks import Acquire, AcquireAnswer, Busy, Granted, Held, Leave, Queued, Renew, Said, StillQueued
from dibs.model.backoff import backoff
from dibs.model.request import A_MOMENT, PATIENCE, Request
from dibs.model.tenure import Tenure, Verdict
from dibs.model.value import value
from dibs.ports.world import AskAgain, Handed, Taken

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World


@value
class Denied:
    """Somebody else had the lock for as long as we were told to wait."""

    held: Held
    waiters: int
    waited: float


async def acquire(
    world: World,
    desk: Desk,
    request: Request,
    *,
    inside: Hold | None = None,
    watchers: Watchers = (),
    bearer: object = None,
) -> Hold | Denied:
    """From asking to holding. Whoever comes out without the lock has left, or owes it, at every await.

    `inside` is what the asker holds of that lock already; the `bearer` stands for the lease: drop it, and it is over.
    """
    if inside is not None:
        _refuse_self_deadlock(world, request, inside)
    asking = _Asking(world, desk, request, watchers, bearer)
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
        if desk.is_heard:
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

    _has_asked = _was_granted = False
    _tries = 0
    _may_land_until = 0.0
    """Until when an ask of ours that was not answered may still land: our leave must bar it."""
    _given_up_until = 0.0
    """The same, without the ask that is under way."""
    _void: frozenset[int] = frozenset()

    def __init__(self, world: World, desk: Desk, request: Request, watchers: Watchers, bearer: object) -> None:
        self._world, self._desk, self._request = world, desk, request
        self._watchers, self._bearer = watchers, bearer
        self._owner = world.token()
        self._inbox = world.listen(self._owner)
        self.began_at = self._asked_at = self._silent_since = world.now()
        self._give_up_at = self.began_at + (inf if request.wait is None else request.wait)

    async def outcome(self) -> Hold | Busy:
        """Ask until the answer settles it."""
        world, desk = self._world, self._desk
        desk.inboxes[self._owner] = ref(self._inbox)
        while True:
            if desk.is_closed:
                raise ClientClosed("wait for a lock")
            now = self._asked_at = world.now()
            ends_at = min(now + PATIENCE, self._patient_until())
            try:
                store_time = world.store_time()
                if store_time is None:
                    store_time = await world.ask(desk.store.time(), max(ends_at - now, A_MOMENT))
                    self._asked_at = world.now()
                answer = await self._ask(store_time, ends_at)
                self._may_land_until = self._given_up_until
                settled = await self._turn(answer) if isinstance(answer, Queued) else self._settled(answer)
            except StoreUnreachable as silence:
                await self._bear(silence)
                continue
            if settled is not None:
                return settled
            self._silent_since, self._tries = world.now(), 0

    def leave(self, *, to_the_keeper: bool = False) -> None:
        """Take back whatever the store may still have of us; who was told no and did not queue has left nothing."""
        if self._may_land_until or self._was_granted or (self._has_asked and self._request.is_patient):
            tell, leave = note_debt if to_the_keeper else owe, Leave(self._owner, self._may_land_until or None)
            tell(self._world, self._desk, self._request.name, leave, ttl=self._request.ttl)

    def close(self) -> None:
        """Stop waiting."""
        self._desk.tickets.pop(self._owner, None)
        self._desk.inboxes.pop(self._owner, None)

    def _ask(self, store_time: float, ends_at: float) -> Awaitable[AcquireAnswer]:
        desk, request = self._desk, self._request
        within = max(ends_at - self._asked_at, A_MOMENT)
        not_after = store_time + min(request.ttl, within)
        self._has_asked, self._may_land_until = True, max(self._given_up_until, not_after)
        wish = Acquire(
            self._owner,
            request.ttl,
            not_after,
            self._inbox.channel,
            desk.who,
            request.purpose,
            desk.seen_fence,
            queue=request.is_patient,
        )
        return self._world.ask(desk.store.acquire(request.name, wish), within, exactly=bool(request.wait))

    def _settled(self, answer: Granted | Busy | Literal[Said.REFUSED]) -> Hold | Busy | None:
        """What an answer comes to that is not to wait."""
        if isinstance(answer, Granted):
            tenure, now = Tenure(self._request.ttl, self._asked_at), self._world.now()
            self._was_granted = True
            if tenure.trusted_until > now:
                return self._enter(answer.fence, tenure, now)
        elif isinstance(answer, Busy):
            return answer
        silent_for = self._world.now() - self._silent_since
        raise StoreUnreachable(self._desk.server, after=silent_for, why="it is too far away for this TTL")

    async def _bear(self, silence: StoreUnreachable) -> None:
        """Bear the silence for a while, while patience lasts: the next try is a new ask by the same owner."""
        if isinstance(silence, StoreRefused):  # surely not done
            self._may_land_until = self._given_up_until
        self._given_up_until = self._may_land_until
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
                # A fence above the holder's that we were told to wait for: so it was granted after we had asked.
                is_after = 0 < place.held.fence < wake.fence
                asked_at = max(wake.asked_at, self._asked_at) if is_after else wake.asked_at
                tenure, now = Tenure(self._request.ttl, asked_at), self._world.now()
                return None if tenure.is_stale(now) else self._enter(wake.fence, tenure, now)
            if wake is None:  # nothing came: it is time to ask again, or to give up
                is_over = self._world.now() >= self._give_up_at
                return Busy(place.held, place.position + 1) if is_over else None
            if isinstance(wake, AskAgain):
                return None
            if isinstance(wake, StillQueued):
                ask_at = self._world.now() + wake.ask_again_in
            else:
                self._void |= {wake.fence}

    def _stand_in_queue(self, place: Queued) -> None:
        request = self._request
        if self._owner not in self._desk.tickets and self._desk.is_heard:
            self._desk.tell(events.JoinedQueue(request.name, place.held.who, place.position))
        waiting = Waiting(request.name, self._owner, request.ttl, kept_at=self._asked_at)
        self._desk.tickets[self._owner] = waiting
        self._desk.look_after(waiting.keep_at)

    def _enter(self, fence: int, tenure: Tenure, now: float) -> Hold | None:
        """Begin to hold, unless the grant was taken back. That it can be trusted has just been seen."""
        if fence in self._void:
            return None
        desk = self._desk
        bar = self._may_land_until or None
        hold = Hold(self._request, self._owner, fence, tenure, now - self.began_at, bar, self._watchers)
        if self._bearer is not None:
            hold.bearer = ref(self._bearer, lambda _: desk.abandon(hold))
        desk.enrol(hold)
        if desk.is_closed:  # looked at after enrolling, while closing looks at what is enrolled after saying so
            desk.strike(hold)
            raise ClientClosed("take a lock")
        arrived = self._inbox.arrived()
        if arrived and Taken(fence) in arrived:
            hold.lose(EVICTED)
            desk.nudge()
        if desk.is_heard:
            desk.tell(events.Acquired(self._request.name, fence, hold.waited))
        return hold
