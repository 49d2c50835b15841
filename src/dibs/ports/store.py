"""How a backend takes part: it builds commands and runs none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.errors import ConfigError
    from dibs.model.asks import (
        Acquire,
        AcquireAnswer,
        AllAnswer,
        EvictAnswer,
        KeepAlive,
        KeepAnswer,
        Leave,
        LeaveAnswer,
        Recalled,
        Renew,
    )
    from dibs.model.counts import Count
    from dibs.model.sheet import Change, Entry, Line, Look, Question
    from dibs.model.views import LockView

T_co = TypeVar("T_co", covariant=True)


@value
class Command(Generic[T_co]):
    """One question for a store: what to send, how to read the answer, and which of its servers to ask."""

    words: Sequence[Any]
    read: Callable[[Any], T_co]
    node: int = 0


@value
class Reply:
    """What came back over a wire, with the store's own time where the answer tells it."""

    value: Any
    at: float | None = None


class ServerStore(Protocol):
    """How one backend words the questions about itself."""

    def time(self) -> Command[float]:
        """What the store's clock says."""
        ...

    def checkup(self) -> Command[Sequence[str]]:
        """Whatever of its setup may cost locks, each with what to do about it."""
        ...


class LockStore(Protocol):
    """How one backend words the questions about locks."""

    def acquire(self, name: str, ask: Acquire) -> Command[AcquireAnswer]:
        """Take the lock or a ticket for it."""
        ...

    def acquire_all(self, asks: Sequence[tuple[str, Acquire]]) -> Command[AllAnswer]:
        """Take all of these locks in one step, and wait for none; or none, and hear which is the first to hinder it."""
        ...

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        """Keep leases and tickets, many in one call; an answer for each, in their order."""
        ...

    def leave(self, name: str, ask: Leave) -> Command[LeaveAnswer]:
        """Give up a ticket or a lease."""
        ...

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        """Take the lock from its holder, if that one still has this fence."""
        ...

    def inspect(self, name: str) -> Command[LockView]:
        """The lock as it stands, also if it is free."""
        ...

    def held(self, prefix: str, limit: int) -> Command[Sequence[LockView]]:
        """The locks that are held or waited for, by name."""
        ...


@runtime_checkable
class PartedStore(Protocol):
    """A store in parts that do not know each other: what is kept in one call must be in one of them."""

    def part_of(self, name: str) -> int:
        """The part that has this lock."""
        ...


@runtime_checkable
class VotingStore(Protocol):
    """A store none of whose servers decides alone: it has locks one by one, and nothing that takes one step of one."""

    def refusal(self, what: str) -> ConfigError:
        """Why it has no such thing, and which store does."""
        ...


@runtime_checkable
class UnorderedStore(Protocol):
    """A store that hands no lock over: whoever asks first has it, however long others have waited."""

    head_start: float
    """How long one that had the lock, and wants it again, leaves it to those who wait."""


@runtime_checkable
class ChoosyStore(Protocol):
    """A store that keeps some sheets alone, and cannot tell which are due: these go by themselves when they are."""

    def keeps(self, sheet: str) -> bool:
        """Whether it has sheets of such a name."""
        ...


class RecordStore(Protocol):
    """How one backend words the questions about what a fleet remembers beside its locks."""

    def recall(self, name: str) -> Command[Recalled]:
        """What was last noted of the work done under this lock, while that is still to be remembered."""
        ...

    def count(self, counts: Sequence[Count]) -> Command[object]:
        """Add to what the fleet has counted. Names beyond the first thousand are counted as others."""
        ...

    def counted(self) -> Command[Sequence[Count]]:
        """All that the fleet has counted."""
        ...


class JobStore(Protocol):
    """How one backend words the questions about jobs, of which it keeps sheets and a history."""

    def due(self, skip: int, limit: int, by: float | None = None) -> Command[Look]:
        """The sheets that somebody has to look at by now, or by another moment, those that waited longest first."""
        ...

    def sheets(self, names: Sequence[str]) -> Command[Look]:
        """The sheets of these jobs, as far as there are any."""
        ...

    def amend(self, changes: Sequence[Change]) -> Command[Sequence[int]]:
        """Change sheets, each for itself: its new revision, or 0 if it was not done."""
        ...

    def named(self, prefix: str, after: str, limit: int) -> Command[Look]:
        """The sheets whose names begin so and come after this one, by name (by code point)."""
        ...

    def note(self, name: str, entries: Sequence[Entry], keep: int, keep_for: float) -> Command[object]:
        """Add to a history without a sheet; so many are kept, and none for longer than this."""
        ...

    def lines(self, question: Question) -> Command[Sequence[Line]]:
        """What was noted, as far as it is asked for."""
        ...


class Store(ServerStore, LockStore, RecordStore, JobStore, Protocol):
    """All that a backend can be asked."""
