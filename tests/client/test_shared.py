"""One run for all who call at the same time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs import ConfigError, Dibs, LockBusy, SelfDeadlock
from dibs.events import CallSkipped, JoinedQueue, Stumbled
from dibs.testing.contract import Diary
from tests.client.others import Blocking, Colour, somebody_else

CROWD = 50


@pytest.fixture
def d(anywhere: Dibs) -> Dibs:
    return anywhere


class Flight:
    """Work that lasts until it is told to end."""

    def __init__(self, *outcomes: object) -> None:
        self._outcomes = iter(outcomes)
        self.begun, self.may_end, self.runs = threading.Event(), threading.Event(), 0

    def __call__(self, key: str) -> object:
        self.runs += 1
        self.begun.set()
        assert self.may_end.wait(20)
        outcome = next(self._outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def crowd(work: Callable[[str], Any], flight: Flight, diary: Diary, waiters: int) -> list[Any]:
    """What each of them gets or meets: one at work, and so many who wait for it before it may end."""
    with ThreadPoolExecutor(waiters + 1) as pool:
        calls: list[Future[Any]] = [pool.submit(work, "today")]
        assert flight.begun.wait(20)
        calls += [pool.submit(work, "today") for _ in range(waiters)]
        diary.wait_for(JoinedQueue, waiters)
        flight.may_end.set()
        return [call.exception() or call.result() for call in calls]


def test_all_who_wait_get_the_result_of_the_one_who_ran(d: Dibs, colour: Colour, diary: Diary) -> None:
    flight = Flight({"usd": 1.5})
    assert crowd(colour.of(d.shared("rates:{key}"), flight), flight, diary, 8) == [{"usd": 1.5}] * 9
    assert flight.runs == 1
    assert not d.locks()
    assert not diary.of(CallSkipped)


def test_who_comes_later_begins_another_flight(d: Dibs, colour: Colour) -> None:
    numbers = count(1)
    work = colour.of(d.shared("rates:{key}"), lambda _: next(numbers))
    assert [work("today"), work("today"), work("tomorrow")] == [1, 2, 3]


def test_fifty_threads_have_one_flight(d: Dibs, diary: Diary) -> None:
    flight = Flight("rates")
    assert crowd(Blocking.of(d.shared("rates:{key}"), flight), flight, diary, CROWD - 1) == ["rates"] * CROWD
    assert flight.runs == 1


def test_fifty_tasks_have_one_flight(d: Dibs, diary: Diary) -> None:
    runs: list[str] = []

    async def main() -> list[str]:
        may_end = asyncio.Event()

        @d.shared("rates:{key}")
        async def rates(key: str) -> str:
            runs.append(key)
            await may_end.wait()
            return key.upper()

        tasks = [asyncio.create_task(rates("today")) for _ in range(CROWD)]
        await asyncio.to_thread(diary.wait_for, JoinedQueue, CROWD - 1)
        may_end.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == ["TODAY"] * CROWD
    assert runs == ["today"]


def test_if_the_one_who_ran_fails_the_next_runs_for_those_behind(d: Dibs, colour: Colour, diary: Diary) -> None:
    flight = Flight(KeyError("first"), KeyError("second"), "third")
    found = crowd(colour.of(d.shared("rates:{key}"), flight), flight, diary, 5)
    assert sorted(map(repr, found)) == ["'third'"] * 4 + ["KeyError('first')", "KeyError('second')"]
    assert isinstance(found[0], KeyError)
    assert flight.runs == 3


def test_what_json_cannot_say_is_given_to_the_one_who_ran_and_the_others_run_themselves(
    d: Dibs, colour: Colour, diary: Diary
) -> None:
    flight = Flight({1}, {2}, {3})
    found = crowd(colour.of(d.shared("rates:{key}"), flight), flight, diary, 2)
    assert sorted(map(sorted, found)) == [[1], [2], [3]]
    assert found[0] == {1}
    told = diary.of(Stumbled)
    assert len(told) == 3
    assert "JSON has no words for set" in told[0].error
    assert told[0].doing.endswith("for 'rates:today'")


def test_those_who_wait_get_what_json_makes_of_it(d: Dibs, diary: Diary) -> None:
    flight = Flight((1, None))
    assert crowd(Blocking.of(d.shared("rates:{key}"), flight), flight, diary, 1) == [(1, None), [1, None]]


def test_nobody_waits_longer_than_told(d: Dibs, colour: Colour) -> None:
    work = colour.of(d.shared("rates:{key}", wait=0.05), str.upper)
    with somebody_else(d, "rates:a"), pytest.raises(LockBusy):
        work("a")
    assert work("a") == "A"


def test_a_flight_that_waits_for_itself_is_told(d: Dibs) -> None:
    @d.shared("rates:{key}")
    def rates(key: str) -> str:
        return rates(key)

    with pytest.raises(SelfDeadlock):
        rates("a")


def test_what_was_done_once_is_no_flight_and_the_other_way_round(d: Dibs) -> None:
    once = Blocking.of(d.once("job:{key}", per="366d"), str.upper)
    assert Blocking.of(d.shared("job:{key}"), str.lower)("A") == "a"
    assert once("A") == "A"
    assert once("A").why == "done"


def test_what_makes_no_sense_is_told_where_it_is_said(d: Dibs) -> None:
    shared: Any = d.shared
    for options, says in (
        ({"at_least": 5}, "at_least=5: work that is remembered"),
        ({"on_outage": "skip"}, "on_outage='skip' needs on_conflict='skip'"),
        (
            {"per": "1d"},
            "no such option here: per; there are max_hold, on_lost, on_outage, purpose, renew, ttl, wait$",
        ),
    ):
        with pytest.raises(ConfigError, match=says):
            shared("rates", **options)
    with pytest.raises(ConfigError, match="is no parameter"):
        shared("rates:{day}")(str.upper)
    with pytest.raises(ConfigError, match="names no lock"):
        shared(str.upper)


WORKER = """
import sys, dibs
d = dibs.connect(sys.argv[1], quiet=True)

@d.shared("rates:{key}")
def rates(key):
    print("in", flush=True)
    sys.stdin.readline()
    return {"by": sys.argv[2]}

print(rates("today"), flush=True)
"""


def test_a_flight_is_shared_by_processes(tmp_path: Path, diary: Diary) -> None:
    url = f"sqlite:///{tmp_path}/dibs.sqlite"
    command = [sys.executable, "-c", WORKER, url, "them"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        with dibs.connect(url, observers=[diary], quiet=True) as d, ThreadPoolExecutor(1) as pool:
            ours = pool.submit(Blocking.of(d.shared("rates:{key}"), str.upper), "today")
            diary.wait_for(JoinedQueue, 1)
            assert process.communicate("\n", timeout=30)[0] == "{'by': 'them'}\n"
            assert ours.result() == {"by": "them"}
