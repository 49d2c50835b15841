"""With `enabled=False` everybody gets every lock at once, and no store is opened."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import dibs
from dibs import Dibs, LeaseLost
from dibs.config import Config
from dibs.events import Acquired, LockingDisabled
from dibs.runtime.clock import boottime
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage
from tests.client.visits import Visit, by_thread, in_both_colours


@pytest.fixture
def d(outage: Outage, diary: Diary) -> Iterator[Dibs]:
    """A client without locks, of a store that nobody must ask."""
    outage.trouble = "asks lost"
    with Dibs(outage, config=Config(enabled=False), observers=[diary]) as client:
        yield client
    assert outage.asks == 0


@in_both_colours
def test_every_lock_is_had_at_once(d: Dibs, visit: Visit) -> None:
    began_at = boottime()
    for options in ({}, {"wait": 0}, {"wait": 60}, {"on_outage": "closed"}, {"on_outage": "open"}):
        seen = visit(d, "a", lambda lease: (lease.lost, lease.policy, lease.name), **dict[str, Any](options))
        assert seen == (False, None, "a")
    assert boottime() - began_at < 1


def test_nobody_is_excluded(d: Dibs) -> None:
    together = threading.Barrier(4)

    def work() -> None:
        with d.lock("a"):
            together.wait(10)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not together.broken


def test_one_may_even_be_inside_twice(d: Dibs) -> None:
    with d.lock("a") as outer, d.lock("a") as inner, d.try_lock("a") as tried:
        assert tried is not None
        assert outer.fence < inner.fence < tried.fence


@in_both_colours
def test_fences_come_from_the_clock_and_rise(d: Dibs, visit: Visit) -> None:
    before = int(time.time() * 1_000_000)
    fences = [visit(d, "a", lambda lease: lease.fence) for _ in range(100)]
    assert fences == sorted(set(fences))
    assert before <= fences[0] <= int(time.time() * 1_000_000) + 1


def test_fences_rise_also_while_the_clock_stands_still(d: Dibs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.runtime.detour.time", SimpleNamespace(time=lambda: 1_000.0))
    fences = [by_thread(d, "a", lambda lease: lease.fence) for _ in range(3)]
    assert fences == [1_000_000_000, 1_000_000_001, 1_000_000_002]


def test_threads_never_get_the_same_fence(d: Dibs) -> None:
    fences = list[int]()

    def work() -> None:
        fences.extend(by_thread(d, "a", lambda lease: lease.fence) for _ in range(500))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(fences)) == 2_000


def test_there_is_nothing_to_lose(d: Dibs) -> None:
    lease = d.lock("a", ttl=0.1, renew=False, max_hold=0.1).acquire()
    until = boottime() + 0.2
    while boottime() < until:
        lease.ensure()
    lease.extend()
    asyncio.run(lease.aextend())
    lease.release()
    lease.release()
    assert not lease.lost
    with pytest.raises(LeaseLost, match="released by this program"):
        lease.ensure()


def test_that_locking_is_off_is_told_once_and_not_with_every_lock(d: Dibs, diary: Diary) -> None:
    by_thread(d, "a", lambda lease: lease)
    assert diary.of(LockingDisabled) == [LockingDisabled("memory://")]
    assert not diary.of(Acquired)


def test_a_closed_client_gives_no_locks_all_the_same(d: Dibs) -> None:
    d.close()
    with pytest.raises(dibs.ClientClosed):
        d.lock("a").acquire()


def test_it_can_be_said_at_the_front_door() -> None:
    with dibs.connect("memory://off", enabled=False, quiet=True) as d, d.lock("a"), d.lock("a"):
        pass
    with dibs.connect("memory://on", quiet=True) as d, d.lock("a"), pytest.raises(dibs.SelfDeadlock):
        d.lock("a").acquire()
