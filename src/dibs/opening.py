"""The front door: `dibs.connect()`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dibs.client import NAMESPACE, Dibs
from dibs.errors import ConfigError
from dibs.events import ChoseEmbedded
from dibs.observe.logs import LogReader
from dibs.stores import open_client, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.events import Observer
    from dibs.ports.wire import Backend, OwnClient

EMBEDDED = "sqlite://"


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
