"""What becomes of runs: what is kept of them, and how they are stopped."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from dibs import Job, LeaseLost, NoFence, Run, RunStopped
from dibs.events import PolicyUsed, RunBegun, RunEnded, RunForsaken, RunSlow, TickPassed
from dibs.stores.memory import MemoryBackend
from dibs.testing.outage import Outage
from tests.client.nodes import LONG, START, Node


class Unspeakable:
    def __repr__(self) -> str:
        raise KeyError


@pytest.fixture
def node() -> Iterator[Node]:
    with Node() as node:
        yield node


class TestOutcomes:
    @pytest.mark.parametrize(
        ("value", "kept"),
        [
            (None, None),
            (7, 7),
            ({"a": [1, "ü"]}, {"a": [1, "ü"]}),
            ({1, 2}, "{1, 2}"),
            (float("inf"), "inf"),
            ("half \ud800", "half ?"),
            (Unspeakable(), "<Unspeakable whose repr fails: KeyError>"),
            ("x" * 10_000, f"'{'x' * 1998}…"),
        ],
    )
    def test_a_value_is_kept_as_json_or_as_its_repr(self, node: Node, value: object, kept: object) -> None:
        job = node.d.every("1s", name="job")(lambda: value)
        node.start()
        view = node.outcome(job)
        assert (view.outcome, view.result, view.error) == ("ok", kept, None)

    def test_all_there_is_to_know_is_in_the_history(self, node: Node) -> None:
        @node.d.every("1s")
        def job(run: Run) -> int:
            run.log.info("line %d", 1)
            run.log.debug("for nobody")
            run.progress(0.4, "invoices")
            return run.fence

        node.start()
        view = node.outcome(job)
        [begun] = node.diary.of(RunBegun)
        assert view.tick == datetime.fromtimestamp(START + 1, UTC)
        assert (view.job, view.attempt, view.is_last, view.source) == ("job", 1, True, "schedule")
        assert (view.result, view.fence) == (begun.fence, begun.fence)
        assert (view.started_at, view.ended_at) == (view.tick, view.tick)
        assert (view.lateness, view.duration, view.progress, view.note) == (0, 0, 0.4, "invoices")
        assert view.node.count(":") == 2
        assert [line.partition(" ")[2] for line in view.log] == ["INFO line 1"]

    def test_async_jobs_run_on_the_serving_loop(self, node: Node) -> None:
        @node.d.every("1s")
        async def job() -> str:
            await asyncio.to_thread(lambda: None)
            task = asyncio.current_task()
            assert task is not None
            return f"{threading.current_thread().name} {task.get_name()}"

        @node.d.every("1h")
        def plain() -> None: ...

        node.start()
        assert node.thread is not None
        assert node.outcome(job).result == f"{node.thread.name} dibs-run-job"

    def test_history_can_be_awaited(self, node: Node) -> None:
        job = node.d.every("1s", name="job")(lambda: 7)
        node.start()
        node.outcome(job)
        node.end()
        [view] = asyncio.run(job.ahistory(limit=1))
        assert view == job.history()[0]

    @pytest.mark.parametrize("colour", ["def", "async def"])
    @pytest.mark.parametrize(
        "error", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError]
    )
    def test_whatever_is_raised_fails_the_run_and_not_the_node(
        self, node: Node, colour: str, error: type[BaseException]
    ) -> None:
        def fails() -> None:
            raise error("no stock")

        async def afails() -> None:
            raise error("no stock")

        job: Job[Any] = node.d.every("1s", name="job")(fails if colour == "def" else afails)
        node.start()
        for _ in range(2):
            view = node.outcome(job)
            assert view.outcome == "failed"
            assert view.error is not None
            words, *way = view.error.splitlines()
            assert words.endswith(f"{error.__name__}: no stock")
            assert view.reason == words
            assert "fails" in way[0]
            assert "performance.py" not in view.error

    def test_what_is_kept_of_an_error_is_bounded(self, node: Node) -> None:
        def deep(left: int) -> None:
            if left == 0:
                raise ValueError("no " * 5000)
            deep(left - 1)

        job = node.d.every("1s", name="job")(lambda: deep(500))
        node.start()
        view = node.outcome(job)
        assert view.error is not None
        assert len(view.error) < 4100
        assert "in deep" in view.error
        assert len(view.reason) <= 300

    def test_a_skipped_call_makes_a_skipped_run(self, node: Node) -> None:
        @node.d.every("1s")
        @node.d.locked("busy", on_conflict="skip")
        def job() -> int:
            return 7

        node.start()
        with node.d.lock("busy", purpose="by hand"):
            view = node.outcome(job)
        assert view.outcome == "skipped"
        assert "by hand" in view.reason
        assert node.outcome(job).result == 7

    def test_a_coroutine_that_nobody_awaited_is_a_failure(self, node: Node) -> None:
        async def work() -> None: ...

        def begins() -> Any:
            return work()

        job = node.d.every("1s", name="job")(begins)
        node.start()
        assert "await it there" in node.outcome(job).reason

    def test_a_failure_is_tried_again(self, node: Node) -> None:
        @node.d.every("3s", retries=2, retry_delay=0.5)
        def job(run: Run) -> str:
            if run.attempt < 3:
                raise ValueError("not yet")
            return "done"

        node.start()
        for ends, by in enumerate((3, 0.5, 1), 1):
            node.step(by)
            node.diary.wait_for(RunEnded, ends)
        assert [(each.outcome, each.attempt, each.is_last) for each in job.history()] == [
            ("ok", 3, True),
            ("failed", 2, False),
            ("failed", 1, False),
        ]

    def test_a_run_logs_to_its_own_module_and_says_where_from(
        self, node: Node, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG, __name__)

        @node.d.every("1s")
        def job(run: Run) -> None:
            run.log.debug("at %s", "work", extra={"batch": 7})
            run.log.warning("odd", exc_info=ValueError("no stock"))

        node.start()
        view = node.outcome(job)
        first, second = [record for record in caplog.records if record.name == __name__]
        assert (first.getMessage(), first.funcName, second.funcName) == ("at work", "job", "job")
        facts: Any = first
        assert (facts.job, facts.attempt, facts.batch) == ("job", 1, 7)
        assert facts.tick == "2027-01-15T08:00:01+00:00"
        lines = [line.partition(" ")[2] for line in view.log]
        assert lines == ["DEBUG at work", "WARNING odd (ValueError: no stock)"]

    def test_the_last_lines_are_kept(self, node: Node) -> None:
        @node.d.every("1s")
        def many(run: Run) -> None:
            for number in range(1000):
                run.log.info("%d", number)

        @node.d.every("1s")
        def long(run: Run) -> None:
            for number in range(100):
                run.log.info("%s%d", "x" * 5000, number)
            run.log.info("%d", "no number")
            run.log.info("the end \ud800")

        logging.raiseExceptions, before = False, logging.raiseExceptions
        try:
            node.start()
            node.step()
            node.diary.wait_for(RunEnded, 2)
        finally:
            logging.raiseExceptions = before
        kept = many.history()[0].log
        assert [line.rpartition(" ")[2] for line in kept] == [str(number) for number in range(800, 1000)]
        kept = long.history()[0].log
        assert sum(map(len, kept)) <= 8000
        assert [line.partition("INFO ")[2] for line in kept[-2:]] == ["%d", "the end ?"]


class TestStopping:
    @pytest.mark.parametrize("colour", ["def", "async def"])
    def test_a_run_that_takes_too_long_is_asked_to_stop(self, node: Node, colour: str) -> None:
        def patient(run: Run) -> None:
            while True:
                run.ensure()
                pause.wait(0.01)

        async def apatient() -> None:
            await asyncio.Event().wait()

        pause = threading.Event()
        job: Job[Any] = node.d.every("1s", name="job", timeout="200ms")(patient if colour == "def" else apatient)
        node.start()
        view = node.outcome(job)
        assert (view.outcome, view.reason, view.error) == ("timeout", "it took longer than 200ms", None)

    @pytest.mark.parametrize("manner", ["returns", "raises"])
    def test_who_ends_in_its_own_way_was_still_too_slow(self, node: Node, manner: str) -> None:
        @node.d.every("1s", timeout="200ms")
        async def job() -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if manner == "raises":
                    raise ValueError("interrupted") from None
            return "never mind"

        node.start()
        view = node.outcome(job)
        assert (view.outcome, view.result) == ("timeout", None)
        assert ("ValueError: interrupted" in (view.error or "")) is (manner == "raises")

    def test_a_slow_run_is_told_once(self, node: Node) -> None:
        may_end = threading.Event()
        job = node.d.every("1s", name="job", expect="100ms")(lambda: may_end.wait(LONG))
        node.start()
        node.step()
        [slow] = node.diary.wait_for(RunSlow, 1)
        assert (slow.job, slow.expect) == ("job", 0.1)
        node.wake()
        may_end.set()
        node.diary.wait_for(RunEnded, 1)
        assert len(node.diary.of(RunSlow)) == 1
        assert job.history()[0].outcome == "ok"

    @pytest.mark.parametrize("colour", ["def", "async def"])
    def test_the_next_tick_can_end_the_one_before(self, node: Node, colour: str) -> None:
        def patient(run: Run) -> str:
            while run.tick.timestamp() == START + 1:
                run.ensure()
                pause.wait(0.01)
            return "second"

        async def apatient(run: Run) -> str:
            if run.tick.timestamp() == START + 1:
                await asyncio.Event().wait()
            return "second"

        pause = threading.Event()
        job: Job[Any] = node.d.every("1s", name="job", overlap="cancel")(patient if colour == "def" else apatient)
        node.start()
        node.step()
        node.diary.wait_for(RunBegun, 1)
        node.step()
        first, second = node.diary.wait_for(RunEnded, 2)
        assert (first.outcome, first.tick) == ("cancelled", START + 1)
        assert "the tick of 2027-01-15 08:00:02 UTC came" in first.reason
        assert (second.outcome, second.tick) == ("ok", START + 2)
        assert job.history()[0].result == "second"

    def test_a_tick_whose_predecessor_is_at_work_is_skipped_with_the_reason(self, node: Node) -> None:
        may_end = threading.Event()
        job = node.d.every("1s", name="job")(lambda: may_end.wait(LONG))
        node.start()
        node.step()
        node.diary.wait_for(RunBegun, 1)
        node.step()
        [passed] = node.diary.wait_for(TickPassed, 1)
        may_end.set()
        node.diary.wait_for(RunEnded, 1)
        assert (passed.outcome, passed.tick) == ("skipped", START + 2)
        assert "had not ended" in passed.reason
        assert [view.outcome for view in job.history()] == ["skipped", "ok"], "by their ticks"
        skipped = job.history()[0]
        assert (skipped.started_at, skipped.ended_at, skipped.fence) == (None, None, None)

    def test_a_run_that_is_not_renewed_is_lost_and_told_so(self) -> None:
        outage, seen = Outage(MemoryBackend()), list[str]()
        with Node(outage) as node:

            @node.d.every("1s", ttl="1s")
            def job(run: Run) -> None:
                outage.trouble = "refused"
                node.diary.wait_for(RunForsaken, 1)
                assert (run.lost, run.cancelled) == (True, True)
                assert repr(run).endswith(" lost>")
                with pytest.raises(LeaseLost, match="the lease on 'job'") as raised:
                    run.ensure()
                seen.append(raised.value.reason)
                outage.trouble = "none"

            node.thread = threading.Thread(target=node.d.serve)
            node.thread.start()
            node.diary.wait_for(RunBegun, 2)
            node.end()
        assert seen[0] == "it could not be renewed in time"

    def test_without_the_store_an_open_job_goes_by_its_nodes_clock_and_tells_afterwards(self) -> None:
        outage = Outage(MemoryBackend())
        with Node(outage) as node:

            @node.d.every("1s", on_outage="open")
            def job(run: Run) -> str | None:
                with pytest.raises(NoFence, match="by on_outage='open'"):
                    run.fence  # noqa: B018
                return run.policy

            outage.trouble = "refused"
            node.thread = threading.Thread(target=node.d.serve)
            node.thread.start()
            node.diary.wait_for(PolicyUsed, 1)
            outage.trouble = "none"
            node.diary.wait_for(RunEnded, 1)
            node.end()
            view = job.history()[-1]
        assert (view.outcome, view.source, view.result, view.fence) == ("ok", "outage", "open", None)


def test_a_stopped_run_says_why() -> None:
    stopped = RunStopped("nightly", reason="timeout")
    assert (stopped.name, stopped.reason) == ("nightly", "timeout")
    assert "the run of 'nightly' is to stop: timeout" in str(stopped)
