"""What a worker tells, what goes wrong with it, and what it does not take."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
import redis

import dibs
from dibs import (
    Attempt,
    ClientClosed,
    ConfigError,
    Dibs,
    LeaseLost,
    SelfDeadlock,
    StatusLevel,
    StoreUnreachable,
    Worker,
)
from dibs.config import Config
from dibs.events import RunEnded
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage
from tests.client.hands import Aside, Tasks, Threads, Way, heard, locked
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server


@pytest.fixture
def hasty(outage: Outage) -> Iterator[Dibs]:
    with Dibs(outage, config=Config(patience=0.2)) as client:
        yield client
        outage.trouble = "none"


def leave(worker: Worker, way: Way) -> None:
    """A block of it, in either colour."""

    async def block() -> None:
        async with worker:
            pass

    if way is Tasks:
        asyncio.run(block())
        return
    with worker:
        pass


def reasons(d: Dibs) -> list[str]:
    """What was noted of the attempts, the oldest first."""
    return [f"{run.outcome}: {run.reason}" for run in reversed(d.runs("mylock"))]


class TestStatus:
    @pytest.mark.parametrize(
        ("level", "lines"),
        [
            (
                StatusLevel.NORMAL,
                [
                    "Work was not completed, trying to reacquire lock for attempt #1",
                    "This is attempt #2",
                ],
            ),
            (
                StatusLevel.VERBOSE,
                [
                    "Checking status of work from attempt #1",
                    "Work was not completed, trying to reacquire lock for attempt #1",
                    "Trying to reacquire lock",
                    "Current attempt count: 1",
                    "This is attempt #2",
                ],
            ),
        ],
        ids=["normal", "verbose"],
    )
    def test_it_is_told_in_the_words_of_the_old_library(
        self, d: Dibs, way: Way, level: StatusLevel, lines: list[str]
    ) -> None:
        worker, told = d.worker("mylock", status_level=level), list[str]()
        worker.on_status(told.append)
        assert way.acquire(worker, lambda attempt: attempt.done() if attempt.number == 2 else None) == "done"
        assert told == lines

    def test_handlers_of_tasks_may_be_async_and_each_is_called(self, d: Dibs) -> None:
        worker, told = d.worker("mylock", max_attempts=1), list[object]()

        @worker.on("acquired")
        async def first(last_attempt: bool) -> None:
            told.append(last_attempt)

        @worker.on("acquired")
        def second(last_attempt: bool) -> None:
            told.append(last_attempt)

        @worker.on("max-attempts")
        async def given_up() -> None:
            told.append("given up")

        assert asyncio.run(worker.aacquire()) == "max-attempts"
        assert told == [True, True, "given up"]


class TestTrouble:
    def test_an_error_of_the_handler_is_raised_once_the_attempt_has_failed(self, d: Dibs, way: Way) -> None:
        worker = d.worker("mylock")

        def stumble(_: Attempt) -> None:
            raise ZeroDivisionError("mine")

        with pytest.raises(ZeroDivisionError, match="mine"):
            way.acquire(worker, stumble)
        assert reasons(d) == ["failed: ZeroDivisionError: mine"]
        assert d.inspect("mylock").state == "free"
        assert "stumble" in (d.runs("mylock")[0].error or "")

    def test_with_a_handler_for_errors_it_goes_on(self, d: Dibs, way: Way) -> None:
        worker, errors = d.worker("mylock"), list[Exception]()
        worker.on_error(errors.append)

        def stumble(attempt: Attempt) -> None:
            if attempt.number == 1:
                raise ZeroDivisionError
            attempt.done()

        assert way.acquire(worker, stumble) == "done"
        assert [type(error) for error in errors] == [ZeroDivisionError]

    def test_what_is_done_is_done_also_if_its_handler_fails_afterwards(self, d: Dibs, way: Way) -> None:
        worker = d.worker("mylock")

        def stumble(attempt: Attempt) -> None:
            attempt.done()
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            way.acquire(worker, stumble)
        assert worker.finish == "done"
        assert reasons(d) == ["ok: "]

    def test_a_silent_store_is_told_and_waited_out(self, hasty: Dibs, outage: Outage, way: Way) -> None:
        worker, errors = hasty.worker("mylock"), list[Exception]()
        outage.trouble = "refused"

        @worker.on_error
        def note(error: Exception) -> None:
            errors.append(error)
            if len(errors) == 2:
                outage.trouble = "none"

        assert way.acquire(worker, Attempt.done) == "done"
        assert len(errors) == 2
        assert all(isinstance(error, StoreUnreachable) for error in errors)

    def test_without_a_handler_a_silent_store_is_raised(self, hasty: Dibs, outage: Outage, way: Way) -> None:
        outage.trouble = "refused"
        with pytest.raises(StoreUnreachable):
            way.acquire(hasty.worker("mylock"), Attempt.done)

    def test_a_store_that_falls_silent_meanwhile_is_told_of_the_end_when_it_is_back(
        self, d: Dibs, outage: Outage, way: Way
    ) -> None:
        def do(attempt: Attempt) -> None:
            attempt.done()
            outage.trouble = "refused"
            threading.Thread(target=back).start()

        def back() -> None:
            outage.wait_for_asks(3)
            outage.trouble = "none"

        assert way.acquire(d.worker("mylock", lock_timeout=30), do) == "done"
        assert reasons(d) == ["ok: "]

    def test_one_that_could_not_tell_is_told_so_when_its_lease_is_over(self, hasty: Dibs, outage: Outage) -> None:
        worker, errors = hasty.worker("mylock", lock_timeout=0.3), list[Exception]()

        @worker.on_error
        def note(error: Exception) -> None:
            errors.append(error)
            outage.trouble = "none"

        def do(attempt: Attempt) -> None:
            attempt.done()
            outage.trouble = "refused" if attempt.number == 1 else "none"

        assert Threads.acquire(worker, do) == "done"
        assert errors
        assert isinstance(errors[0], StoreUnreachable)
        assert reasons(hasty)[0].startswith("lost")

    def test_an_async_handler_is_cancelled_when_its_lease_is_lost(self, d: Dibs) -> None:
        worker, errors, cancelled = d.worker("mylock"), list[Exception](), list[int]()
        worker.on_error(errors.append)

        @worker.on_acquired
        async def hang(last_attempt: bool) -> None:
            assert worker.attempt is not None
            if worker.attempt.number == 2:
                worker.done()
                return
            assert await d.aforce_release("mylock", fence=worker.attempt.fence, reason="for a test")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(worker.attempt.number)
                raise

        assert asyncio.run(asyncio.wait_for(worker.aacquire(), 30)) == "done"
        assert cancelled == [1]
        assert [type(error) for error in errors] == [LeaseLost]

    def test_who_is_cancelled_has_failed(self, d: Dibs) -> None:
        worker = d.worker("mylock")

        @worker.on_acquired
        async def leave(last_attempt: bool) -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.Event().wait()

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(worker.aacquire())
        assert reasons(d) == ["failed: asyncio.exceptions.CancelledError"]
        assert d.inspect("mylock").state == "free"

    def test_a_worker_in_the_handler_of_another_cannot_wait_for_it(self, d: Dibs, way: Way) -> None:
        def wait_again(_: Attempt) -> None:
            Threads.acquire(d.worker("mylock"), Attempt.done)

        with pytest.raises(SelfDeadlock):
            Threads.acquire(d.worker("mylock"), wait_again)

    def test_a_closed_client_ends_the_wait(self, outage: Outage) -> None:
        with Dibs(outage) as ann, Dibs(outage) as bob:
            worker = bob.worker("mylock")
            worker.on_error(lambda _: None)
            waits = locked(worker)
            lease = ann.lock("mylock").acquire()
            waiting = Aside(lambda: Threads.acquire(worker, Attempt.done))
            heard(waits)
            bob.close()
            with pytest.raises(ClientClosed):
                waiting.outcome()
            lease.release()


class TestTheWord:
    def test_a_reason_may_be_given(self, d: Dibs, way: Way) -> None:
        worker = d.worker("mylock", max_attempts=1)
        assert way.acquire(worker, lambda attempt: attempt.fail("out of paper")) == "max-attempts"
        assert reasons(d) == ["failed: out of paper"]

    @pytest.mark.parametrize(("said", "kept"), [("caf\udce9", "caf?"), ("x" * 20_000, "x" * 299 + "…")], ids=len)
    def test_a_reason_is_kept_as_far_as_a_store_can(self, d: Dibs, way: Way, said: str, kept: str) -> None:
        worker = d.worker("mylock", max_attempts=1)
        assert way.acquire(worker, lambda attempt: attempt.fail(said)) == "max-attempts"
        assert reasons(d) == [f"failed: {kept}"]

    def test_a_reason_is_text(self, d: Dibs) -> None:
        for attempt in d.worker("mylock").attempts():
            with pytest.raises(ConfigError, match="give the reason as text"):
                attempt.fail(cast("Any", 5))
            attempt.done()

    def test_the_first_word_holds(self, d: Dibs, way: Way) -> None:
        def waver(attempt: Attempt) -> None:
            attempt.done()
            attempt.fail("no")

        assert way.acquire(d.worker("mylock"), waver) == "done"

    def test_deferred_it_may_come_later_from_anywhere(self, d: Dibs, way: Way) -> None:
        worker, promised = d.worker("mylock"), threading.Event()

        def promise(_: Attempt) -> None:
            worker.defer()
            promised.set()

        working = Aside(lambda: way.acquire(worker, promise))
        heard(promised)
        assert d.inspect("mylock").state == "held"
        worker.done()
        assert working.outcome() == "done"

    def test_deferred_it_may_be_said_before_the_handler_ends(self, d: Dibs, way: Way) -> None:
        worker = d.worker("mylock", max_attempts=1)
        assert way.acquire(worker, lambda attempt: attempt.defer().fail("no")) == "max-attempts"
        assert reasons(d) == ["failed: no"]

    def test_nobody_waits_for_the_word_of_one_that_has_lost_its_lease(self, d: Dibs, way: Way) -> None:
        worker, promised, errors = d.worker("mylock"), list[Attempt](), list[Exception]()
        worker.on_error(errors.append)

        def promise(attempt: Attempt) -> None:
            if attempt.number == 2:
                attempt.done()
                return
            promised.append(attempt.defer())
            assert d.force_release("mylock", fence=attempt.fence, reason="for a test")

        assert way.acquire(worker, promise) == "done"
        assert [type(error) for error in errors] == [LeaseLost]
        with pytest.raises(LeaseLost):
            promised[0].done()

    def test_after_the_end_it_is_refused(self, d: Dibs, way: Way) -> None:
        worker = d.worker("mylock", max_attempts=1)
        with pytest.raises(ConfigError, match=r"done\(\): no attempt of 'mylock' is under way"):
            worker.done()
        way.acquire(worker, lambda _: None)
        for say in (worker.done, worker.fail, worker.defer):
            with pytest.raises(ConfigError, match="attempt #1 of 'mylock' is over"):
                say()

    def test_a_loop_that_is_left_has_failed_unless_it_said_otherwise(self, d: Dibs, way: Way, diary: Diary) -> None:
        worker = d.worker("mylock")
        assert way.loop(worker, lambda _: "leave") is None
        diary.wait_for(RunEnded, 1)

        def do(attempt: Attempt) -> str:
            attempt.done()
            return "leave"

        way.loop(worker, do)
        diary.wait_for(RunEnded, 2)
        d.lock("mylock", wait=10).acquire().release()
        assert reasons(d) == ["failed: it ended without done()", "ok: "]


class TestWhatItIsMadeOf:
    def test_it_shows_what_it_is(self, d: Dibs) -> None:
        worker, shown = d.worker("mylock", max_attempts=2), list[str]()
        assert repr(worker) == "<Worker 'mylock' max_attempts=2 idle>"
        assert (worker.key, worker.attempt, worker.finish) == ("mylock", None, None)
        Threads.acquire(worker, lambda attempt: shown.append(repr(attempt)))
        assert shown == ["<Attempt #1 of 'mylock' under way>", "<Attempt #2 the last of 'mylock' under way>"]
        assert repr(worker).endswith("<Attempt #2 the last of 'mylock' over>>")
        worker.close()
        assert d.inspect("mylock").state == "free"

    def test_the_lock_says_what_it_is_for(self, d: Dibs) -> None:
        purposes = list[str]()

        def look(attempt: Attempt) -> None:
            held = d.inspect("mylock").held
            assert held is not None
            purposes.append(f"{held.purpose} {held.ttl:g}")
            attempt.done()

        Threads.acquire(d.worker("mylock", lock_timeout="7s", purpose="warm-up"), look)
        assert purposes == ["warm-up 7"]

    def test_where_locking_is_off_workers_of_one_program_take_turns(self) -> None:
        with dibs.connect("memory://off", enabled=False, quiet=True) as d:
            assert Threads.acquire(d.worker("mylock"), Attempt.done) == "done"
            assert reasons(d) == ["ok: "]

    @on_valkey_9
    @pytest.mark.parametrize("how", ["client", "host and port"])
    def test_it_may_have_a_server_of_its_own(self, d: Dibs, server: Server, how: str, way: Way) -> None:
        own = redis.Redis.from_url(server.url)
        place: dict[str, Any] = {"client": own} if how == "client" else {"host": "127.0.0.1", "port": server.port}
        worker = d.worker(f"own:{how}", **place)
        assert way.acquire(worker, Attempt.done) == "done"
        leave(worker, way)
        with pytest.raises(ClientClosed):
            worker.acquire()
        assert list(d.runs(f"own:{how}")) == []
        own.close()

    @pytest.mark.parametrize(
        ("said", "complaint"),
        [
            ({"lock_timeout": 0}, "lock_timeout=0 is out of range"),
            ({"lock_timeout": "soon"}, "lock_timeout: .*'soon'"),
            ({"max_attempts": 0}, "max_attempts=0: give a whole number"),
            ({"max_attempts": True}, "max_attempts=True: give a whole number"),
            ({"max_attempts": 1.5}, "max_attempts=1.5: give a whole number"),
            ({"max_hold": -1}, "max_hold"),
            ({"status_level": "loud"}, "status_level='loud': say dibs.StatusLevel.NORMAL"),
            ({"purpose": 7}, "purpose=7"),
            ({"client": "redis://x"}, "client='redis://x': give a redis.Redis"),
            ({"port": 0}, "port=0: give a port from 1"),
            ({"host": "a b"}, "host='a b'.*one server"),
            ({"host": "x", "client": object()}, "name the server by one of them"),
        ],
        ids=lambda said: str(said)[:30],
    )
    def test_what_makes_no_sense_is_refused(self, d: Dibs, said: dict[str, Any], complaint: str) -> None:
        with pytest.raises(ConfigError, match=complaint):
            d.worker("mylock", **said)

    def test_a_name_that_no_lock_may_have_is_refused(self, d: Dibs) -> None:
        with pytest.raises(ConfigError, match="names no lock"):
            d.worker("")

    def test_handlers_that_make_no_sense_are_refused(self, d: Dibs) -> None:
        worker: Any = d.worker("mylock")
        with pytest.raises(ConfigError, match="no such event of a worker: 'ready'; there are 'acquired'"):
            worker.on("ready")
        with pytest.raises(ConfigError, match="'locked': give a function that takes nothing, not 7"):
            worker.on_locked(7)
        with pytest.raises(ConfigError, match="has nothing to do: give it a function"):
            worker.acquire()

        async def hello(message: str) -> None:
            raise AssertionError(message)

        worker.on_acquired(lambda _: None)
        worker.on_status(hello)
        with pytest.raises(ConfigError, match=r"the handler of 'status' is async.*aacquire\(\)"):
            worker.acquire()

    def test_a_worker_is_in_one_round_at_a_time(self, d: Dibs) -> None:
        worker, begun, go_on = d.worker("mylock"), threading.Event(), threading.Event()

        def do(attempt: Attempt) -> None:
            begun.set()
            heard(go_on)
            attempt.done()

        mine = Aside(lambda: Threads.acquire(worker, do))
        heard(begun)
        with pytest.raises(ConfigError, match="is in a round already"):
            worker.acquire()
        go_on.set()
        assert mine.outcome() == "done"
