"""Several servers of our own, some of which can be taken away for a while."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.servers.kinds import Kind
from tests.servers.ports import HOST
from tests.servers.proxy import Proxy
from tests.servers.server import Server


def url_of(ports: Sequence[int]) -> str:
    return "redlock://" + ",".join(f"{HOST}:{port}" for port in ports)


class Quorum:
    """Five servers, each behind a proxy: so they can be stopped, or cut off without a word."""

    def __init__(self, servers: Sequence[Server], proxies: Sequence[Proxy]) -> None:
        self.servers, self.proxies = servers, proxies

    @property
    def url(self) -> str:
        """Straight to the servers."""
        return url_of([server.port for server in self.servers])

    @property
    def proxied_url(self) -> str:
        return url_of([proxy.port for proxy in self.proxies])

    def url_for(self, how: str) -> str:
        return self.url if how == "stopped" else self.proxied_url

    def flush(self) -> None:
        for server in self.servers:
            server.flush()

    @contextmanager
    def without(self, count: int, how: str) -> Iterator[None]:
        """The last so many are stopped, or blackholed, until it is left."""
        try:
            for server, proxy in list(zip(self.servers, self.proxies, strict=True))[-count:]:
                if how == "stopped":
                    server.pause()
                else:
                    proxy.blackhole()
            yield
        finally:
            for server, proxy in list(zip(self.servers, self.proxies, strict=True))[-count:]:
                if how == "stopped":
                    server.resume()
                else:
                    proxy.resume()

    def keys(self) -> list[set[str]]:
        """What is left on each of them, apart from what they count and note."""
        return [
            {key for key in server.ask("KEYS", "*") if "~" not in key or "}~" in key} - NOTED for server in self.servers
        ]


NOTED = {f"{{dibs:~fence}}~{side}" for side in ("jobs", "due", "names", "entries", "ends", "registers", "lapses")}


@contextmanager
def quorum_of(kind: Kind, *lines: str) -> Iterator[Quorum]:
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(kind, *lines)) for _ in range(5)]
        yield Quorum(servers, [stack.enter_context(Proxy(server.port)) for server in servers])
