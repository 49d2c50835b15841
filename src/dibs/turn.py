"""One call's turn at work that may be done already: how it gets to it, and what is remembered of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dibs.admission import Admission, Manner
from dibs.events import CallSkipped, Stumbled, WouldHaveSkipped
from dibs.flows.remembering import Claim, Place, arrive
from dibs.model.asks import Memo, Recalled
from dibs.model.note import Kind, Note
from dibs.model.request import A_MOMENT
from dibs.model.value import value
from dibs.model.window import Window
from dibs.runtime.blocking import new_token, run
from dibs.runtime.clock import boottime
from dibs.skipped import Skipped

if TYPE_CHECKING:
    from types import TracebackType

    from dibs.errors import StoreUnreachable
    from dibs.lock import Lock
    from dibs.ports.world import World
    from dibs.runtime.engine import Engine

T = TypeVar("T")

DOING = "call a function that is remembered"


class Errand(Protocol):
    """What is to be done, and what makes it needless."""

    @property
    def kind(self) -> Kind:
        """By what its notes are known."""
        ...

    @property
    def manner(self) -> Manner:
        """What one does who cannot have the lock."""
        ...

    def settled(self, seen: Recalled, before: Recalled | None) -> Note | None:
        """The note that makes it needless for one who saw that `before`, if anything."""
        ...

    def found(self, name: str, note: Note) -> Any:
        """What to give to one who need not do it."""
        ...

    def until(self, claimed_at: float, done_at: float) -> float:
        """How long to remember it."""
        ...

    def notes(self, note: Note) -> Sequence[Note]:
        """What to remember, and what else if that cannot be."""
        ...


@value
class Once:
    """Work for one a window."""

    manner: Manner
    windows: Window
    remember: bool
    kind: Kind = "once"

    def settled(self, seen: Recalled, before: Recalled | None) -> Note | None:
        """Somebody has done it: while that is remembered, the window lasts."""
        return Note.of("once", seen)

    def found(self, name: str, note: Note) -> Any:
        """The result, if it is remembered and wanted."""
        if self.remember and note.results:
            return note.results[0]
        return Skipped(name, "done", note.by, since=note.made_at)

    def until(self, claimed_at: float, done_at: float) -> float:
        """To the end of the window."""
        return self.windows.ends_at(claimed_at, done_at)

    def notes(self, note: Note) -> Sequence[Note]:
        """That it was done is remembered in any case."""
        bare = replace(note, results=())
        return (note, bare) if self.remember else (bare,)


@value
class Shared:
    """Work for one of those who come at the same time."""

    manner: Manner
    kept_for: float
    kind: Kind = "shared"

    def settled(self, seen: Recalled, before: Recalled | None) -> Note | None:
        """Somebody has done it since we came: another note is there than was before. No clock is asked."""
        note = Note.of("shared", seen)
        if note is None or before is None:
            return None
        known = Note.of("shared", before)
        return note if known is None or known.flight != note.flight else None

    def found(self, name: str, note: Note) -> Any:
        """The result of whoever did it."""
        return note.results[0]

    def until(self, claimed_at: float, done_at: float) -> float:
        """As long as those who wait may need to get it."""
        return done_at + self.kept_for

    def notes(self, note: Note) -> Sequence[Note]:
        """Without a result there is nothing to share."""
        return (note,)


@value
class Found:
    """What a call gives that does not run."""

    value: Any


class Turn:
    """The way of one call to its work, and out again."""

    _claim: Claim | None = None

    def __init__(self, engine: Engine, lock: Lock, errand: Errand, *, function: str, glance: Glance) -> None:
        self._engine, self._name, self._errand, self._function = engine, lock.name, errand, function
        self._admission = Admission(engine, lock, manner=errand.manner, function=function)
        self._glance = glance

    def __enter__(self) -> Found | None:
        door = _BlockingDoor(self._engine, self._name, self._admission, self._glance)
        return self._came(run(arrive(door, self._errand.settled)))

    async def __aenter__(self) -> Found | None:
        door = _AsyncDoor(self._engine, self._name, self._admission, self._glance)
        return self._came(await arrive(door, self._errand.settled))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._claim is not None:
            self._admission.__exit__(kind, error, trace)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._claim is not None:
            await self._admission.__aexit__(kind, error, trace)

    def noted(self, result: T) -> T:
        """The same result; that it was had will be remembered when the lock is given back."""
        if self._claim is not None and self._claim.sight is not None:
            until, text = self._errand.until(*self._claim.moments(boottime())), self._text(result)
            if text is not None:
                self._admission.lease.leave_behind(Memo(text, until))
        return result

    def _came(self, outcome: Claim | Note | Skipped) -> Found | None:
        if isinstance(outcome, Skipped):
            return Found(outcome)
        if isinstance(outcome, Claim):
            self._claim = outcome
            return None
        if self._engine.detours.is_shadow:  # it runs all the same
            self._engine.tell(WouldHaveSkipped(self._name, outcome.by))
            self._engine.detours.tally.note(self._name, "skipped")
            return None
        if self._errand.manner.is_skipping:
            self._engine.tell(CallSkipped(self._name, self._function, "done", outcome.by))
        return Found(self._errand.found(self._name, outcome))

    def _text(self, result: object) -> str | None:
        """What to remember. Whoever has a result that cannot be has done the work all the same: it is only told of."""
        note = Note(self._errand.kind, self._engine.desk.who, new_token(), (result,))
        for attempt in self._errand.notes(note):
            try:
                return attempt.text()
            except ValueError as fault:
                doing = f"remembering the result of {self._function} for {self._name!r}"
                self._engine.tell(Stumbled(doing, str(fault)))
        return None


@value
class Glance:
    """How to look before going in: for how long, and whether to go in all the same if nothing is to be seen."""

    wait: float | None
    is_needed: bool


class _Door(ABC):
    """What the doors of both colours have in common."""

    def __init__(self, engine: Engine, name: str, admission: Admission, glance: Glance) -> None:
        self.name, self._engine, self._admission, self._glance = name, engine, admission, glance

    def outside(self) -> Place | None:
        """Not while an outage is known that is to be done without."""
        detours = self._engine.detours
        if detours.is_disabled or (detours.outage.trouble is not None and self._may_do_without):
            return None
        return self._place(self._engine)

    def bears(self, silence: StoreUnreachable) -> bool:
        """Whoever may do without the lock finds out on the way in, and need not wait for the store once more."""
        if self._may_do_without and silence.is_outage:
            self._engine.detours.outage.begin(silence, boottime())
        return self._may_do_without

    def inside(self) -> Place | None:
        """At the store that has granted the lease, if one has."""
        detours, policy = self._engine.detours, self._admission.lease.policy
        if detours.is_disabled or detours.is_shadow or policy == "open":
            return None
        return self._place(detours.local if policy == "local" else self._engine)

    @property
    def _may_do_without(self) -> bool:
        return not self._glance.is_needed or self._engine.detours.is_shadow

    def _place(self, engine: Engine) -> Place:
        wait, patience = self._glance.wait, engine.desk.patience
        if self._engine.detours.is_shadow:
            wait = A_MOMENT
        return Place(self._world(engine), engine.desk, max(min(wait or patience, patience), A_MOMENT))

    @abstractmethod
    def _world(self, engine: Engine) -> World:
        """Where that engine is asked, in this colour."""


class _BlockingDoor(_Door):
    async def enter(self) -> Skipped | None:
        return self._admission.__enter__()

    async def leave(self, error: BaseException | None) -> None:
        self._admission.__exit__(None if error is None else type(error), error, None)

    def _world(self, engine: Engine) -> World:
        return engine.blocking(DOING)


class _AsyncDoor(_Door):
    async def enter(self) -> Skipped | None:
        return await self._admission.__aenter__()

    async def leave(self, error: BaseException | None) -> None:
        await self._admission.__aexit__(None if error is None else type(error), error, None)

    def _world(self, engine: Engine) -> World:
        return engine.aio(DOING)
