"""Which service is meant, who knows where it is, and who we are to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dibs.errors import ConfigError
from dibs.stores.redis.endpoint import Endpoint
from dibs.stores.redis.hosts import address_of, options_of

PORT = 26379
"""Where a sentinel listens if nobody says otherwise."""
FORM = "redis+sentinel://[user:password@]host[:port],host[:port]/service[/db]"
_SENTINEL = "sentinel_"
_TO_BOTH = ("socket_", "ssl_")
"""What is said of the way to a server goes for the way to its sentinels, too; who we are to them does not."""


@dataclass(frozen=True, slots=True)
class Service:
    """A master by its name, and the sentinels to ask for it."""

    name: str
    sentinels: Sequence[tuple[str, int]]
    tls: bool
    options: Mapping[str, Any] = field(repr=False)
    """What a server is told when a connection is made."""
    to_sentinels: Mapping[str, Any] = field(repr=False)
    """What a sentinel is told."""

    @property
    def shown(self) -> str:
        """As people may see it: without passwords."""
        places = ",".join(f"{host}:{port}" for host, port in self.sentinels)
        database = f"/{self.options['db']}" if self.options.get("db") else ""
        return f"{'rediss' if self.tls else 'redis'}+sentinel://{places}/{self.name}{database}"

    def at(self, host: str, port: int, *, server: str, resp: int | None = None) -> Endpoint:
        """One of its servers, and how it is spoken to if that is known."""
        where = {"host": host, "port": port} | ({} if resp is None else {"protocol": resp})
        return Endpoint({**self.options, **where}, server=server, tls=self.tls)

    def sentinel(self, place: int) -> Endpoint:
        """One of those who watch it."""
        host, port = self.sentinels[place]
        server = f"the sentinel {host}:{port}"
        return Endpoint({**self.to_sentinels, "host": host, "port": port}, server=server, tls=self.tls)


def service_of(url: str) -> Service:
    """The service that a URL names; nothing is opened for that."""
    scheme, _, rest = url.partition("://")
    tls = scheme.lower() in {"rediss+sentinel", "valkeys+sentinel"}
    login, at, place = rest.partition("?")[0].rpartition("@")
    hosts, _, path = place.partition("/")
    name, _, database = path.partition("/")
    if not (hosts and name) or not (database or "0").isdecimal():
        raise ConfigError(f"that URL names no service of sentinels: write {FORM}")
    more = rest[len(rest.partition("?")[0]) :]
    said = options_of(f"{'rediss' if tls else 'redis'}://{login}{at}localhost/{database}{more}", FORM)
    apart = {word.removeprefix(_SENTINEL): said.pop(word) for word in list(said) if word.startswith(_SENTINEL)}
    shared = {word: value for word, value in said.items() if word.startswith(_TO_BOTH)}
    found = Service(name, [address_of(each, PORT, FORM) for each in hosts.split(",")], tls, said, {**shared, **apart})
    found.at("localhost", 0, server=found.shown).refuse_unknown()
    found.sentinel(0).refuse_unknown()
    return found
