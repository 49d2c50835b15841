"""How each store says it: one room a backend, chosen by the scheme of its URL."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from dibs.errors import ConfigError

if TYPE_CHECKING:
    from dibs.ports.wire import Backend, OwnClient

EMBEDDED = "sqlite://"
"""This machine's own file: what is taken where nobody names a store."""

_REDIS, _QUORUM = "dibs.stores.redis", "dibs.stores.quorum"
_REPLICAS = "min_replicas="
_ROOMS = {
    "memory": "dibs.stores.memory",
    "sqlite": "dibs.stores.sqlite",
    "valkey+embedded": "dibs.stores.embedded",
    **dict.fromkeys(("redlock", "redlocks"), _QUORUM),
    **dict.fromkeys(("redis", "rediss", "valkey", "valkeys", "unix"), _REDIS),
    **dict.fromkeys((f"{name}+sentinel" for name in ("redis", "rediss", "valkey", "valkeys")), f"{_REDIS}.sentinel"),
    **dict.fromkeys((f"{name}+cluster" for name in ("redis", "rediss", "valkey", "valkeys")), f"{_REDIS}.cluster"),
}


def open_client(client: OwnClient, *, retry_interval: float | None = None, min_replicas: int = 0) -> Backend:
    """The server that a redis-py client of the caller's talks to; it keeps its connections for itself."""
    options = {"retry_interval": retry_interval, "min_replicas": min_replicas}
    return cast("Backend", import_module(_REDIS).open_client(client, **options))


def open_store(url: str, *, retry_interval: float | None = None, min_replicas: int = 0) -> Backend:
    """The backend that a URL names. Its room is imported only now.

    The interval is for a server that must be connected to, and may be away; replicas are for one that has any, and its
    URL may say how many as well, which counts more.
    """
    scheme, separator, _ = url.partition("://")
    room = _ROOMS.get(scheme.lower())
    if not separator or room is None:
        known = ", ".join(f"{name}://" for name in sorted(_ROOMS))
        # Of an unknown URL only the scheme is repeated: the rest may hold a password.
        fault = f"no store goes by {scheme}://" if separator else "that is no URL of a store"
        raise ConfigError(f"{fault}; use one of {known}")
    if not room.startswith(_REDIS) and min_replicas:
        raise ConfigError(f"{scheme}:// has no replicas to wait for: leave min_replicas out, or name a server")
    options: dict[str, object] = {"retry_interval": retry_interval} if room.startswith((_REDIS, _QUORUM)) else {}
    if room.startswith(_REDIS):
        url, said = _said_of_replicas(url)
        options["min_replicas"] = min_replicas if said is None else said
    return cast("Backend", import_module(room).open_store(url, **options))


def _said_of_replicas(url: str) -> tuple[str, int | None]:
    """A server's URL without it, and how many replicas it says."""
    place, mark, options = url.partition("?")
    words = options.split("&") if mark else []
    said = [word.partition("=")[2] for word in words if word.startswith(_REPLICAS)]
    if not said:
        return url, None
    if len(said) > 1 or not said[0].isdecimal():
        raise ConfigError("min_replicas in that URL: give a whole number, 0 for none")
    left = "&".join(word for word in words if not word.startswith(_REPLICAS))
    return f"{place}?{left}" if left else place, int(said[0])
