"""Which servers a URL names: redlock://[user:password@]host[:port][/db],host[:port],host[:port][?options]."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dibs.errors import ConfigError
from dibs.stores.redis.backend import INSTALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.redis.endpoint import Endpoint

FEWEST = 3
HOW = (
    "write redlock://[user:password@]host[:port][/db],host[:port],host[:port], with at least three different servers; "
    "what is said of the first holds for the others, too, unless they say otherwise"
)


def urls(url: str) -> Sequence[str]:
    """A URL for each of the servers."""
    scheme, _, rest = url.partition("://")
    places, question, options = rest.partition("?")
    of_one = "rediss" if scheme.lower() == "redlocks" else "redis"
    first_login, _, first_path = _pieces(places.partition(",")[0])
    found = list[str]()
    for place in places.split(","):
        login, address, path = _pieces(place.strip())
        if not address:
            raise ConfigError(f"that URL leaves out a server: {HOW}")
        found.append(f"{of_one}://{login or first_login}{address}{path or first_path}{question}{options}")
    return found


def endpoints(url: str, retry_interval: float | None = None) -> Sequence[Endpoint]:
    """The servers themselves."""
    try:
        import_module("hiredis")
        room = import_module("dibs.stores.redis.endpoint")
    except ImportError as error:
        raise ConfigError(f"redlock:// needs {error.name}: {INSTALL}") from error
    found: list[Endpoint] = [room.endpoint(each, retry_interval) for each in urls(url)]
    places = {endpoint.server for endpoint in found}
    if len(places) < len(found):
        raise ConfigError(f"that URL names a server twice: {HOW}")
    if len(found) < FEWEST:
        raise ConfigError(
            f"that URL names {len(found)} of them, and a majority of fewer than three outlasts none: {HOW}"
        )
    return found


def _pieces(place: str) -> tuple[str, str, str]:
    login, at, address = place.rpartition("@")
    address, slash, path = address.partition("/")
    return login + at, address, slash + path
