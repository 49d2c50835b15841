"""Programs that share a lock, or hold several, and are killed: what they had comes back, and no more than that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dibs
from dibs.runtime.clock import boottime
from dibs.stores.redis import open_store
from tests.chaos.permits import hold_a_permit, read_or_write, take_several
from tests.chaos.stage import Actor, Stage
from tests.client.crews import Asyncio, take_subsets
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.server import Server

TTL = 1.0
LATE = 1.0
"""How long after its TTL a dead holder's place may be without a new one."""


everywhere = pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("sqlite", "blocking"),
        ("valkey", "asyncio"),
        pytest.param("sqlite", "asyncio", marks=pytest.mark.thorough),
        pytest.param("valkey", "blocking", marks=pytest.mark.thorough),
    ],
    indirect=["place"],
)


@pytest.fixture
def place(request: pytest.FixtureRequest, url: str, shared_servers: Callable[[Kind], Server]) -> str:
    """A store that several processes share."""
    if request.param == "sqlite":
        return url
    server = shared_servers(there(VALKEY_9))
    server.flush()
    return server.url


def is_in_time(waiter: Actor, killed_at: float) -> None:
    """The waiter has got in within TTL and a second of the death of another."""
    *_, entered_at = waiter.hear("in")
    assert entered_at - killed_at <= TTL + LATE


def leave(*actors: Actor) -> None:
    for actor in actors:
        actor.tell("release")
        actor.hear("out")
        actor.ends()


@everywhere
def test_the_permit_of_a_killed_holder_is_back_when_its_ttl_is_over(stage: Stage, place: str, kind: str) -> None:
    stays, dies = (stage.start(hold_a_permit, kind, place, 2, TTL) for _ in range(2))
    fences = [actor.hear("in")[0] for actor in (stays, dies)]
    waiter = stage.start(hold_a_permit, kind, place, 2, 30)
    waiter.hear("waits")
    dies.kill()
    is_in_time(waiter, boottime())
    with dibs.connect(place, quiet=True) as d:
        held = [held.fence for held in d.inspect("gpu").holders]
        assert held[0] == fences[0], "the other holder has kept its permit all the while"
        assert len(held) == 2
        assert fences[1] not in held
        leave(stays, waiter)
        assert not list(d.locks())


@everywhere
def test_a_writer_who_waits_is_in_when_the_ttl_of_a_killed_reader_is_over(stage: Stage, place: str, kind: str) -> None:
    leaves, dies = (stage.start(read_or_write, kind, place, "read", TTL) for _ in range(2))
    for reader in (leaves, dies):
        reader.hear("in")
    writer = stage.start(read_or_write, kind, place, "write", 30)
    writer.hear("waits")
    dies.kill()
    killed_at = boottime()
    leave(leaves)
    is_in_time(writer, killed_at)
    leave(writer)


@everywhere
def test_a_killed_writer_who_waits_does_not_stop_readers_for_longer_than_its_ttl(
    stage: Stage, place: str, kind: str
) -> None:
    first = stage.start(read_or_write, kind, place, "read", 30)
    first.hear("in")
    writer = stage.start(read_or_write, kind, place, "write", TTL)
    writer.hear("waits")
    second = stage.start(read_or_write, kind, place, "read", 30)
    second.hear("waits")
    writer.kill()
    is_in_time(second, boottime())
    leave(first, second)


@everywhere
def test_all_locks_of_a_killed_holder_are_free_when_their_ttl_is_over(stage: Stage, place: str, kind: str) -> None:
    holder = stage.start(take_several, kind, place, ["a", "b", "c"], TTL)
    holder.hear("in")
    waiter = stage.start(take_several, kind, place, ["c", "b"], 30)
    waiter.hear("waits")
    holder.kill()
    is_in_time(waiter, boottime())
    leave(waiter)
    with dibs.connect(place, quiet=True) as d:
        assert not list(d.locks())


@pytest.mark.thorough
def test_ten_thousand_subsets_on_a_server_never_overlap(shared_servers: Callable[[Kind], Server]) -> None:
    server = shared_servers(there(VALKEY_9))
    server.flush()
    take_subsets(Asyncio(), open_store(server.url), rounds=10_000)
