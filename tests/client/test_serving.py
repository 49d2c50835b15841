"""Serving: real programs and real signals, what they leave behind, and who goes on for them."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs import ConfigError, Dibs, Job, Run
from dibs.config import Config
from dibs.events import RunBegun, RunEnded, RunForsaken, Serving, ServingEnded
from dibs.flows.sheets import look
from dibs.model.reading import job_of
from dibs.runtime.blocking import run as run_flow
from dibs.runtime.clock import boottime
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage
from tests.chaos.stage import Stage
from tests.client import shifts
from tests.client.nodes import LONG, Clock, Node

TTL = 2.0
LATE = 1.0
"""How long after its TTL a dead node's run may be without a successor."""


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture
def url() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        yield f"sqlite:///{Path(folder) / 'jobs.sqlite'}"


@pytest.fixture
def d(url: str) -> Iterator[Dibs]:
    with dibs.connect(url, quiet=True) as client:
        yield client


@pytest.fixture
def job(d: Dibs) -> Job[None]:
    """The job that the programs serve, for its history."""
    return d.every("1s", name="job")(lambda: None)


@pytest.fixture
def node() -> Iterator[Node]:
    with Node() as node:
        yield node


def running(d: Dibs) -> list[str]:
    """Who runs the job, as far as the store knows."""
    engine = d._engine
    reading = run_flow(look(engine.blocking("look"), engine.desk, engine.desk.store.sheets(["job"])))
    return [run.node for sheet in reading.look.sheets for run in job_of(sheet).running]


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_lets_runs_finish_and_then_the_program_goes_on(
        self, stage: Stage, d: Dibs, job: Job[None], url: str, number: int
    ) -> None:
        actor = stage.start(shifts.serve, url, "told", {"ttl": TTL}, {})
        actor.hear("begun")
        os.kill(actor.pid, number)
        actor.tell("end")
        assert actor.hear("served") == [[]]
        actor.ends()
        view = job.history()[0]
        assert (view.outcome, view.result) == ("ok", actor.pid)
        assert running(d) == []

    @pytest.mark.parametrize(
        ("manner", "attempts"),
        [
            ("deaf", 1),
            ("async", 2),
            pytest.param("deaf", 2, marks=pytest.mark.thorough),
            pytest.param("async", 1, marks=pytest.mark.thorough),
        ],
    )
    def test_what_does_not_end_in_time_is_handed_back_or_given_up(
        self, stage: Stage, d: Dibs, job: Job[None], url: str, manner: str, attempts: int
    ) -> None:
        terms = {"ttl": 3600, "max_attempts": attempts}
        first = stage.start(shifts.serve, url, manner, terms, {"grace": 0.2})
        [attempt, fence, _] = first.hear("begun")
        os.kill(first.pid, signal.SIGTERM)
        first.hear("served")
        first.ends()
        [view] = [each for each in job.history() if each.outcome == "lost"]
        assert (view.attempt, view.fence, view.reason) == (attempt, fence, "its node was shut down")
        assert view.is_last is (attempts == 1)
        assert running(d) == []
        second = stage.start(shifts.serve, url, "quick", terms, {})
        [attempt, higher, _] = second.hear("begun")
        assert higher > fence
        assert attempt == attempts
        os.kill(second.pid, signal.SIGTERM)

    def test_a_second_signal_ends_the_grace(self, stage: Stage, job: Job[None], url: str) -> None:
        actor = stage.start(shifts.serve, url, "deaf", {"ttl": TTL}, {"grace": 3600})
        actor.hear("begun")
        os.kill(actor.pid, signal.SIGTERM)
        os.kill(actor.pid, signal.SIGINT)
        actor.hear("served")
        actor.ends()
        assert "lost" in [view.outcome for view in job.history()]

    @pytest.mark.parametrize(
        ("kind", "signals"),
        [
            ("Serving", 1),
            ("RunBegun", 2),
            ("RunEnded", 1),
            pytest.param("Serving", 2, marks=pytest.mark.thorough),
            pytest.param("RunBegun", 1, marks=pytest.mark.thorough),
            pytest.param("RunEnded", 2, marks=pytest.mark.thorough),
        ],
    )
    def test_ctrl_c_at_any_moment_leaves_nothing_running(
        self, stage: Stage, d: Dibs, url: str, kind: str, signals: int
    ) -> None:
        actor = stage.start(shifts.interrupted, url, kind, signals)
        actor.hear("served")
        actor.ends()
        assert running(d) == []

    @pytest.mark.parametrize("trouble", ["refused", "asks lost", "answers lost", "says no"])
    def test_ctrl_c_ends_a_program_whose_store_is_dead(self, stage: Stage, trouble: str) -> None:
        actor = stage.start(shifts.in_vain, trouble)
        actor.hear("silent")
        os.kill(actor.pid, signal.SIGINT)
        actor.hear("served", within=10)
        actor.ends(within=10)

    def test_a_killed_node_is_replaced_within_its_ttl(self, stage: Stage, job: Job[None], url: str) -> None:
        terms = {"ttl": TTL, "max_attempts": 2}
        first = stage.start(shifts.serve, url, "deaf", terms, {})
        [attempt, fence, _] = first.hear("begun")
        second = stage.start(shifts.serve, url, "quick", terms, {})
        first.kill()
        killed_at = boottime()
        [again, higher, begun_at] = second.hear("begun")
        assert (attempt, again) == (1, 2)
        assert higher > fence
        assert begun_at - killed_at < TTL + LATE
        lost = [view for view in job.history() if view.outcome == "lost"]
        assert [(view.attempt, view.is_last, view.fence) for view in lost] == [(1, False, fence)]
        assert str(first.pid) in lost[0].node
        os.kill(second.pid, signal.SIGTERM)

    def test_what_a_late_node_says_of_its_run_is_refused(self, stage: Stage, job: Job[None], url: str) -> None:
        terms = {"ttl": TTL, "max_attempts": 2}
        first = stage.start(shifts.serve, url, "told", terms, {})
        first.hear("begun")
        first.stop()
        second = stage.start(shifts.serve, url, "told", terms, {})
        [attempt, fence, _] = second.hear("begun")
        assert attempt == 2
        first.go_on()
        first.tell("end")
        os.kill(first.pid, signal.SIGTERM)
        first.hear("served")
        second.tell("end")
        os.kill(second.pid, signal.SIGTERM)
        second.hear("served")
        tried = [view for view in job.history() if view.attempt == 2]
        assert [(view.outcome, view.fence, view.result) for view in tried] == [("ok", fence, second.pid)]
        of_that_tick = [view.outcome for view in job.history() if view.tick == tried[0].tick]
        assert of_that_tick == ["ok", "lost"]


class TestLife:
    def test_applications_that_share_a_store_keep_apart_by_their_namespaces(self) -> None:
        clock = Clock()
        store = MemoryBackend(clock=clock)
        with Node(store, namespace="shop") as shop, Node(store, namespace="news") as news:
            shop.clock = news.clock = clock
            jobs = [shop.d.every("1s", name="job")(lambda: "shop"), news.d.every("1s", name="job")(lambda: "news")]
            shop.start()
            assert shop.outcome(jobs[0]).result == "shop"
            assert jobs[1].history() == []
            news.start()
            assert news.outcome(jobs[1]).result == "news"
            assert {view.result for view in jobs[0].history()} == {"shop"}

    def test_serving_is_told_from_beginning_to_end(self, node: Node) -> None:
        job = node.d.every("1s", name="job")(lambda: 7)
        node.start()
        node.outcome(job)
        node.end()
        [serving], [ended] = node.diary.of(Serving), node.diary.of(ServingEnded)
        assert (serving.jobs, ended.unfinished) == (("job",), 0)
        assert serving.node == ended.node
        host, pid, suffix = serving.node.rsplit(":", 2)
        assert (host, int(pid), len(suffix)) == (os.uname().nodename, os.getpid(), 4)
        assert "dibs-scheduler" not in {thread.name for thread in threading.enumerate()}

    def test_a_client_can_serve_again_under_another_name(self, node: Node) -> None:
        job = node.d.every("1s", name="job")(lambda: 7)
        node.start()
        node.end()
        node.d.stop_serving()
        node.start()
        node.outcome(job)
        node.end()
        assert len({told.node for told in node.diary.of(Serving)}) == 2

    def test_once_at_a_time_and_outside_of_loops(self, node: Node) -> None:
        async def within() -> None:
            node.d.serve()

        with pytest.raises(ConfigError, match="nothing to serve"):
            node.d.serve()
        node.d.every("1s", name="job")(lambda: 7)
        with pytest.raises(ConfigError, match=r"await d\.aserve"):
            asyncio.run(within())
        node.start()
        for act in (node.d.run, lambda: node.d.every("1s", name="other")(lambda: 7), lambda: node.d.bind(7)):
            with pytest.raises(ConfigError, match="this client serves already"):
                act()

    @pytest.mark.parametrize(
        ("options", "fault"),
        [
            ({"workers": 0}, "workers=0: give a whole number from 1"),
            ({"workers": "4"}, "workers='4'"),
            ({"grace": "soon"}, "grace: 'soon' is not a duration"),
        ],
    )
    def test_what_is_wrong_is_told(self, node: Node, options: dict[str, Any], fault: str) -> None:
        node.d.every("1s", name="job")(lambda: 7)
        with pytest.raises(ConfigError, match=fault):
            node.d.serve(**options)
        node.start()

    def test_where_locking_is_off_jobs_run_for_this_process_alone(self) -> None:
        outage, diary = Outage(MemoryBackend()), Diary()
        outage.trouble = "says no"
        with Dibs(outage, observers=[diary], config=Config(enabled=False)) as d:
            job = d.every("1s", name="job")(d.stop_serving)
            d.serve()
            assert [view.outcome for view in job.history()] == ["ok"]
        assert outage.asks == 0

    def test_closing_the_client_ends_it(self, node: Node) -> None:
        async def patient() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

        begun, stopped = threading.Event(), threading.Event()
        node.d.every("1s", name="job")(patient)
        node.start()
        node.step()
        assert begun.wait(LONG)
        node.d.close()
        node.join()
        assert stopped.is_set()

    def test_no_more_workers_are_at_work_than_there_are(self, node: Node) -> None:
        def work() -> None:
            begun.release()
            assert may_end.wait(LONG)

        begun, may_end = threading.Semaphore(0), threading.Event()
        for number in range(5):
            node.d.every("1s", name=f"job-{number}")(work)
        node.start(workers=2)
        node.step()
        node.diary.wait_for(RunBegun, 2)
        node.wake()
        node.clock.wait_for_asks(node.clock.asks + 2)
        assert len(node.diary.of(RunBegun)) == 2
        may_end.set()
        node.diary.wait_for(RunEnded, 5)
        assert {ended.outcome for ended in node.diary.of(RunEnded)} == {"ok"}

    def test_a_blocked_loop_costs_no_run_its_lease(self, node: Node) -> None:
        @node.d.every("1s", ttl="1s")
        async def job() -> str:
            threading.Event().wait(2.0)  # as a driver does that is not made for loops
            return "done"

        node.start()
        view = node.outcome(job)
        assert (view.outcome, view.result) == ("ok", "done")
        assert node.diary.of(RunForsaken) == []


class TestLoops:
    def test_it_serves_beside_an_application(self, node: Node) -> None:
        async def main() -> None:
            async with node.d.lifespan(object()):
                await asyncio.to_thread(node.clock.wait_for_asks, 3)
                view = await asyncio.to_thread(node.outcome, served)
                assert view.result == threading.current_thread().name
            assert len(node.diary.of(ServingEnded)) == 1

        async def body() -> str:
            return threading.current_thread().name

        served: Job[Any] = node.d.every("1s", name="job")(body)
        asyncio.run(main())

    def test_an_application_that_fails_is_left_as_well(self, node: Node) -> None:
        async def main() -> None:
            async with node.d.lifespan():
                raise KeyError("mine")

        node.d.every("1s", name="job")(lambda: 7)
        with pytest.raises(KeyError):
            asyncio.run(main())
        assert len(node.diary.of(ServingEnded)) == 1

    def test_who_is_cancelled_leaves_at_once(self, node: Node) -> None:
        async def main() -> None:
            task = asyncio.create_task(node.d.aserve(grace="1h"))
            await asyncio.to_thread(node.clock.wait_for_asks, 3)
            node.step()
            await asyncio.to_thread(node.diary.wait_for, RunBegun, 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        async def patient(run: Run) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                told.append(run.cancelled)
                raise

        told: list[bool] = []
        job: Job[Any] = node.d.every("1s", name="job")(patient)
        asyncio.run(main())
        assert told == [True]
        assert [view.outcome for view in job.history()] == ["lost"]
        assert [ended.unfinished for ended in node.diary.of(ServingEnded)] == [1]

    @pytest.mark.parametrize("asked", [True, False])
    def test_who_is_cancelled_while_it_leaves_has_left_all_the_same(self, node: Node, asked: bool) -> None:
        async def main() -> None:
            task = asyncio.create_task(node.d.aserve(grace=0))
            await asyncio.to_thread(node.clock.wait_for_asks, 3)
            node.step()
            await asyncio.to_thread(node.diary.wait_for, RunBegun, 1)
            if asked:
                node.d.stop_serving()
            else:
                task.cancel()
            await asyncio.to_thread(is_told.wait, LONG)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(node.diary.of(ServingEnded)) == 1

        async def stubborn() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                is_told.set()
                await asyncio.Event().wait()

        is_told = threading.Event()
        job: Job[Any] = node.d.every("1s", name="job")(stubborn)
        asyncio.run(main())
        assert [view.outcome for view in job.history()] == ["lost"]

    def test_signals_stay_as_they_were(self, node: Node) -> None:
        def mine(number: int, frame: object) -> None: ...

        async def main() -> None:
            task = asyncio.create_task(node.d.aserve())
            await asyncio.to_thread(node.clock.wait_for_asks, 3)
            os.kill(os.getpid(), signal.SIGTERM)
            await task

        node.d.every("1s", name="job")(lambda: 7)
        before = signal.signal(signal.SIGTERM, mine)
        try:
            asyncio.run(main())
            assert signal.getsignal(signal.SIGTERM) is mine
        finally:
            signal.signal(signal.SIGTERM, before)
