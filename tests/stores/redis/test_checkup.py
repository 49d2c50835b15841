"""What a server says of its setup, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dibs
from dibs.events import StoreRisky
from dibs.stores.redis.checkup import findings
from dibs.testing.contract.faces import Diary
from tests.chaos.moments import LONG
from tests.servers.server import Server
from tests.stores.redis.faults.party import renewed

WELL = b"# Server\r\nredis_version:7.2.4\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\nrole:master"


def test_of_a_server_that_is_set_up_well_there_is_nothing_to_say() -> None:
    assert findings(WELL) == []
    assert findings(WELL.decode()) == []
    assert findings(b"") == []


@pytest.mark.parametrize(
    ("was", "instead", "says"),
    [
        (b"maxmemory:0", b"maxmemory:1000", "set maxmemory-policy to noeviction (it is allkeys-lru)"),
        (b"aof_enabled:1", b"aof_enabled:0", "set appendonly to yes"),
        (b"role:master", b"role:slave", "name its master"),
        (b"redis_version:7.2.4", b"redis_version:5.0.14", "5.0.14 is old: use 6.2 or newer"),
    ],
)
def test_what_may_cost_locks_is_told_with_its_fix(was: bytes, instead: bytes, says: str) -> None:
    [found] = findings(WELL.replace(was, instead))
    assert says in found


def test_the_version_of_valkey_counts_and_not_the_one_it_goes_by() -> None:
    assert findings(b"redis_version:5.0.0\r\nvalkey_version:9.0.0") == []


@pytest.mark.parametrize("more", ["", "?protocol=2"])
def test_it_is_told_once_when_the_first_lock_is_taken(start_server: Callable[..., Server], more: str) -> None:
    server, diary = start_server("maxmemory 100mb", "maxmemory-policy allkeys-lru"), Diary()
    with dibs.connect(server.url + more, observers=[diary], quiet=True) as d:
        for name in ("a", "b"):
            with d.lock(name):
                pass
        [risky] = diary.wait_for(StoreRisky, 1)
        assert risky.server == d._engine.backend.server
        assert len(risky.findings) == 2
        assert "noeviction" in risky.findings[0]
    assert len(diary.of(StoreRisky)) == 1


def test_a_server_with_nothing_to_say_against_it_is_not_told_of(start_server: Callable[..., Server]) -> None:
    server, diary = start_server("appendonly yes"), Diary()
    with dibs.connect(server.url, observers=[diary], quiet=True) as d, d.lock("a", ttl=0.6) as lease:
        assert renewed(lease).wait(LONG)  # what was asked at the start was answered before
    assert not diary.of(StoreRisky)
