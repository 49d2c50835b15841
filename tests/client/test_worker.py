"""Workers by turns: one tries, the others watch and take over, on every store and in both colours."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dibs import Attempt, Dibs, LeaseLost
from dibs.errors import StoreRefused
from dibs.events import HeldLong
from dibs.ports.wire import Backend, Ear
from dibs.runtime.clock import boottime
from dibs.testing.contract import Diary
from tests.chaos.stage import Stage
from tests.client import hands
from tests.client.hands import Aside, Threads, Way, heard, locked
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind

AT_ONCE = 1.0
"""So many seconds are far less than the TTL that a failed worker would have left."""


@pytest.fixture
def server_kind() -> Kind:
    return there(VALKEY_9)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


def outcomes(d: Dibs) -> list[tuple[int, str, bool]]:
    """What became of the attempts, the oldest first."""
    return [(run.attempt, run.outcome, run.is_last) for run in reversed(d.runs("mylock"))]


class TestOnEveryStore:
    def test_work_that_is_done_is_done_once(self, ann: Dibs, bob: Dibs, way: Way) -> None:
        first, second = ann.worker("mylock"), bob.worker("mylock")
        waits, begun = locked(second), threading.Event()

        def do(attempt: Attempt) -> None:
            begun.set()
            heard(waits)
            attempt.done()

        mine = Aside(lambda: way.acquire(first, do))
        heard(begun)
        assert way.acquire(second, Attempt.done) == "completed"
        assert mine.outcome() == "done"
        assert outcomes(ann) == [(1, "ok", True)]
        assert ann.inspect("mylock").state == "free"

    def test_a_failed_attempt_is_taken_over_at_once(self, ann: Dibs, bob: Dibs, way: Way) -> None:
        first, second = (each.worker("mylock", lock_timeout=60) for each in (ann, bob))
        waits, begun, moments, fences = locked(second), threading.Event(), list[float](), list[int]()

        def fail(attempt: Attempt) -> None:
            begun.set()
            heard(waits)
            fences.append(attempt.fence)
            moments.append(boottime())

        def do(attempt: Attempt) -> None:
            moments.append(boottime())
            fences.append(attempt.fence)
            attempt.done()

        mine = Aside(lambda: way.acquire(first, fail))
        heard(begun)
        assert way.acquire(second, do) == "done"
        assert mine.outcome() == "completed"
        assert moments[1] - moments[0] < AT_ONCE
        assert fences[1] > fences[0]
        assert outcomes(ann) == [(1, "failed", False), (2, "ok", True)]

    def test_out_of_attempts_it_is_over(self, ann: Dibs, way: Way) -> None:
        worker, last = ann.worker("mylock", max_attempts=3), list[bool]()
        told = list[str]()
        worker.on_max_attempts(lambda: told.append("max-attempts"))
        assert way.acquire(worker, lambda attempt: last.append(attempt.is_last)) == "max-attempts"
        assert (last, told) == ([False, False, True], ["max-attempts"])
        assert outcomes(ann) == [(1, "failed", False), (2, "failed", False), (3, "failed", True)]
        assert way.acquire(ann.worker("mylock"), Attempt.done) == "done"

    def test_a_loop_does_the_same(self, ann: Dibs, way: Way) -> None:
        numbers = list[int]()

        def third(attempt: Attempt) -> None:
            numbers.append(attempt.number)
            if attempt.number == 3:
                attempt.done()

        assert way.loop(ann.worker("mylock"), third) == "done"
        assert numbers == [1, 2, 3]
        assert outcomes(ann) == [(1, "failed", False), (2, "failed", False), (3, "ok", True)]


@pytest.mark.parametrize("where", ["sqlite", "valkey"])
def test_a_killed_worker_is_taken_over_from_when_its_lock_times_out(
    stage: Stage, where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    dies_and_is_taken_over_from(
        stage, f"sqlite:///{tmp_path}/dibs.sqlite" if where == "sqlite" else request.getfixturevalue("server_url")
    )


def dies_and_is_taken_over_from(stage: Stage, url: str) -> None:
    first = stage.start(hands.work, url, 1.0)
    [_, fence, _] = first.hear("works")
    second = stage.start(hands.work, url, 1.0)
    second.hear("waits")
    first.kill()
    died_at = boottime()
    [number, next_fence, begun_at] = second.hear("works")
    assert (number, next_fence > fence) == (2, True)
    assert begun_at < died_at + 1.0 + AT_ONCE
    second.tell("go")
    assert second.hear("finish") == ["done"]
    second.ends()
    with hands.client(url) as d:
        [second_run, first_run] = d.runs("mylock")
        assert (first_run.outcome, second_run.outcome) == ("lost", "ok")
        assert first_run.node.endswith(f":{first.pid}")


@pytest.mark.parametrize("way", ["loop", "handler"])
@pytest.mark.parametrize("where", ["sqlite", "valkey"])
def test_a_forked_child_ends_nothing_of_its_parent_s_attempt(
    where: str, way: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/dibs.sqlite" if where == "sqlite" else request.getfixturevalue("server_url")
    program = [sys.executable, "-W", "error", "-m", "tests.client.forked_attempt", url, way]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=hands.LONG)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == ["LeaseLost", "held", "done"]
    with hands.client(url) as d:
        assert outcomes(d) == [(1, "ok", True)]


def test_what_was_said_in_a_loop_that_was_left_is_told_before_the_client_is_closed(backend: Backend) -> None:
    slow = Slow(backend)

    async def main() -> None:
        async with Dibs(slow, observers=[]) as d:
            async for attempt in d.worker("mylock").attempts():
                attempt.done()
                slow.pause = 0.2
                return

    asyncio.run(main())
    with Dibs(backend) as other:
        assert outcomes(other) == [(1, "ok", True)]
        assert other.inspect("mylock").held is None


class Slow:
    """Any backend, on a line that takes its time."""

    pause = 0.0

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def blocking(self, ear: Ear, now: Callable[[], float]) -> Any:
        wire: Any = self._backend.blocking(ear, now)
        send, close, is_closed = wire.send, wire.close, threading.Event()

        def send_slowly(words: Sequence[Any], node: int, within: float) -> Any:
            if is_closed.wait(self.pause):
                raise StoreRefused.hung_up("it")
            return send(words, node, within)

        def hang_up() -> None:
            is_closed.set()
            close()

        wire.send, wire.close = send_slowly, hang_up
        return wire


def lives_and_is_not_overtaken(backend: Backend, diary: Diary, way: Way, *, lock_timeout: float) -> None:
    with Dibs(backend, observers=[diary]) as ann, Dibs(backend) as bob:
        first, second = (each.worker("mylock", lock_timeout=lock_timeout) for each in (ann, bob))
        waits, begun = locked(second), threading.Event()

        def take_long(attempt: Attempt) -> None:
            begun.set()
            heard(waits)
            diary.wait_for(HeldLong, 1)  # ten times its TTL
            attempt.done()

        mine = Aside(lambda: way.acquire(first, take_long))
        heard(begun)
        assert way.acquire(second, Attempt.done) == "completed"
        assert mine.outcome() == "done"
        assert outcomes(ann) == [(1, "ok", True)]


class TestHolding:
    def test_a_slow_one_that_lives_is_not_overtaken(self, backend: Backend, diary: Diary) -> None:
        lives_and_is_not_overtaken(backend, diary, Threads, lock_timeout=0.1)

    def test_one_that_exceeds_its_max_hold_is_and_its_word_does_not_count(self, backend: Backend) -> None:
        with Dibs(backend) as ann, Dibs(backend) as bob:
            first, second = (each.worker("mylock", lock_timeout=30, max_hold=0.3) for each in (ann, bob))
            waits, begun, is_done, errors = locked(second), threading.Event(), threading.Event(), list[Exception]()
            first.on_error(errors.append)

            def take_too_long(attempt: Attempt) -> None:
                begun.set()
                heard(is_done)
                attempt.done()

            mine = Aside(lambda: Threads.acquire(first, take_too_long))
            heard(begun)
            theirs = Aside(lambda: Threads.acquire(second, Attempt.done))
            heard(waits)
            assert theirs.outcome() == "done"
            is_done.set()
            assert mine.outcome() == "completed"
            [error] = errors
            assert isinstance(error, LeaseLost)
            assert "max_hold" in error.reason
            assert outcomes(ann) == [(1, "lost", False), (2, "ok", True)]

    def test_without_a_handler_the_late_one_is_told_by_an_error(self, backend: Backend) -> None:
        with Dibs(backend) as ann, Dibs(backend) as bob:
            first, second = (each.worker("mylock", max_hold=0.3) for each in (ann, bob))
            begun, is_done = threading.Event(), threading.Event()

            def take_too_long(attempt: Attempt) -> None:
                begun.set()
                heard(is_done)
                attempt.done()

            mine = Aside(lambda: Threads.acquire(first, take_too_long))
            heard(begun)
            assert Threads.acquire(second, Attempt.done) == "done"
            is_done.set()
            with pytest.raises(LeaseLost):
                mine.outcome()

    def test_two_workers_of_one_client_take_turns(self, anywhere: Dibs, way: Way) -> None:
        first, second = anywhere.worker("mylock", max_attempts=2), anywhere.worker("mylock", max_attempts=2)
        waits, begun = locked(second), threading.Event()

        def fail(_: Attempt) -> None:
            begun.set()
            heard(waits)

        mine = Aside(lambda: way.acquire(first, fail))
        heard(begun)
        assert way.acquire(second, Attempt.done) == "done"
        assert mine.outcome() == "completed"
