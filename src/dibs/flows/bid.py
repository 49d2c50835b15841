"""One owner on its way to a lock: what it asks, what it is told, and what it must take back if it gives up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import TYPE_CHECKING, Literal
from weakref import ref

from dibs import events
from dibs.errors import ClientClosed, StoreRefused, StoreUnreachable
from dibs.flows.desk import Waiting, note_debt, owe
from dibs.flows.hold import EVICTED, Hold, Watchers
from dibs.model.asks import REFUSED, Acquire, Busy, Granted, Leave, Queued, Said, StillQueued
from dibs.model.backoff import backoff
from dibs.model.request import A_MOMENT, PATIENCE, Request
from dibs.model.tenure import Tenure
from dibs.ports.world import AskAgain, Handed, Taken

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World


NONE_VOID: frozenset[int] = frozenset()


class Bid:
    """One wish for a lock, under a name that is used for nothing else."""

    _no: StoreUnreachable | None
    """What the store has refused us with: a last ask that there was no time to answer is no outage then."""
    _may_land_until: float
    """Until when an ask of ours that was not answered may still land: our leave must bar it."""
    _given_up_until: float
    """The same, without the ask that is under way."""
    _void: frozenset[int]
    queued: Callable[[], Awaitable[None]] | None
    """Whom to tell, if anybody, that the lock is held by somebody else, and is waited for."""

    def __init__(self, world: World, desk: Desk, request: Request, watchers: Watchers, bearer: object) -> None:
        self._world, self._desk, self._request = world, desk, request
        self._watchers, self._bearer = watchers, bearer
        self._owner = owner = world.token()
        self._inbox = world.listen(owner)
        # All are set here: what an object does not have itself, but by its class, takes ten times as long to look up.
        self._has_asked = self._was_queued = self._was_granted = False
        self._may_land_until = self._given_up_until = 0.0
        self._no, self._void, self._tries, self.queued = None, NONE_VOID, 0, None
        self.began_at = self._asked_at = self._silent_since = world.now()
        self._give_up_at = inf if request.wait is None else self.began_at + request.wait

    @property
    def name(self) -> str:
        """The lock it is for."""
        return self._request.name

    async def outcome(self) -> Hold | Busy:
        """Ask until the answer settles it."""
        world, desk = self._world, self._desk
        while True:
            if desk.is_closed:
                raise ClientClosed("wait for a lock")
            within = self._time_to_answer()
            try:
                store_time = world.store_time()
                if store_time is None:
                    store_time = await world.ask(desk.store.time(), within)
                    ends_at, self._asked_at = self._asked_at + within, world.now()
                    within = max(ends_at - self._asked_at, A_MOMENT)
                command = desk.store.acquire(self._request.name, self.wish(store_time, within))
                answer = await world.ask(command, within, exactly=bool(self._request.wait))
                if isinstance(answer, Queued):
                    self._may_land_until = self._given_up_until
                    settled = await self._turn(answer)
                else:
                    settled = self.told(answer)
            except StoreUnreachable as silence:
                await self._bear(silence)
            else:
                if settled is not None:
                    return settled
                self._silent_since, self._tries, self._no = world.now(), 0, None
            self._asked_at = world.now()

    def leave(self, *, to_the_keeper: bool = False) -> None:
        """Take back whatever the store may still have of us; who was told no and did not queue has left nothing."""
        if self._may_land_until or self._was_granted or (self._has_asked and self._request.is_patient):
            tell, leave = note_debt if to_the_keeper else owe, Leave(self._owner, self._may_land_until or None)
            tell(self._world, self._desk, self._request.name, leave, ttl=self._request.ttl)

    def close(self) -> None:
        """Stop waiting."""
        if self._was_queued:
            self._desk.tickets.pop(self._owner, None)
        self._desk.inboxes.pop(self._owner, None)

    def wish(self, store_time: float, within: float) -> Acquire:
        """What to ask the store, which is to answer within so long; from now on there may be something to take back."""
        desk, request, owner = self._desk, self._request, self._owner
        desk.inboxes[owner] = ref(self._inbox)
        not_after = store_time + min(request.ttl, within)
        self._has_asked, self._may_land_until = True, max(self._given_up_until, not_after)
        return Acquire(
            owner,
            request.ttl,
            not_after,
            self._inbox.channel,
            desk.who,
            request.purpose,
            desk.seen_fence,
            request.is_patient,
            request.room,
            1 if request.is_counted else 0,
        )

    def told(self, answer: Granted | Busy | Literal[Said.REFUSED]) -> Hold | Busy | None:
        """What an answer comes to that is not to wait; `None` if we must ask again."""
        if answer is not REFUSED:  # which comes too late, perhaps after the same ask was granted
            self._may_land_until = self._given_up_until
        if isinstance(answer, Granted):
            self._was_granted = True
            return None if answer.fence in self._void else self.granted(answer)
        if isinstance(answer, Busy):
            return answer
        raise self._too_far_away()

    def granted(self, grant: Granted) -> Hold:
        """The lease, if the answer has not come too late to trust it."""
        tenure, now = Tenure(self._request.ttl, self._asked_at), self._world.now()
        self._may_land_until, self._was_granted = self._given_up_until, True
        if tenure.trusted_until > now:
            return self._enter(grant.fence, tenure, now)
        raise self._too_far_away()

    def _too_far_away(self) -> StoreUnreachable:
        silent_for = self._world.now() - self._silent_since
        why = "it is too far away for this TTL"
        return StoreUnreachable(self._desk.server, after=silent_for, why=why, is_outage=False)

    def _time_to_answer(self) -> float:
        """How long the store has for the ask that is about to be made."""
        left = self._patient_until() - self._asked_at
        return PATIENCE if left >= PATIENCE else max(left, A_MOMENT)

    async def _bear(self, silence: StoreUnreachable) -> None:
        """Bear the silence for a while, while patience lasts: the next try is a new ask by the same owner."""
        if isinstance(silence, StoreRefused):  # surely not done
            self._may_land_until = self._given_up_until
        self._given_up_until = self._may_land_until
        if not silence.is_outage:
            self._no = silence
        now = self._world.now()
        if now > self._asked_at + 2 * PATIENCE:  # so long no ask lasts: we were stopped ourselves
            self._silent_since = now
        if now >= self._patient_until():
            raise (self._no or silence).lasting(now - self._silent_since) from silence
        await self._world.pause(min(backoff(self._tries, self._owner), self._patient_until() - now))
        self._tries += 1

    def _patient_until(self) -> float:
        if self._request.wait:
            return self._give_up_at
        patience = self._request.patience
        return self._silent_since + (self._desk.patience if patience is None else patience)

    async def _turn(self, place: Queued) -> Hold | Busy | None:
        """Wait to be handed the lock; `None` when it is time to ask again."""
        self._stand_in_queue(place)
        if self.queued is not None:
            await self.queued()
        ask_at = self._asked_at + place.ask_again_in
        while True:
            wake = await self._inbox.next(max(min(ask_at, self._give_up_at) - self._world.now(), 0.0))
            if isinstance(wake, Handed):
                # A fence above the holder's that we were told to wait for: so it was granted after we had asked.
                # (Who shares may have been granted an older one beside that holder, and lost it since.)
                is_after = self._request.room == 1 and 0 < place.held.fence < wake.fence
                asked_at = max(wake.asked_at, self._asked_at) if is_after else wake.asked_at
                tenure, now = Tenure(self._request.ttl, asked_at), self._world.now()
                is_useless = tenure.is_stale(now) or wake.fence in self._void
                return None if is_useless else self._enter(wake.fence, tenure, now)
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
        self._desk.tickets[self._owner], self._was_queued = waiting, True
        self._desk.look_after(waiting.keep_at)

    def _enter(self, fence: int, tenure: Tenure, now: float) -> Hold:
        """Begin to hold. That the grant can be trusted, and was not taken back, has just been seen."""
        desk = self._desk
        bar = self._may_land_until or None
        hold = Hold(self._request, self._owner, fence, tenure, now - self.began_at, bar, self._watchers)
        hold.channel = self._inbox.channel
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
        desk.count(hold.name, "acquired")
        if self._was_queued:
            desk.count(hold.name, "waited", hold.waited)
        if desk.is_heard:
            desk.tell(events.Acquired(self._request.name, fence, hold.waited))
        return hold
