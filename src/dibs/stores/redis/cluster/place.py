"""Which cluster is meant, and who we are to its servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dibs.errors import ConfigError
from dibs.stores.redis.endpoint import Endpoint
from dibs.stores.redis.hosts import address_of, options_of

PORT = 6379
FORM = "redis+cluster://[user:password@]host[:port],host[:port]"

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """Some of its servers: the others are found by their word."""

    seeds: Sequence[Address]
    tls: bool
    options: Mapping[str, Any] = field(repr=False)
    retry_interval: float | None = None

    @property
    def shown(self) -> str:
        """As people may see it: without passwords."""
        places = ",".join(f"{host}:{port}" for host, port in self.seeds)
        return f"{'rediss' if self.tls else 'redis'}+cluster://{places}"

    def at(self, address: Address) -> Endpoint:
        """One of its servers."""
        host, port = address
        where = {**self.options, "host": host, "port": port}
        return Endpoint(where, server=self.shown, tls=self.tls, retry_interval=self.retry_interval)


def place_of(url: str, retry_interval: float | None = None) -> Place:
    """The cluster that a URL names; nothing is opened for that."""
    scheme, _, rest = url.partition("://")
    tls = scheme.lower() in {"rediss+cluster", "valkeys+cluster"}
    said, mark, more = rest.partition("?")
    login, at, hosts = said.rpartition("@")
    if not hosts.rstrip("/") or hosts.rstrip("/").count("/") or hosts.endswith("//"):
        raise ConfigError(f"that URL names no cluster: write {FORM}, and no database, as a cluster has but one")
    options = options_of(f"{'rediss' if tls else 'redis'}://{login}{at}localhost/{mark}{more}", FORM)
    seeds = [address_of(each, PORT, FORM) for each in hosts.rstrip("/").split(",")]
    found = Place(seeds, tls, options, retry_interval)
    found.at(seeds[0]).refuse_unknown()
    return found
