"""A lease as its own process sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Literal, cast

from dibs.errors import LeaseLost
from dibs.model.asks import Renew
from dibs.model.tenure import LOST, NOT_RENEWED, Tenure, Verdict

if TYPE_CHECKING:
    from weakref import ReferenceType

    from dibs.model.asks import Memo
    from dibs.model.request import Request

Watchers = Sequence[Callable[[LeaseLost], object]]
"""Whom to tell when a lease is lost."""

RAN_OUT = "its time ran out before the store answered a renewal"
REACHED_MAX_HOLD = "it reached its max_hold"
EVICTED = "it was released by force"
FORGOTTEN = "the store no longer knows it"
LEFT = "its last holder has just released it"

LONG = 10
"""A hold of more TTLs than this is told: a hung job must not hold for ever unseen."""


class Hold:
    """A grant in use: how far it is trusted by now, and how it ended.

    The keeper's thread prolongs it while the holder's looks at it, so each field changes by one assignment,
    and what must happen once is taken from a set (`remove` has one winner).
    """

    retry_at: float = 0.0
    unanswered_since: float | None = None
    lost_because: str | None
    is_over: bool
    bearer: ReferenceType[object] | None = None
    is_left: bool = False
    """Whether the last has gone out who could let others in under this grant."""
    _entries: dict[int, Watchers] | None = None
    """Who is in by now, where that is counted, and whom each of them wants to be told."""
    is_loose: bool = False
    """Whether no store stands behind it, as none could be asked, or was to be."""
    policy: Literal["open", "local"] | None
    """By which `on_outage` it was taken, if not from the store that was named."""
    channel: str
    """Where its process is told things, if it was asked for here."""
    unfenced_by: str | None = None
    """What has made its fence none to send along."""
    taken_up_at: float | None
    """When it was taken over from another process, if it was."""
    noted_for: float = 0.0
    """How long it had been held when the store was last told that it was."""
    memo: Memo | None
    """What the store is to remember of the work that was done, once the lock is given back."""

    def __init__(
        self,
        request: Request,
        owner: str,
        fence: int,
        tenure: Tenure,
        waited: float = 0.0,
        bar_until: float | None = None,
        watchers: Watchers = (),
    ) -> None:
        self.request, self.name, self.owner, self.fence = request, request.name, owner, fence
        self.tenure, self._granted_at, self.waited = tenure, tenure.asked_at, waited
        self.bar_until, self._watchers = bar_until, watchers
        self._still_to_do = {"end", "tell", "warn"}
        # What every lock is looked at for is its own from the start: by its class it would be found far more slowly.
        self.is_over, self.lost_because, self.memo, self.policy, self.taken_up_at = False, None, None, None, None
        self.channel = ""
        if request.is_counted:
            self._entries, self._numbers, self._watchers = {0: watchers}, count(1), ()

    @property
    def depth(self) -> int:
        """How often it is entered by now; 0 where nobody counts."""
        return len(self._entries) if self._entries is not None else 0

    @property
    def watchers(self) -> Watchers:
        """Whom to tell when it is lost."""
        of_each = [] if self._entries is None else list(self._entries.values())
        return [watcher for watchers in (self._watchers, *of_each) for watcher in watchers]

    def watch(self, watchers: Watchers) -> None:
        """Tell these of a loss, from now on."""
        self._watchers = watchers

    def enter(self, watchers: Watchers = ()) -> int:
        """Go in once more, under the same grant; gives the entry, by which it is left again.

        Another thread may be about to leave it for good: look at `is_left` afterwards, and go out again if it is.
        """
        entries = cast("dict[int, Watchers]", self._entries)
        entries[entry := next(self._numbers)] = watchers
        return entry

    def admits(self, request: Request, now: float) -> bool:
        """Whether one with such a wish may go in under this grant: a writer's is good for a reader, too."""
        can_enter = self._entries is not None and request.is_counted and self.request.room <= request.room
        return can_enter and self.check(now) is not LOST

    def leave(self, entry: int) -> int | None:
        """Go out by an entry: how many are still in; `None` if it was left before."""
        entries = cast("dict[int, Watchers]", self._entries)
        watchers = entries.pop(entry, None)
        if watchers is None:
            return None
        if not entries:  # who comes now is refused; who came before it could see that is not
            self._watchers, self.is_left = watchers, True
            self.is_left = not entries
        return len(entries)

    def loss(self) -> LeaseLost | None:
        """The loss as an error, if there was one."""
        if self.lost_because is None:
            return None
        return LeaseLost(self.name, fence=self.fence, reason=self.lost_because)

    def check(self, now: float) -> Verdict:
        """What our own clock says. A loss, once seen by anybody, is final."""
        if self.lost_because is not None or self.is_over:
            return LOST
        verdict = self.tenure.judge(now)
        if verdict is LOST:
            self.lose(self._why_over())
        return verdict

    def prolong(self, tenure: Tenure, now: float) -> None:
        """A renewal was answered. It counts only if trust had not ended meanwhile."""
        if self.check(now) is not LOST:
            self.tenure = self.tenure.or_longer(tenure)

    def lose(self, reason: str) -> None:
        """End the trust; the first reason stands."""
        if self.lost_because is None and not self.is_over:
            self.lost_because = reason

    def end(self) -> bool:
        """Let go, whatever the store says; true for the first who does. That it is dropped matters no more."""
        self.is_over, self.bearer = True, None
        return self._once("end")

    def lives_by(self) -> object:
        """Who stands for the lease, while somebody has it."""
        return None if self.bearer is None else self.bearer()

    def is_forsaken(self) -> bool:
        """Whether nobody has the lease any more who could release it."""
        bearer = self.bearer
        return bearer is not None and bearer() is None

    def first_to_tell(self) -> bool:
        """True for the one who is to tell of the loss."""
        return self._once("tell")

    def to_renew(self, ttl: float) -> Renew:
        """What to ask the store, to go on for so long."""
        depth = max(self.depth, 1 if self.request.is_counted else 0)
        return Renew(self.owner, self.fence, ttl, depth, self.request.room)

    def stays_for(self, now: float) -> float:
        """How long the lock is to stay taken once it is released."""
        at_least = self.request.at_least
        return max(self._granted_at + at_least - now, 0.0) if at_least else 0.0

    def renewal(self, now: float) -> float | None:
        """The TTL to renew by, or `None` if more is not wanted."""
        ttl = self.request.ttl
        if self.request.max_hold is not None:
            ttl = min(ttl, self._granted_at + self.request.max_hold - now)
        return ttl if now + ttl > self.tenure.asked_at + self.tenure.ttl else None

    def renew_at(self) -> float:
        """When the keeper should ask for more."""
        due = max(self.tenure.renew_at, self.retry_at)
        return due if self.request.renew and self.renewal(due) is not None else inf

    def since(self) -> float:
        """From when on it has been this process's."""
        return self._granted_at if self.taken_up_at is None else self.taken_up_at

    def held_for(self, now: float) -> float:
        """How long it has been ours."""
        return now - self._granted_at

    def is_newly_long(self, now: float) -> bool:
        """True once, when it has been held suspiciously long."""
        return self.held_for(now) > LONG * self.request.ttl and self._once("warn")

    def _once(self, what: str) -> bool:
        try:
            self._still_to_do.remove(what)
        except KeyError:
            return False
        return True

    def _why_over(self) -> str:
        if not self.request.renew:
            return NOT_RENEWED
        return RAN_OUT if self.renewal(self.tenure.trusted_until) is not None else REACHED_MAX_HOLD
