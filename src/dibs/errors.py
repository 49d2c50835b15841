"""Every error a caller can meet. Each carries its facts as attributes and says the next step."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Self

from dibs.model.duration import spoken

if TYPE_CHECKING:
    from dibs.model.asks import Held


class DibsError(Exception):
    """The root of them all."""


class ConfigError(DibsError, ValueError):
    """What we were told to do cannot be done as it was said."""


class ClientClosed(DibsError):
    """The client was closed before this call."""

    def __init__(self, doing: str) -> None:
        self.doing = doing
        super().__init__(f"cannot {doing}: this client is closed (make another with dibs.connect())")


class LockBusy(DibsError):
    """Somebody else has the lock, and kept it for as long as we were told to wait."""

    def __init__(self, name: str, *, waited: float, held: Held, waiters: int) -> None:
        self.name, self.waited, self.waiters = name, waited, waiters
        self.holder, self.purpose, self.fence = held.who, held.purpose, held.fence
        self.since, self.ttl_left = held.since, held.ttl_left
        super().__init__(self._text())

    def _text(self) -> str:
        purpose = f" for {self.purpose!r}" if self.purpose else ""
        waited = f"waited {spoken(self.waited)}" if self.waited else "did not wait"
        is_endless = self.ttl_left == inf  # as only other programs can have it
        left = "for ever, unless released" if is_endless else f"{spoken(max(self.ttl_left, 0))} left unless renewed"
        return (
            f"{self.name!r} is held by {self.holder}{purpose} (fence {self.fence}, {left}, {self.waiters} waiting); "
            f"{waited} (pass wait= to wait longer)"
        )


class SelfDeadlock(DibsError):
    """The task or thread that asks for the lock is inside of it already: waiting would never end."""

    def __init__(self, name: str, *, fence: int) -> None:
        self.name, self.fence = name, fence
        super().__init__(
            f"{name!r} is already held here, by the same task or thread (fence {fence}): waiting for it would never "
            "end. Leave the outer block first, or pass its lease on instead of locking again"
        )


class ChangedHands(DibsError):
    """The lock that was to be taken by force is not held by the one who was seen to hold it."""

    def __init__(self, name: str, *, fence: int) -> None:
        self.name, self.fence = name, fence
        super().__init__(f"{name!r} is no longer held with fence {fence}: look again, and name the fence you see then")


class LeaseLost(DibsError):
    """We had the lock and cannot rely on it any more."""

    def __init__(self, name: str, *, fence: int, reason: str) -> None:
        self.name, self.fence, self.reason = name, fence, reason
        super().__init__(
            f"the lease on {name!r} (fence {fence}) is over: {reason}. Others may be at work now: "
            "stop, and let the resource refuse writes below the newest fence"
        )


class RunStopped(DibsError):
    """The run is to stop, though its lease stands: it has lasted too long, or is not wanted any more."""

    def __init__(self, name: str, *, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"the run of {name!r} is to stop: {reason}. Leave all as another run can take it up, and end")


class NoSuchJob(DibsError):
    """The store knows no job of that name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"no job is called {name!r} here: nobody has served it yet, and none was added under that name. Serve its "
            "code once, or add it; d.schedules.list() shows those that there are"
        )


class ActRefused(DibsError):
    """What somebody wanted to do to a job, or to the whole fleet, cannot be done as that stands."""

    def __init__(self, name: str, *, asked: str, why: str) -> None:
        self.name, self.asked, self.why = name, asked, why
        of = repr(name) if name else "the fleet"
        look = f"d.schedules.get({name!r})" if name else "d.frozen()"
        super().__init__(f"cannot {asked} {of}: {why}. {look} shows how it stands")


class NoFence(DibsError):
    """The lease, or the run of a job, has no fence to send along: it does not come from the store that counts them."""

    def __init__(self, name: str, *, by: str, what: str = "lease") -> None:
        self.name, self.by = name, by
        super().__init__(
            f"the {what} {'on' if what == 'lease' else 'of'} {name!r} has no fence: by {by} it does not come from the "
            "store that counts them, and any other number could outrank the true holder's. Look at "
            f"{what}.policy first, and write without a fence only if you dare to"
        )


class StaleFence(DibsError):
    """A write came too late: a newer holder has written to the resource since."""

    def __init__(self, name: str, *, fence: int, newest: int | None) -> None:
        self.name, self.fence, self.newest = name, fence, newest
        since = "no row was met with that fence or a lower one" if newest is None else f"{newest} has written since"
        super().__init__(
            f"a write to {name!r} with fence {fence} was refused: {since}. Another holder took over: roll back, drop "
            "what you were about to write, and take the lock again if the work is still to be done"
        )


class StoreUnreachable(DibsError):
    """Nobody knows who has the lock: the store is silent or refuses to answer.

    `is_outage` says which: a store that is silent may be done without, as `on_outage` says; one that answered no is to
    be mended, and others may well be at work under its locks.
    """

    def __init__(
        self,
        server: str,
        *,
        after: float,
        why: str = "no answer",
        fix: str = "check that it runs and can be reached",
        is_outage: bool = True,
    ) -> None:
        self.server, self.after, self.why, self.fix, self.is_outage = server, after, why, fix, is_outage
        super().__init__(f"no word from {server} after {spoken(after)} ({why}); {fix}")

    def lasting(self, after: float) -> Self:
        """The same, after all the time that it was borne."""
        after = max(after, self.after)
        return type(self)(self.server, after=after, why=self.why, fix=self.fix, is_outage=self.is_outage)


class StoreRefused(StoreUnreachable):
    """The store surely did not do what it was asked, and can be asked again: it has just started, say."""

    @classmethod
    def hung_up(cls, server: str) -> Self:
        """We had closed the line ourselves."""
        fix = "make another client with dibs.connect()"
        return cls(server, after=0.0, why="the line was hung up", fix=fix, is_outage=False)

    @classmethod
    def unconnected(cls, server: str, *, after: float) -> Self:
        """There was no line to ask on."""
        return cls(server, after=after, why="no connection was had in time")

    @classmethod
    def without_threads(cls, server: str, error: RuntimeError) -> Self:
        """The line needs a thread, and the system gives us no more."""
        return cls(server, after=0.0, why=str(error), fix="let this program have more threads", is_outage=False)
