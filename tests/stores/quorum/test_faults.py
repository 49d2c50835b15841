"""Five real servers, some of which are stopped or cut off: the others decide, and at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from statistics import median
from time import perf_counter

import pytest

import dibs
from dibs.errors import LockBusy, StoreUnreachable
from dibs.stores.quorum.council import NODE_PATIENCE
from tests.chaos.moments import IN_TIME, so
from tests.servers.quorums import Quorum

HOW = ["stopped", "blackholed"]
CYCLES = 60


def _by_threads(client: dibs.Dibs) -> list[float]:
    took = list[float]()
    for number in range(CYCLES):
        began = perf_counter()
        with client.lock(f"a{number % 3}"):
            pass
        took.append(perf_counter() - began)
    return took


def _by_tasks(client: dibs.Dibs) -> list[float]:
    async def cycles() -> list[float]:
        took = list[float]()
        for number in range(CYCLES):
            began = perf_counter()
            async with client.lock(f"a{number % 3}"):
                pass
            took.append(perf_counter() - began)
        return took

    return asyncio.run(cycles())


COLOURS = pytest.mark.parametrize("cycles", [_by_threads, _by_tasks], ids=["threads", "tasks"])
Cycles = Callable[[dibs.Dibs], list[float]]


@COLOURS
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("away", [1, 2])
def test_a_minority_that_does_not_answer_slows_nobody(five: Quorum, cycles: Cycles, away: int, how: str) -> None:
    with dibs.connect(five.url_for(how), quiet=True) as client:
        cycles(client)
        with five.without(away, how):
            took = cycles(client)
        assert median(took) < NODE_PATIENCE / 4, "who waits for those that are silent waits for longer"
        assert max(took) < 1
        assert so(lambda: not any(five.keys())).wait(10), five.keys()


@pytest.mark.parametrize("how", HOW)
def test_without_a_majority_nobody_knows_and_nothing_is_left_behind(five: Quorum, how: str) -> None:
    with dibs.connect(five.url_for(how), quiet=True) as client:
        with client.lock("a"):
            pass
        with five.without(3, how):
            for wait in (0.6, 0):
                began = perf_counter()
                with pytest.raises(StoreUnreachable, match=r"too few of its servers answer: 2 of 5, where 3 decide"):
                    client.lock("a", wait=wait).acquire()
                assert perf_counter() - began < (wait or 2.0) + IN_TIME
        assert so(lambda: not any(five.keys())).wait(10), five.keys()
        with client.lock("a", wait=5):
            pass


@pytest.mark.parametrize("how", HOW)
def test_a_task_is_told_in_time_that_nobody_knows(five: Quorum, how: str) -> None:
    async def scene() -> None:
        async with dibs.connect(five.url_for(how), quiet=True) as client:
            async with client.lock("a"):
                pass
            with five.without(3, how):
                began = perf_counter()
                with pytest.raises(StoreUnreachable):
                    await client.lock("a", wait=0.6).aacquire()
                assert perf_counter() - began < 0.6 + IN_TIME
            assert await asyncio.to_thread(so(lambda: not any(five.keys())).wait, 10), five.keys()
            async with client.lock("a", wait=5):
                pass

    asyncio.run(scene())


def test_a_lease_is_kept_while_a_majority_keeps_it_and_lost_when_it_does_not(five: Quorum) -> None:
    with dibs.connect(five.url, quiet=True) as client:
        _by_threads(client)
        lease = client.lock("a", ttl=0.6).acquire()
        with five.without(2, "stopped"):
            with pytest.raises(LockBusy):
                client.lock("a", wait=1.5).acquire()
            lease.extend()
        five.servers[0].flush()
        assert so(lambda: lease.lost).wait(5)


def test_a_waiter_is_woken_by_the_others_when_one_is_away(five: Quorum) -> None:
    async def scene() -> None:
        async with dibs.connect(five.url, quiet=True) as client:
            async with client.lock("a"):
                pass
            with five.without(2, "stopped"):
                lease = await client.lock("a").aacquire()
                waiter = asyncio.create_task(client.lock("a", wait=10).aacquire())
                assert await asyncio.to_thread(so(lambda: bool(client.inspect("a").waiters)).wait, 5)
                began = perf_counter()
                await lease.arelease()
                theirs = await waiter
                assert perf_counter() - began < 0.5
                assert theirs.fence > lease.fence
                await theirs.arelease()

    asyncio.run(scene())
