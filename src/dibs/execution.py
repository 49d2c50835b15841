"""Work that is executed under a lock, or left out, in one call."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Never, TypeVar, Unpack, overload

from dibs.admission import Admission, Manner
from dibs.errors import ConfigError
from dibs.events import CalledUnlocked
from dibs.family import RLock
from dibs.locked import Locked, finished
from dibs.model.function import Function, guard_fault, is_async
from dibs.options import request, yes_or_no

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable, Coroutine
    from itertools import count

    from dibs.options import JobOptions
    from dibs.skipped import Skipped

T = TypeVar("T")


class Execution(Locked):
    """What a client does for one call of a function."""

    _calls_unlocked: count[int]
    """Numbers the calls that had no lock, for whichever thread comes first to tell of it."""

    @overload
    def execute_with_lock(
        self,
        name: str,
        fn: Callable[[], Coroutine[Any, Any, Any]],
        *,
        reentrant: bool = False,
        **options: Unpack[JobOptions],
    ) -> Never: ...
    @overload
    def execute_with_lock(
        self, name: str, fn: Callable[[], T], *, reentrant: bool = False, **options: Unpack[JobOptions]
    ) -> T | Skipped: ...
    def execute_with_lock(
        self, name: str, fn: Callable[[], Any], *, reentrant: bool = False, **options: Unpack[JobOptions]
    ) -> Any:
        """Call it under the lock and give its value, or `Skipped` if somebody else has it. It waits only if told to.

        With `reentrant`, the same thread or task may do so again inside of it: the lock is then as `d.rlock` takes it.
        """
        _refuse_unfit(name, fn)
        if is_async(fn):
            raise ConfigError(f"{Function.of(fn)} is async: await aexecute_with_lock({name!r}, ...) instead")
        with self._way_in(name, fn, options, reentrant=reentrant) as skipped:
            return finished(fn()) if skipped is None else skipped

    @overload
    async def aexecute_with_lock(
        self,
        name: str,
        fn: Callable[[], Coroutine[Any, Any, T]],
        *,
        reentrant: bool = False,
        **options: Unpack[JobOptions],
    ) -> T | Skipped: ...
    @overload  # for a Future, not for all that can be awaited: mypy could not tell that from a Coroutine
    async def aexecute_with_lock(
        self, name: str, fn: Callable[[], Future[T]], *, reentrant: bool = False, **options: Unpack[JobOptions]
    ) -> T | Skipped: ...
    @overload
    async def aexecute_with_lock(
        self, name: str, fn: Callable[[], T], *, reentrant: bool = False, **options: Unpack[JobOptions]
    ) -> T | Skipped: ...
    async def aexecute_with_lock(
        self, name: str, fn: Callable[[], Any], *, reentrant: bool = False, **options: Unpack[JobOptions]
    ) -> Any:
        """Call it under the lock and give its value, or `Skipped` if somebody else has it. It waits only if told to.

        With `reentrant`, the same thread or task may do so again inside of it: the lock is then as `d.rlock` takes it.
        """
        _refuse_unfit(name, fn)
        async with self._way_in(name, fn, options, reentrant=reentrant) as skipped:
            return await _awaited(fn()) if skipped is None else skipped

    def _way_in(
        self, name: str, fn: Callable[..., Any], options: JobOptions, *, reentrant: object
    ) -> Admission | nullcontext[None]:
        """Into the lock; or past it, if workflows are configured to do without. What is said is checked in any case."""
        function, manner = Function.of(fn).name, Manner("skip", skips_outage=self._on_outage(options) == "skip")
        said: JobOptions = {"ttl": self.config.workflow_ttl, "wait": self.config.workflow_wait, **options}
        is_reentrant = yes_or_no("reentrant", reentrant)
        lock = self._rlock(name, manner.applied(said)) if is_reentrant else self._lock(name, manner.applied(said))
        if self.config.workflow_enabled:
            return Admission(self._engine, lock, manner=manner, function=function)
        if next(self._calls_unlocked) == 0:
            self._engine.tell(CalledUnlocked(name, function))
        return nullcontext()

    def _rlock(self, name: str, options: JobOptions) -> RLock:
        wish = request(name, options, ttl=self.config.ttl, may_skip=True)
        return RLock(self._engine, replace(wish, is_counted=True), options.get("on_lost"))


def _refuse_unfit(name: str, fn: object) -> None:
    """Refuse what cannot be called under a lock; a class can: what is made of it is its value."""
    if not isinstance(fn, type) and (fault := guard_fault(fn)):
        raise ConfigError(f"{fn!r} cannot be called under {name!r}: it {fault}")


async def _awaited(result: Any) -> Any:
    return await result if isawaitable(result) else result
