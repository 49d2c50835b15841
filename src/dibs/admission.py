"""How one call gets into its lock, or is skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from dibs.errors import ConfigError, LockBusy
from dibs.events import CallAdmitted, CallSkipped
from dibs.flows.retrying import insist
from dibs.model.duration import Duration, seconds
from dibs.model.value import value
from dibs.runtime.blocking import run
from dibs.skipped import Skipped

if TYPE_CHECKING:
    from types import TracebackType

    from dibs.errors import StoreUnreachable
    from dibs.family import RLock
    from dibs.lease import Lease
    from dibs.lock import Lock
    from dibs.options import JobOptions
    from dibs.runtime.engine import Engine

OnConflict: TypeAlias = Literal["raise", "skip"]

RETRY_DELAY = 0.1
DOING = "call a locked function"


@value
class Manner:
    """What one does who cannot have the lock: tries again so many times, then raises or leaves the work out."""

    on_conflict: OnConflict
    retries: int = 0
    delay: float = RETRY_DELAY
    skips_outage: bool = False

    @property
    def is_skipping(self) -> bool:
        """Whether the work is left out where somebody else has the lock."""
        return self.on_conflict == "skip"

    @classmethod
    def of(cls, on_conflict: object, retries: object, delay: Duration, *, on_outage: object) -> Manner:
        """What was said, checked."""
        if on_conflict not in ("raise", "skip"):
            raise ConfigError(f"on_conflict={on_conflict!r}: say 'raise' or 'skip'")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise ConfigError(f"retries={retries!r}: say how many times to try again, 0 for not at all")
        try:
            pause = seconds(delay)
        except ValueError as fault:
            raise ConfigError(f"retry_delay: {fault}") from None
        if on_conflict == "skip":
            return cls("skip", retries, pause, skips_outage=on_outage == "skip")
        return cls("raise", retries, pause)

    def applied(self, options: JobOptions) -> JobOptions:
        """The lock's keywords with what follows from this: a lock alone would not be skipped, so it is to be told."""
        return {**options, "on_outage": "skip"} if self.skips_outage else options


class Admission:
    """The way of one call into its lock, and out again."""

    _is_inside = False
    lease: Lease
    """What we are inside with."""

    def __init__(self, engine: Engine, lock: Lock | RLock, *, manner: Manner, function: str) -> None:
        self._engine, self._lock, self._manner, self._function = engine, lock, manner, function

    def __enter__(self) -> Skipped | None:
        world, manner = self._engine.blocking(DOING), self._manner
        return self._came(run(insist(world, self._enter, retries=manner.retries, delay=manner.delay)))

    async def __aenter__(self) -> Skipped | None:
        world, manner = self._engine.aio(DOING), self._manner
        return self._came(await insist(world, self._aenter, retries=manner.retries, delay=manner.delay))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_inside:
            self._lock.__exit__(kind, error, trace)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_inside:
            await self._lock.__aexit__(kind, error, trace)

    async def _enter(self) -> None:
        self.lease = self._lock.__enter__()

    async def _aenter(self) -> None:
        self.lease = await self._lock.__aenter__()

    def _came(self, outcome: int | LockBusy | StoreUnreachable) -> Skipped | None:
        """Inside, or to be skipped; whether a function ran here is told of those that may be skipped."""
        if isinstance(outcome, int):
            self._is_inside = True
            if self._manner.is_skipping and self._engine.desk.is_heard:
                self._engine.tell(CallAdmitted(self._lock.name, self._function, outcome))
            return None
        if not self._manner.is_skipping:
            raise outcome
        if isinstance(outcome, LockBusy):
            return self._skipped(Skipped.because(outcome))
        if not self._manner.skips_outage:
            raise outcome
        return self._skipped(Skipped(self._lock.name, "outage"))

    def _skipped(self, skipped: Skipped) -> Skipped:
        self._engine.tell(CallSkipped(skipped.name, self._function, skipped.why, skipped.holder or ""))
        return skipped
