"""The client: all that can be asked of one store, by subject, and its own life."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Unpack

from dibs.adoption import Adoption
from dibs.closing import Closing
from dibs.config import ARGUMENT, Config
from dibs.config.backend import local_store
from dibs.control.freezing import Freezing
from dibs.errors import ConfigError
from dibs.execution import Execution
from dibs.family import LockFamily
from dibs.keyed import Keyed
from dibs.leadership import Leadership
from dibs.lock import Lock, TryLock
from dibs.model.names import namespace_fault
from dibs.once import Remembering
from dibs.options import LockOptions, TryOptions, request, try_request
from dibs.oversight import Oversight
from dibs.questions.queries import Queries
from dibs.runtime.engine import Engine
from dibs.serving import Serving
from dibs.shadow import ShadowReport
from dibs.statistics import Statistics
from dibs.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.events import Observer
    from dibs.model.guarantee import Guarantee
    from dibs.ports.wire import Backend


class Dibs(
    LockFamily,
    Remembering,
    Execution,
    Keyed,
    Adoption,
    Leadership,
    Workers,
    Serving,
    Freezing,
    ShadowReport,
    Statistics,
    Oversight,
    Queries,
    Closing,
):
    """A client: locks by name on one store. Threads and event loops may share it."""

    def __init__(
        self,
        backend: Backend,
        *,
        namespace: str | None = None,
        observers: Sequence[Observer] = (),
        config: Config | None = None,
    ) -> None:
        config = config or Config()
        if namespace is None:
            namespace = config.namespace
        if fault := namespace_fault(namespace):
            raise ConfigError(f"namespace={namespace!r}: {fault}")
        self.namespace = namespace
        self.config = config if config.namespace == namespace else config.but(ARGUMENT, {"namespace": namespace})
        self._constants, self._remembered, self._calls_unlocked = {}, {}, count()
        self._engine = Engine(backend, namespace=namespace, observers=tuple(observers), patience=config.patience)
        local = partial(local_store, self.config)
        self._engine.take_detours(config.on_outage, enabled=config.enabled, mode=config.mode, local=local)
        if config.alert_after_refusals and observers:
            self._watch_refusals(config.alert_after_refusals)

    def _watch_refusals(self, after: int) -> None:
        from dibs.observe.refusals import Refusals  # noqa: PLC0415 - only who asked for it pays for it

        self._engine.attend(Refusals(after, self._engine.tell))

    @property
    def guarantee(self) -> Guarantee:
        """What this store promises, and what it rests on."""
        return self._engine.backend.guarantee

    def lock(self, name: str, **options: Unpack[LockOptions]) -> Lock:
        """A lock to wait for: `with d.lock("report:daily", ttl="30s") as lease`, or `async with`."""
        return Lock(self._engine, request(name, options, ttl=self.config.ttl), options.get("on_lost"))

    def try_lock(self, name: str, **options: Unpack[TryOptions]) -> TryLock:
        """A lock not to wait for: its block is entered with `None` if somebody else has it."""
        return TryLock(self._engine, try_request(name, options, ttl=self.config.ttl), options.get("on_lost"))

    def close(self) -> None:
        """Hang up. Leases still in use are lost now and free when their TTL is over."""
        self._engine.close()

    async def aclose(self) -> None:
        """Hang up. Leases still in use are lost now and free when their TTL is over."""
        await self._engine.aclose()

    def __repr__(self) -> str:
        return f"<Dibs {self._engine.backend.server} namespace={self.namespace!r}>"
