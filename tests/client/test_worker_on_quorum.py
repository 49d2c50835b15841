"""Workers by turns where a majority of several servers decides: with all of them, without some, without too many."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import pytest

import dibs
from dibs import Attempt, Dibs
from dibs.errors import StoreUnreachable
from dibs.model.quorum import majority
from dibs.stores.quorum import open_store
from dibs.testing.contract import Diary
from tests.chaos.moments import IN_TIME, so
from tests.chaos.stage import Stage
from tests.client import test_worker as anywhere
from tests.client.hands import Way
from tests.client.test_worker import dies_and_is_taken_over_from, lives_and_is_not_overtaken, outcomes
from tests.servers.quorums import Quorum, url_of
from tests.servers.server import Server

REGISTERS = "{dibs:~fence}~registers"
PATIENCE = 2.0


@contextmanager
def away(five: Quorum, count: int, how: str) -> Iterator[None]:
    """The last so many are stopped, or end and are started anew with nothing, when it is left."""
    if how == "stopped":
        with five.without(count, how):
            yield
        return
    gone = five.servers[-count:]
    for server in gone:
        server.kill()
    try:
        yield
    finally:
        for server in gone:
            server.restart(empty=True)


@pytest.fixture(params=[3, pytest.param(5, marks=pytest.mark.thorough)])
def size(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture(params=["there", "stopped", "killed"])
def url(five: Quorum, size: int, request: pytest.FixtureRequest) -> Iterator[str]:
    """All of them are there, or as many are not as they can do without."""
    place = url_of([server.port for server in five.servers[-size:]])
    if request.param == "there":
        yield place
        return
    with dibs.connect(place, quiet=True) as d:  # or nobody could tell whether they were emptied
        _work(d, "before")
    with away(five, size - majority(size), request.param):
        yield place


def _work(d: Dibs, key: str) -> None:
    for attempt in d.worker(key, lock_timeout=0.5).attempts():
        attempt.done()


class TestByAMajority(anywhere.TestOnEveryStore):
    """All that workers do on any store."""


def test_a_killed_worker_is_taken_over_from_when_its_lock_times_out(url: str) -> None:
    with Stage() as stage:
        dies_and_is_taken_over_from(stage, url)


def test_a_slow_one_that_lives_is_not_overtaken(url: str, diary: Diary, way: Way) -> None:
    lives_and_is_not_overtaken(open_store(url), diary, way, lock_timeout=0.3)


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_servers_may_go_while_an_attempt_is_made(five: Quorum, size: int, how: str, way: Way) -> None:
    place = url_of([server.port for server in five.servers[-size:]])
    with dibs.connect(place, quiet=True) as d:
        numbers = list[int]()

        def without_some(attempt: Attempt) -> None:
            numbers.append(attempt.number)
            if attempt.number == 3:
                attempt.done()

        assert way.acquire(d.worker("mylock"), without_some) == "done"
        with away(five, size - majority(size), how):
            assert way.acquire(d.worker("mylock"), without_some) == "done"
        assert so(lambda: way.acquire(d.worker("mylock"), without_some) == "done").wait(10)
        assert numbers == [1, 2, 3] * 3
        assert outcomes(d) == [(1, "failed", False), (2, "failed", False), (3, "ok", True)] * 3


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_without_a_majority_a_worker_is_told_in_time_that_nobody_knows(
    five: Quorum, size: int, how: str, way: Way
) -> None:
    place = url_of([server.port for server in five.servers[-size:]])
    with dibs.connect(place, quiet=True) as d:
        assert way.acquire(d.worker("mylock"), Attempt.done) == "done"
        with away(five, majority(size), how):
            began = perf_counter()
            with pytest.raises(StoreUnreachable, match="too few of its servers answer"):
                way.acquire(d.worker("mylock"), Attempt.done)
            assert perf_counter() - began < PATIENCE + IN_TIME


def test_each_server_may_forget_in_its_turn_and_the_round_goes_on(five: Quorum) -> None:
    """Whoever forgets is told by the others how work stands before it counts: no attempt is made twice."""
    three = five.servers[-3:]
    with dibs.connect(url_of([server.port for server in three]), quiet=True) as d:
        numbers = list[int]()
        for attempt in d.worker("mylock", lock_timeout=0.5, max_attempts=9).attempts():
            numbers.append(attempt.number)
            server = three[attempt.number % 3]
            server.flush()
            assert so(lambda d=d, server=server: _knows(d, server)).wait(10)  # type: ignore[misc]
            if attempt.number == 6:
                attempt.done()
        assert numbers == [1, 2, 3, 4, 5, 6]


def _knows(d: Dibs, server: Server) -> bool:
    """Whether it has been told, and counts again for locks, too; a round under another name has it asked."""
    _work(d, "other")
    return bool(server.ask("HEXISTS", REGISTERS, "")) and bool(server.ask("EXISTS", "dibs:~born"))


def test_what_is_kept_of_a_round_ends_by_itself(five: Quorum) -> None:
    with dibs.connect(five.url, quiet=True) as d:
        _work(d, "mylock")
        assert so(lambda: all(30 < _days_left(server) < 32 for server in five.servers)).wait(5)
        for server in five.servers:
            server.ask("ZADD", "{dibs:~fence}~lapses", "1", "~worker:mylock")
        _work(d, "other")
        assert so(lambda: not any(_has_a_round(server) for server in five.servers)).wait(5)


def _days_left(server: Server) -> float:
    lapse = server.ask("ZSCORE", "{dibs:~fence}~lapses", "~worker:mylock")
    return (float(lapse) / 1e6 - float(server.ask("TIME")[0])) / 86_400


def _has_a_round(server: Server) -> bool:
    return bool(server.ask("HEXISTS", REGISTERS, "~worker:mylock"))


def test_workers_of_both_colours_share_a_round(five: Quorum) -> None:
    async def scene(d: Dibs) -> list[int]:
        async def one() -> list[int]:
            return [attempt.number async for attempt in d.worker("mylock", max_attempts=12).attempts()]

        mine, theirs = await asyncio.gather(one(), asyncio.to_thread(_by_threads, five.url))
        return sorted((*mine, *theirs))

    with dibs.connect(five.url, quiet=True) as d:
        assert asyncio.run(scene(d)) == list(range(1, 13))
        assert [run.attempt for run in reversed(d.runs("mylock"))] == list(range(1, 13))


def _by_threads(url: str) -> list[int]:
    with dibs.connect(url, quiet=True) as d:
        return [attempt.number for attempt in d.worker("mylock", max_attempts=12).attempts()]
