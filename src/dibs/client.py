"""The front door: `dibs.connect()` and the client it gives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self, Unpack

from dibs.errors import ChangedHands, ConfigError
from dibs.events import ChoseEmbedded
from dibs.flows import overseeing
from dibs.lock import Lock, TryLock
from dibs.model.asks import Said
from dibs.model.names import namespace_fault
from dibs.observe.logs import LogReader
from dibs.options import LockOptions, TryOptions, checked_name, checked_text, request, try_request
from dibs.runtime.blocking import run
from dibs.runtime.engine import Engine
from dibs.stores import open_client, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from dibs.events import Observer
    from dibs.model.asks import EvictAnswer
    from dibs.model.guarantee import Guarantee
    from dibs.model.views import LockView
    from dibs.ports.wire import Backend, OwnClient

NAMESPACE = "dibs"
EMBEDDED = "sqlite://"
MOST_LISTED = 1_000


def connect(
    url: str | OwnClient | None = None,
    *,
    namespace: str = NAMESPACE,
    observers: Sequence[Observer] = (),
    quiet: bool = False,
) -> Dibs:
    """A client of the store at `url`, else at `DIBS_URL`, `REDIS_URL` or `REDIS_HOST`, else of this machine's own.

    Nothing is opened until used. Instead of a URL it may be a redis-py client of yours, blocking or asyncio.
    Keys are `namespace:name`. Events go to the `dibs` logger, unless `quiet`, and to the `observers`.
    `DIBS_REQUIRE_SHARED=1` refuses a store that other machines do not share.
    """
    chosen = _chosen(url)
    if chosen is None:
        backend = open_store(EMBEDDED)
    else:
        backend = open_store(chosen) if isinstance(chosen, str) else open_client(chosen)
    _refuse_island(backend, is_default=chosen is None)
    told = tuple(observers) if quiet else (LogReader(), *observers)
    client = Dibs(backend, namespace=namespace, observers=told)
    if chosen is None and backend.server not in _told_of:
        _told_of.add(backend.server)
        for observer in told:
            observer.on(ChoseEmbedded(backend.server))
    return client


_told_of: set[str] = set()
"""Embedded stores that were chosen unasked: of each, a process tells once."""


class Dibs:
    """A client: locks by name on one store. Threads and event loops may share it."""

    def __init__(self, backend: Backend, *, namespace: str = NAMESPACE, observers: Sequence[Observer] = ()) -> None:
        if fault := namespace_fault(namespace):
            raise ConfigError(f"namespace={namespace!r}: {fault}")
        self.namespace = namespace
        self._engine = Engine(backend, namespace=namespace, observers=tuple(observers))

    @property
    def guarantee(self) -> Guarantee:
        """What this store promises, and what it rests on."""
        return self._engine.backend.guarantee

    def lock(self, name: str, **options: Unpack[LockOptions]) -> Lock:
        """A lock to wait for: `with d.lock("report:daily", ttl="30s") as lease`, or `async with`."""
        return Lock(self._engine, request(name, options), options.get("on_lost"))

    def try_lock(self, name: str, **options: Unpack[TryOptions]) -> TryLock:
        """A lock not to wait for: its block is entered with `None` if somebody else has it."""
        return TryLock(self._engine, try_request(name, options), options.get("on_lost"))

    def inspect(self, name: str) -> LockView:
        """Who holds the lock, since when, what for, and who waits; also if it is free."""
        world = self._engine.blocking("inspect a lock")
        return run(overseeing.inspect(world, self._engine.desk, checked_name(name)))

    async def ainspect(self, name: str) -> LockView:
        """Who holds the lock, since when, what for, and who waits; also if it is free."""
        world = self._engine.aio("inspect a lock")
        return await overseeing.inspect(world, self._engine.desk, checked_name(name))

    def locks(self, prefix: str = "", *, limit: int = MOST_LISTED) -> Sequence[LockView]:
        """The locks of this namespace that are held or waited for, by name."""
        world = self._engine.blocking("list locks")
        return run(overseeing.held(world, self._engine.desk, prefix=prefix, limit=_checked_limit(limit)))

    async def alocks(self, prefix: str = "", *, limit: int = MOST_LISTED) -> Sequence[LockView]:
        """The locks of this namespace that are held or waited for, by name."""
        world = self._engine.aio("list locks")
        return await overseeing.held(world, self._engine.desk, prefix=prefix, limit=_checked_limit(limit))

    def force_release(self, name: str, *, fence: int, reason: str = "") -> bool:
        """Take the lock from the holder seen with this fence; false if it is free, `ChangedHands` if another has it."""
        world = self._engine.blocking("release a lock by force")
        fence, reason = _checked_fence(fence), checked_text("reason", reason)
        flow = overseeing.evict(world, self._engine.desk, checked_name(name), fence=fence, reason=reason)
        return _evicted(run(flow), name, fence)

    async def aforce_release(self, name: str, *, fence: int, reason: str = "") -> bool:
        """Take the lock from the holder seen with this fence; false if it is free, `ChangedHands` if another has it."""
        world = self._engine.aio("release a lock by force")
        fence, reason = _checked_fence(fence), checked_text("reason", reason)
        flow = overseeing.evict(world, self._engine.desk, checked_name(name), fence=fence, reason=reason)
        return _evicted(await flow, name, fence)

    def close(self) -> None:
        """Hang up. Leases still in use are lost now and free when their TTL is over."""
        self._engine.close()

    async def aclose(self) -> None:
        """Hang up. Leases still in use are lost now and free when their TTL is over."""
        from asyncio import to_thread  # noqa: PLC0415 - see Engine.aio

        await to_thread(self._engine.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<Dibs {self._engine.backend.server} namespace={self.namespace!r}>"


def _chosen(url: str | OwnClient | None) -> str | OwnClient | None:
    if url is None:
        return os.environ.get("DIBS_URL") or os.environ.get("REDIS_URL") or _from_parts() or None
    if url == "":
        raise ConfigError("url='': name a store, as in 'memory://', or leave it out for DIBS_URL or the embedded one")
    if not isinstance(url, str) and not hasattr(url, "connection_pool"):
        raise ConfigError(f"a store is named by a URL or a redis.Redis of one server, not by {type(url).__name__}")
    return url


def _from_parts() -> str:
    """The URL of a Redis that is named in pieces, as many programs have it in their environment."""
    host = os.environ.get("REDIS_HOST", "")
    if not host:
        return ""
    from urllib.parse import quote  # noqa: PLC0415 - needed by few, and brings in a lot

    secret = quote(os.environ.get("REDIS_PASSWORD", ""), safe="")
    login = f"{quote(os.environ.get('REDIS_USERNAME', ''), safe='')}:{secret}@" if secret else ""
    return f"redis://{login}{host}:{os.environ.get('REDIS_PORT') or 6379}/{os.environ.get('REDIS_DB') or 0}"


def _refuse_island(backend: Backend, *, is_default: bool) -> None:
    """Three machines that each lock in a store of their own exclude nobody: who says so is told."""
    wish = os.environ.get("DIBS_REQUIRE_SHARED", "")
    if wish.lower() in {"", "0", "false", "no", "off"} or backend.guarantee.across_machines:
        return
    if wish.lower() not in {"1", "true", "yes", "on"}:
        raise ConfigError(f"DIBS_REQUIRE_SHARED={wish!r}: say 1 or 0")
    chosen = "no store was named, and the default is" if is_default else "the store is"
    raise ConfigError(
        f"{chosen} {backend.server}, which other machines do not share, but DIBS_REQUIRE_SHARED is set: "
        "name one that they do with DIBS_URL"
    )


def _evicted(answer: EvictAnswer, name: str, fence: int) -> bool:
    if answer is Said.CHANGED:
        raise ChangedHands(name, fence=fence)
    return answer is Said.EVICTED


def _checked_fence(fence: object) -> int:
    if isinstance(fence, bool) or not isinstance(fence, int) or fence < 0:
        raise ConfigError(f"fence={fence!r}: name the fence that you saw, as inspect() shows it")
    return fence


def _checked_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ConfigError(f"limit={limit!r}: at least one")
    return limit
