"""How each store says it: one room a backend, chosen by the scheme of its URL."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from dibs.errors import ConfigError

if TYPE_CHECKING:
    from dibs.ports.wire import Backend, OwnClient

EMBEDDED = "sqlite://"
"""This machine's own file: what is taken where nobody names a store."""

_REDIS = "dibs.stores.redis"
_ROOMS = {
    "memory": "dibs.stores.memory",
    "sqlite": "dibs.stores.sqlite",
    "valkey+embedded": "dibs.stores.embedded",
    **dict.fromkeys(("redis", "rediss", "valkey", "valkeys", "unix"), _REDIS),
}


def open_client(client: OwnClient, *, retry_interval: float | None = None) -> Backend:
    """The server that a redis-py client of the caller's talks to; it keeps its connections for itself."""
    return cast("Backend", import_module(_REDIS).open_client(client, retry_interval=retry_interval))


def open_store(url: str, *, retry_interval: float | None = None) -> Backend:
    """The backend that a URL names. Its room is imported only now.

    The interval is for a server that must be connected to, and may be away.
    """
    scheme, separator, _ = url.partition("://")
    room = _ROOMS.get(scheme.lower())
    if not separator or room is None:
        known = ", ".join(f"{name}://" for name in sorted(_ROOMS))
        # Of an unknown URL only the scheme is repeated: the rest may hold a password.
        fault = f"no store goes by {scheme}://" if separator else "that is no URL of a store"
        raise ConfigError(f"{fault}; use one of {known}")
    options = {"retry_interval": retry_interval} if room == _REDIS else {}
    return cast("Backend", import_module(room).open_store(url, **options))
