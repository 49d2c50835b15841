"""Both colours of a client behind one face, so that a scene is written once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack

from dibs.client import Dibs
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from dibs.events import Event
    from dibs.lease import Lease
    from dibs.lock import Guard
    from dibs.model.views import LockView
    from dibs.options import LockOptions, TryOptions
    from dibs.ports.wire import Backend
    from dibs.together import Leases

T = TypeVar("T")
LeaseT = TypeVar("LeaseT", bound="Lease | Leases | None")

LONG = 20.0
"""How long a scene may take to get somewhere before its test fails."""


class Diary:
    """An observer that remembers all events and can be waited on."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = threading.Condition()

    def on(self, event: Event, /) -> None:
        """Write it down."""
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def of(self, kind: type[T]) -> list[T]:
        """All events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def wait_for(self, kind: type[T], times: int) -> list[T]:
        """Sleep until so many of a kind have happened."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.of(kind)) >= times, LONG):
                raise AssertionError(f"waited in vain for {times} times {kind.__name__}; there were {self.events}")
        return self.of(kind)


class Started(Protocol):
    """A scene that was started beside another."""

    async def finish(self) -> None:
        """Wait for its end, and raise what it raised."""
        ...


class Face(Protocol):
    """What a scene can do, in either colour."""

    client: Dibs
    diary: Diary

    def play(self, scene: Coroutine[Any, Any, None]) -> None:
        """Run a whole scene."""
        ...

    def start(self, scene: Coroutine[Any, Any, None]) -> Started:
        """Run a scene beside this one: a thread, or a task."""
        ...

    async def acquire(self, name: str, **options: Unpack[LockOptions]) -> Lease:
        """Take a lock."""
        ...

    async def try_acquire(self, name: str, **options: Unpack[TryOptions]) -> Lease | None:
        """Take a lock if nobody has it."""
        ...

    async def take(self, guard: Guard[LeaseT, Any]) -> LeaseT:
        """Take whatever it is a guard of."""
        ...

    async def release(self, lease: Lease | Leases) -> None:
        """Give it back."""
        ...

    async def extend(self, lease: Lease) -> None:
        """Ask for a whole TTL more."""
        ...

    async def inspect(self, name: str) -> LockView:
        """Look at a lock."""
        ...

    async def locks(self, prefix: str = "", *, limit: int = 1_000) -> Sequence[LockView]:
        """Look at all that are in use."""
        ...

    async def force_release(self, name: str, *, fence: int) -> bool:
        """Take a lock from its holder."""
        ...

    async def seen(self, kind: type[T], times: int = 1) -> list[T]:
        """Wait until so many events of a kind have happened."""
        ...

    async def happened(self, event: threading.Event) -> None:
        """Wait until somebody sets it."""
        ...


class BlockingFace:
    """The face for threads. Its methods never suspend, as the blocking world's never do."""

    def __init__(self, backend: Backend, *, namespace: str = "contract") -> None:
        self.diary = Diary()
        self.client = Dibs(backend, namespace=namespace, observers=[self.diary])

    def play(self, scene: Coroutine[Any, Any, None]) -> None:
        with self.client:
            run(scene)

    def start(self, scene: Coroutine[Any, Any, None]) -> _Thread:
        return _Thread(scene)

    async def acquire(self, name: str, **options: Unpack[LockOptions]) -> Lease:
        return self.client.lock(name, **options).acquire()

    async def try_acquire(self, name: str, **options: Unpack[TryOptions]) -> Lease | None:
        return self.client.try_lock(name, **options).acquire()

    async def take(self, guard: Guard[LeaseT, Any]) -> LeaseT:
        return guard.acquire()

    async def release(self, lease: Lease | Leases) -> None:
        lease.release()

    async def extend(self, lease: Lease) -> None:
        lease.extend()

    async def inspect(self, name: str) -> LockView:
        return self.client.inspect(name)

    async def locks(self, prefix: str = "", *, limit: int = 1_000) -> Sequence[LockView]:
        return self.client.locks(prefix, limit=limit)

    async def force_release(self, name: str, *, fence: int) -> bool:
        return self.client.force_release(name, fence=fence, reason="contract")

    async def seen(self, kind: type[T], times: int = 1) -> list[T]:
        return self.diary.wait_for(kind, times)

    async def happened(self, event: threading.Event) -> None:
        _expect(event.wait(LONG))


class AsyncFace:
    """The face for tasks."""

    def __init__(self, backend: Backend, *, namespace: str = "contract") -> None:
        self.diary = Diary()
        self.client = Dibs(backend, namespace=namespace, observers=[self.diary])

    def play(self, scene: Coroutine[Any, Any, None]) -> None:
        async def whole() -> None:
            async with self.client:
                await scene

        asyncio.run(whole())

    def start(self, scene: Coroutine[Any, Any, None]) -> _Task:
        return _Task(scene)

    async def acquire(self, name: str, **options: Unpack[LockOptions]) -> Lease:
        return await self.client.lock(name, **options).aacquire()

    async def try_acquire(self, name: str, **options: Unpack[TryOptions]) -> Lease | None:
        return await self.client.try_lock(name, **options).aacquire()

    async def take(self, guard: Guard[LeaseT, Any]) -> LeaseT:
        return await guard.aacquire()

    async def release(self, lease: Lease | Leases) -> None:
        await lease.arelease()

    async def extend(self, lease: Lease) -> None:
        await lease.aextend()

    async def inspect(self, name: str) -> LockView:
        return await self.client.ainspect(name)

    async def locks(self, prefix: str = "", *, limit: int = 1_000) -> Sequence[LockView]:
        return await self.client.alocks(prefix, limit=limit)

    async def force_release(self, name: str, *, fence: int) -> bool:
        return await self.client.aforce_release(name, fence=fence, reason="contract")

    async def seen(self, kind: type[T], times: int = 1) -> list[T]:
        return await asyncio.to_thread(self.diary.wait_for, kind, times)

    async def happened(self, event: threading.Event) -> None:
        _expect(await asyncio.to_thread(event.wait, LONG))


class _Thread:
    def __init__(self, scene: Coroutine[Any, Any, None]) -> None:
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._play, args=(scene,), daemon=True)
        self._thread.start()

    async def finish(self) -> None:
        self._thread.join(LONG)
        _expect(not self._thread.is_alive())
        if self._error is not None:
            raise self._error

    def _play(self, scene: Coroutine[Any, Any, None]) -> None:
        try:
            run(scene)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._error = error


class _Task:
    def __init__(self, scene: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.create_task(scene)

    async def finish(self) -> None:
        async with asyncio.timeout(LONG):
            await self._task


def _expect(in_time: bool) -> None:  # noqa: FBT001 - it is the answer of a wait
    if not in_time:
        raise AssertionError("waited in vain")
