"""A pytest plugin: real servers for whoever asks, one of each kind for a whole worker, or new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.servers.certificate import NO_OPENSSL, Certificate, make
from tests.servers.cluster import Cluster
from tests.servers.kinds import KINDS, VALKEY_9, Kind
from tests.servers.patience import until
from tests.servers.ports import Port
from tests.servers.proxy import Proxy
from tests.servers.quorums import Quorum, quorum_of
from tests.servers.sentinels import House
from tests.servers.server import Server
from tests.servers.skew import Skewed, at_true_time, environment, shim_in

on_valkey_9 = pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)
"""For a test that the kind of server cannot matter to, or that costs too much to be run on each."""


FIRST = next((kind for kind in KINDS if kind.program() is not None), VALKEY_9)
"""The kind that `make test` makes do with; on the others the same is tried by `make check`."""


@pytest.fixture(
    params=[pytest.param(kind, marks=() if kind is FIRST else pytest.mark.thorough) for kind in KINDS], ids=str
)
def server_kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind in turn; a test that wants some of them parametrizes it, with `indirect`."""
    return there(request.param)


def there(kind: Kind) -> Kind:
    """The same, if this machine has it; else the test is skipped."""
    if kind.program() is None:
        pytest.skip(kind.missing)
    return kind


@pytest.fixture(scope="session")
def shared_servers() -> Iterator[Callable[[Kind], Server]]:
    """One of each kind, started when it is first asked for."""
    with ExitStack() as servers:
        yield cache(lambda kind: servers.enter_context(Server(kind)))


@pytest.fixture
def server(shared_servers: Callable[[Kind], Server], server_kind: Kind) -> Server:
    """An empty one, which others use after us: it may be written to, but not be stopped or configured."""
    server = shared_servers(server_kind)
    server.flush()
    return server


@pytest.fixture
def server_url(server: Server) -> str:
    return server.url


@pytest.fixture
def start_server(server_kind: Kind) -> Iterator[Callable[..., Server]]:
    """Start a new one, with the options of `Server`; it is removed after the test."""
    with ExitStack() as servers:

        def start(*lines: str, **options: Any) -> Server:
            return servers.enter_context(Server(server_kind, *lines, **options))

        yield start


@pytest.fixture
def private_server(start_server: Callable[..., Server]) -> Server:
    """A new one, to be paused, killed and configured at will."""
    return start_server()


@pytest.fixture(scope="session")
def shared_house() -> Iterator[House]:
    """A master, its replicas and its sentinels, which others use after us."""
    with House(there(VALKEY_9)) as house:
        yield house


@pytest.fixture
def start_house(server_kind: Kind) -> Iterator[Callable[..., House]]:
    """Start a new one, with the options of `House`; it is removed after the test."""
    with ExitStack() as houses:

        def start(*lines: str, **options: Any) -> House:
            return houses.enter_context(House(server_kind, *lines, **options))

        yield start


@pytest.fixture
def house(start_house: Callable[..., House]) -> House:
    """A new one, to be failed over, cut off and killed at will."""
    return start_house()


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[Cluster]:
    """Three masters and three replicas, which others use after us."""
    with Cluster(there(VALKEY_9)) as cluster:
        yield cluster


@pytest.fixture
def cluster(server_kind: Kind) -> Iterator[Cluster]:
    """New ones, to be failed over, killed and resharded at will."""
    with Cluster(server_kind) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def cluster_of_one() -> Iterator[Server]:
    """A server that is all of a cluster; and ready, which takes it some seconds."""
    bus = Port()  # which it would otherwise look for far above its own, where somebody may be
    with Server(there(VALKEY_9), "cluster-enabled yes", f"cluster-port {bus.number}") as server:
        server.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        until(lambda: "cluster_state:ok" in server.ask("CLUSTER", "INFO"))
        yield server
    bus.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    certificate = make(tmp_path_factory.mktemp("certificate"))
    if certificate is None:
        pytest.skip(NO_OPENSSL)
    return certificate


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    """In front of the shared server."""
    with Proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def tls_proxy(server: Server, certificate: Certificate) -> Iterator[Proxy]:
    """In front of the shared server, for clients that speak TLS."""
    with Proxy(server.port, certificate=certificate) as proxy:
        yield proxy


@pytest.fixture
def tls_url(tls_proxy: Proxy) -> str:
    return tls_proxy.url


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What lets a program's clock be set."""
    return shim_in(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def skewed(start_server: Callable[..., Server], shim: Path, tmp_path: Path) -> Skewed:
    """A new one, whose clock can be set."""
    file = at_true_time(tmp_path)
    return Skewed(start_server(env=environment(shim, file)), file)


@pytest.fixture(scope="session")
def shared_quorum() -> Iterator[Quorum]:
    """Five servers that know nothing of each other, which others use after us."""
    with quorum_of(there(FIRST)) as quorum:
        yield quorum


@pytest.fixture
def five(shared_quorum: Quorum) -> Quorum:
    """The same, empty: whoever stops some of them has them go on."""
    shared_quorum.flush()
    return shared_quorum
