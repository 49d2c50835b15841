"""The front door: `dibs.connect()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.client import Dibs
from dibs.config import DEFAULT
from dibs.config.backend import own_store
from dibs.config.resolution import resolved
from dibs.errors import ConfigError
from dibs.events import ChoseEmbedded, ConfigNotice
from dibs.observe.logs import LogReader
from dibs.stores import open_client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.config import Config, Mode
    from dibs.events import Event, Observer
    from dibs.model.duration import Duration
    from dibs.model.policy import OnOutageOfJob
    from dibs.ports.wire import Backend, OwnClient


def connect(  # noqa: PLR0913 - a front door names all that can be said at it
    url: str | OwnClient | None = None,
    *,
    namespace: str | None = None,
    ttl: Duration | None = None,
    min_replicas: int | None = None,
    on_outage: OnOutageOfJob | None = None,
    enabled: bool | None = None,
    mode: Mode | None = None,
    alert_after_refusals: int | None = None,
    observers: Sequence[Observer] = (),
    quiet: bool = False,
) -> Dibs:
    """A client of the store at `url`, else of the one that the environment or a file names, else of this machine's own.

    Nothing is opened until used. Instead of a URL it may be a redis-py client of yours, blocking or asyncio.
    Keys are `namespace:name`. Events go to the `dibs` logger, unless `quiet`, and to the `observers`.
    What is left out, the environment or a file may say (docs/configuration.md); `d.config` tells what holds, and why.
    """
    _refuse_nonsense(url)
    said = {"url": url, "namespace": namespace, "ttl": ttl, "on_outage": on_outage, "enabled": enabled, "mode": mode}
    said |= {"alert_after_refusals": alert_after_refusals, "min_replicas": min_replicas}
    config, notices = resolved(said)
    backend = _backend(url, config)
    _refuse_island(backend, config)
    told = tuple(observers) if quiet else (LogReader(), *observers)
    client = Dibs(backend, observers=told, config=config)
    if notices:
        _tell_once(ConfigNotice(notices), told)
    if config.source("url") == DEFAULT:
        _tell_once(ChoseEmbedded(backend.server), told)
    return client


_told: set[Event] = set()
"""What a process tells but once, however many clients it makes."""


def _tell_once(event: Event, observers: Sequence[Observer]) -> None:
    if event not in _told:
        _told.add(event)
        for observer in observers:
            observer.on(event)


def _refuse_nonsense(url: object) -> None:
    if url == "":
        raise ConfigError("url='': name a store, as in 'memory://', or leave it out for DIBS_URL or the embedded one")
    if not (url is None or isinstance(url, str) or hasattr(url, "connection_pool")):
        raise ConfigError(f"a store is named by a URL or a redis.Redis of one server, not by {type(url).__name__}")


def _backend(url: str | OwnClient | None, config: Config) -> Backend:
    if not (url is None or isinstance(url, str)):
        return open_client(url, retry_interval=config.retry_interval, min_replicas=config.min_replicas)
    return own_store(config)


def _refuse_island(backend: Backend, config: Config) -> None:
    """Three machines that each lock in a store of their own exclude nobody: who says so is told."""
    if not config.require_shared or backend.guarantee.across_machines:
        return
    is_default = config.source("url") == DEFAULT
    chosen = "no store was named, and the default is" if is_default else "the store is"
    raise ConfigError(
        f"{chosen} {backend.server}, which other machines do not share, but require_shared is set "
        f"({config.source('require_shared')}): name one that they do with DIBS_URL"
    )
