"""Locks that are taken and given back by their key."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dibs import ConfigError, Dibs, LeaseLost, StoreUnreachable
from dibs.events import Abandoned, Acquired, Lost, Released, ReleasedNothing
from dibs.keyed import FEW, NOT_OURS, OVER
from dibs.observe.logs import LogReader
from dibs.ports.wire import Backend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage
from tests.chaos.children import ended_well, in_a_fork

SHORT = 0.1
"""The shortest TTL there is: trusted for nine tenths of it."""


@pytest.fixture
def d(anywhere: Dibs) -> Dibs:
    return anywhere


def blocking(d: Dibs, verb: str, *args: Any) -> Any:
    return getattr(d, verb)(*args)


def awaited(d: Dibs, verb: str, *args: Any) -> Any:
    async def main() -> Any:
        return await getattr(d, f"a{verb}")(*args)

    return asyncio.run(main())


@pytest.fixture(params=[blocking, awaited])
def one(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[blocking, awaited])
def other(request: pytest.FixtureRequest) -> Any:
    return request.param


Verb = Callable[..., Any]


def test_a_lock_is_taken_seen_and_given_back_by_its_key_in_any_colours(d: Dibs, one: Verb, other: Verb) -> None:
    assert not other(d, "is_locked", "cron:x")
    lease = one(d, "acquire_lock", "cron:x", 300)
    assert lease.ttl == 300
    assert other(d, "is_locked", "cron:x")
    assert other(d, "acquire_lock", "cron:x", 300) is None
    assert other(d, "release_lock", "cron:x")
    assert not one(d, "is_locked", "cron:x")
    assert lease.remaining == 0
    assert not lease.lost


def test_a_lease_stays_though_its_taker_drops_it(d: Dibs, one: Verb, diary: Diary) -> None:
    one(d, "acquire_lock", "cron:x", 300)
    gc.collect()
    assert d.try_lock("cron:x").acquire() is None
    assert not diary.of(Abandoned)
    assert d.release_lock("cron:x")


def test_it_is_not_renewed_and_then_another_may_have_it(d: Dibs, one: Verb, diary: Diary) -> None:
    lease = one(d, "acquire_lock", "cron:x", SHORT)
    [lost] = diary.wait_for(Lost, 1)
    assert "not to be renewed" in lost.reason
    assert lease.lost
    d.lock("cron:x", wait=10).acquire().release()
    assert not diary.of(Abandoned)


def test_a_time_that_is_over_as_planned_is_no_error_in_the_log(
    backend: Backend, diary: Diary, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "dibs"), Dibs(backend, observers=[LogReader(), diary]) as d:
        lease = d.acquire_lock("cron:x", SHORT)
        assert lease is not None
        diary.wait_for(Lost, 1)
        planned = f"'cron:x' (fence {lease.fence}) ran out as planned: its TTL is over and it was not to be renewed"
    assert caplog.record_tuples == [("dibs", logging.INFO, planned)]


def test_what_was_never_taken_is_not_released_but_told(d: Dibs, one: Verb, diary: Diary) -> None:
    assert not one(d, "release_lock", "cron:x")
    assert diary.events == [ReleasedNothing("cron:x", NOT_OURS)]


def test_another_s_lock_is_not_released(d: Dibs, one: Verb, diary: Diary) -> None:
    theirs = d.lock("cron:x").acquire()
    assert one(d, "acquire_lock", "cron:x", 300) is None
    assert not one(d, "release_lock", "cron:x")
    theirs.ensure()
    assert diary.of(ReleasedNothing) == [ReleasedNothing("cron:x", NOT_OURS)]
    theirs.release()


def test_a_lock_that_somebody_else_has_meanwhile_is_left_alone(d: Dibs, one: Verb, diary: Diary) -> None:
    one(d, "acquire_lock", "cron:x", SHORT)
    theirs = d.lock("cron:x", wait=10).acquire()
    assert not one(d, "release_lock", "cron:x")
    assert diary.of(ReleasedNothing) == [ReleasedNothing("cron:x", OVER)]
    theirs.ensure()
    assert d.is_locked("cron:x")
    theirs.release()


def test_a_lease_that_was_released_by_hand_is_nothing_to_release(d: Dibs, one: Verb, diary: Diary) -> None:
    one(d, "acquire_lock", "cron:x", 300).release()
    assert not one(d, "release_lock", "cron:x")
    assert diary.of(ReleasedNothing) == [ReleasedNothing("cron:x", OVER)]
    assert len(diary.of(Released)) == 1


def test_a_lock_that_was_taken_by_force_is_nothing_to_release(d: Dibs, one: Verb, diary: Diary) -> None:
    lease = one(d, "acquire_lock", "cron:x", 300)
    assert d.force_release("cron:x", fence=lease.fence)
    assert not one(d, "release_lock", "cron:x")
    assert diary.of(ReleasedNothing) == [ReleasedNothing("cron:x", OVER)]
    with pytest.raises(LeaseLost):
        lease.ensure()


def test_a_key_may_be_taken_again_and_again(d: Dibs, one: Verb) -> None:
    fences = []
    for _ in range(3):
        fences.append(one(d, "acquire_lock", "cron:x", 300).fence)
        assert one(d, "release_lock", "cron:x")
    assert fences == sorted(set(fences))


def test_of_many_threads_one_takes_it_and_one_gives_it_back(d: Dibs) -> None:
    together = threading.Barrier(8)

    def take(_: int) -> bool:
        together.wait(10)
        return d.acquire_lock("cron:x", 300) is not None

    def give_back(_: int) -> bool:
        together.wait(10)
        return d.release_lock("cron:x")

    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            assert sum(pool.map(take, range(8))) == 1
            assert sum(pool.map(give_back, range(8))) == 1


def test_leases_that_are_over_are_forgotten_before_they_are_many(d: Dibs, diary: Diary) -> None:
    book = d._book()
    for number in range(FEW):
        assert d.acquire_lock(f"short:{number}", SHORT)
    diary.wait_for(Lost, FEW)
    for number in range(FEW - 1):
        assert d.acquire_lock(f"long:{number}", 300)
    assert sorted(book._leases) == sorted(f"long:{number}" for number in range(FEW - 1))
    assert all(d.release_lock(f"long:{number}") for number in range(FEW - 1))
    assert not book._leases
    assert len(diary.of(Acquired)) == 2 * FEW - 1


def test_leases_that_are_many_are_all_remembered(d: Dibs) -> None:
    for number in range(3 * FEW):
        assert d.acquire_lock(f"long:{number}", 300)
    gc.collect()
    assert len(d.locks()) == 3 * FEW
    assert all(d.release_lock(f"long:{number}") for number in range(3 * FEW))


@pytest.mark.parametrize("key", ["", " a", "a\n", 5])
def test_a_wrong_key_is_named(d: Dibs, one: Verb, key: Any) -> None:
    for verb, args in (("acquire_lock", (5,)), ("release_lock", ()), ("is_locked", ())):
        with pytest.raises(ConfigError) as refused:
            one(d, verb, key, *args)
        assert repr(key) in str(refused.value)


def test_a_wrong_ttl_is_named(d: Dibs, one: Verb) -> None:
    with pytest.raises(ConfigError, match="ttl=0 is out of range"):
        one(d, "acquire_lock", "cron:x", 0)


def test_a_release_that_is_not_heard_is_made_up_for(outage: Outage, diary: Diary) -> None:
    with Dibs(outage, observers=[diary]) as d:
        d.acquire_lock("cron:x", 300)
        outage.trouble = "refused"
        with pytest.raises(StoreUnreachable):
            d.release_lock("cron:x")
        outage.trouble = "none"
        d.lock("cron:x", wait=10).acquire().release()
        assert not d.release_lock("cron:x")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_cannot_give_back_what_its_parent_took(d: Dibs) -> None:
    d.acquire_lock("cron:x", 300)

    def child() -> None:
        assert not d.release_lock("cron:x")
        d._engine.close()

    assert ended_well(in_a_fork(child))
    assert d.is_locked("cron:x")
    assert d.release_lock("cron:x")


WORKER = """
import sys, dibs
d = dibs.connect(sys.argv[1], quiet=True)
for line in sys.stdin:
    verb, *args = line.split()
    print(bool(getattr(d, verb)("cron:x", *map(float, args))), flush=True)
"""


class Server:
    """Another process, which does as it is told."""

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def says(self, words: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def test_of_two_servers_one_runs_the_job_and_only_it_releases(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/dibs.sqlite"
    one, other = Server(url), Server(url)
    with one.process, other.process:
        assert one.says("acquire_lock 300") == "True"
        assert other.says("acquire_lock 300") == "False"
        assert other.says("is_locked") == "True"
        assert other.says("release_lock") == "False"
        assert one.says("is_locked") == "True"
        assert one.says("release_lock") == "True"
        assert other.says("acquire_lock 300") == "True"
        assert one.says("acquire_lock 300") == "False"
        for server in (one, other):
            server.process.communicate(timeout=30)
