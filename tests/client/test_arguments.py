"""Jobs that take arguments, and functions that have no schedule of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest

from dibs import ConfigError, Dibs, LeaseLost, NoFence, Run, RunStopped
from dibs.events import RunEnded, Serving
from dibs.flows import defining
from dibs.flows.controlling import Order
from dibs.flows.duty import Duty, Underway
from dibs.model.definition import Definition
from dibs.model.job import Run as Begun
from dibs.model.job import Terms
from dibs.model.rota import Ending
from dibs.model.tenure import Tenure
from dibs.runtime.blocking import run as run_flow
from dibs.runtime.clock import boottime
from tests.client import apart_jobs
from tests.client.nodes import Node


@pytest.fixture
def node() -> Iterator[Node]:
    with Node() as node:
        yield node


def underway(schedule: str, arguments: Mapping[str, Any] | str = "", **facts: Any) -> Underway:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    run = Begun(1_800_000_000.0, fence=7, source=facts.pop("source", "schedule"))
    return Underway(schedule, run, Terms(), Tenure(30.0, boottime()), boottime(), arguments=text, **facts)


def ended(job: Any, arguments: Mapping[str, Any] | str = "", **facts: Any) -> Ending:
    """What comes of a run with these arguments, in the colour of the job."""
    part, mine = job.part(), underway(job.name, arguments, **facts)
    ending = part.perform(mine) if part.perform else asyncio.run(part.aperform(mine))
    assert isinstance(ending, Ending)
    return ending


class TestFilling:
    def test_arguments_fill_the_parameters_by_their_names(self, d: Dibs) -> None:
        @d.job
        def report(customer: str, run: Run, *, day: int = 3, **more: str) -> list[object]:
            return [customer, run.fence, day, more]

        assert ended(report, {"customer": "acme"}).result == '["acme",7,3,{}]'
        assert ended(report, {"day": 4, "to": "a@b", "customer": "é"}).result == '["é",7,4,{"to":"a@b"}]'

    def test_async_bodies_and_methods_are_filled_alike(self, d: Dibs) -> None:
        class Shop:
            @d.job
            async def close(self, run: Run, at: str) -> str:
                return f"{run.job} {at}"

            @d.every("1s")
            def sweep(self, batch: int = 100) -> int:
                return batch

        d.bind(Shop())
        close, sweep = d._jobs().jobs()
        assert ended(close, {"at": "6"}).result == '"close 6"'
        assert (ended(sweep, {"batch": 5}).result, ended(sweep).result) == ("5", "100")

    def test_a_run_can_be_wanted_by_name_or_by_position_only(self, d: Dibs) -> None:
        @d.job
        def by_name(batch: int = 1, *, run: Run) -> list[object]:
            return [run.job, batch]

        @d.job
        def by_place(run: Run, /, batch: int = 1) -> list[object]:
            return [run.job, batch]

        for job in (by_name, by_place):
            assert ended(job, {"batch": 2}).result == f'["{job.name}",2]'

    def test_a_part_of_a_function_takes_what_is_left(self, d: Dibs) -> None:
        def report(customer: str, day: int) -> str:
            return f"{customer} {day}"

        job = d.every("1s", name="report")(partial(report, "acme", day=3))
        assert (ended(job).result, ended(job, {"day": 4}).result) == ('"acme 3"', '"acme 4"')

    def test_a_process_of_its_own_is_given_them_too(self) -> None:
        told = {"function": "takes", "source": "trigger"}
        ending = apart_jobs.takes.part().perform
        assert ending is not None
        performed = ending(underway("acme~backfill", {"customer": "acme"}, **told))
        assert performed is not None
        assert performed.result == '["acme","takes","acme","trigger",{"customer":"acme"}]'


class TestMisfits:
    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            ({"customer": "acme", "dya": 3}, "it takes no 'dya'; it takes customer, day, format"),
            ({"day": 3}, "it needs 'customer' and 'format', which nobody has said"),
            ({"customer": "acme", "format": "pdf", "run": 3}, "'run' is its run, which it is given"),
        ],
    )
    def test_a_run_whose_arguments_do_not_fit_has_failed_and_says_which(
        self, d: Dibs, arguments: dict[str, object], reason: str
    ) -> None:
        @d.job
        def report(run: Run, customer: str, day: int = 1, *, format: str) -> None:  # noqa: A002 - as people call it
            raise AssertionError("it was called")

        @d.job
        async def areport(run: Run, customer: str, day: int = 1, *, format: str) -> None:  # noqa: A002
            raise AssertionError("it was called")

        assert report.body.fault_of(arguments) == reason
        assert report.body.fault_of({"customer": "acme", "format": "pdf"}) is None
        for job in (report, areport):
            ending = ended(job, arguments)
            assert ending.outcome == "failed"
            assert ending.reason.startswith("TypeError: the arguments do not fit ")
            assert ending.reason.endswith(f"{job.body.about.name}: {reason}")
            assert ending.error == ending.reason

    def test_who_takes_nothing_says_so(self, d: Dibs) -> None:
        assert d.job(name="poll")(lambda: None).body.fault_of({"a": 1}) == "it takes no 'a'; it takes no arguments"
        assert d.job(name="all")(lambda **_: None).body.fault_of({"a": 1}) is None

    def test_arguments_that_are_no_object_fail_the_run_alone(self, d: Dibs) -> None:
        job = d.job(name="poll")(lambda: None)
        assert "must be a mapping, not list" in ended(job, "[1]").reason
        assert ended(job, "{").reason.startswith("json.decoder.JSONDecodeError")

    def test_a_schedule_in_code_needs_a_default_for_each(self, d: Dibs) -> None:
        def report(run: Run, customer: str, day: int = 1) -> None: ...

        class Shop:
            def report(self, customer: str) -> None: ...

        bodies: list[Any] = [report, Shop.report]
        for body in bodies:
            for schedule in (d.every("1s"), d.cron("0 3 * * *")):
                with pytest.raises(ConfigError) as raised:
                    schedule(body)
                assert "its ticks bring no arguments, and 'customer' has no default" in str(raised.value)
                assert "write @d.job above it" in str(raised.value)
                assert body.__qualname__ in str(raised.value)


class TestCallsByHand:
    def test_a_job_is_called_as_its_function(self, d: Dibs) -> None:
        @d.job
        def report(customer: str, run: Run, day: int = 3) -> tuple[object, ...]:
            return customer, run.job, day

        mine = Run.detached("mine")
        assert report("acme", mine) == ("acme", "mine", 3)
        assert report("acme", day=4, run=mine) == ("acme", "mine", 4)
        calls: Any = report
        assert (calls("acme"), calls("acme", 4)) == (("acme", "report", 3), ("acme", "report", 4))
        assert (calls(customer="acme"), calls(mine, "acme")) == (("acme", "report", 3), ("acme", "mine", 3))
        with pytest.raises(TypeError, match="customer"):
            calls()

    def test_a_method_and_an_async_one_are_too(self, d: Dibs) -> None:
        class Shop:
            @d.job
            async def close(self, at: str) -> str:
                return f"at {at}"

            @d.every("1s")
            def sweep(self, run: Run, batch: int = 100) -> tuple[str, int]:
                return run.job, batch

        shop = Shop()
        assert asyncio.run(shop.close("6")) == "at 6"
        assert (shop.sweep(batch=5), Shop.sweep(shop, batch=6)) == (("sweep", 5), ("sweep", 6))


class TestWithoutASchedule:
    def test_a_function_has_a_name_and_no_times(self, d: Dibs) -> None:
        @d.job
        def report(customer: str) -> str:
            return customer

        @d.job(name="shop:report", timeout="10m", labels="gpu")
        def other() -> None: ...

        assert (report.name, report.rule, report.next(3)) == ("report", "", [])
        assert repr(report) == "<Job 'report': no schedule of its own>"
        assert report.duty == Duty("report", "", report.duty.terms)
        assert (other.name, other.duty.terms.timeout, other.duty.terms.labels) == ("shop:report", 600, ("gpu",))

    def test_what_makes_no_sense_is_told_where_it_is_said(self, d: Dibs) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"jitter": "1s"}, "jitter: a job without a schedule has no times to put off"),
            ({"tz": "UTC"}, "no such option of a job: tz"),
            ({"retries": -1}, "retries=-1: give a whole number"),
        ]
        for terms, fault in cases:
            with pytest.raises(ConfigError, match=fault):
                d.job(**terms)
        with pytest.raises(ConfigError, match=r"@d.job\('report'\): say what it is called by name='report'"):
            d.job("report")  # type: ignore[call-overload]
        with pytest.raises(ConfigError, match="7 cannot be a job: it is no function"):
            d.job(7)  # type: ignore[call-overload]

    def test_a_method_without_a_schedule_waits_to_be_bound(self, d: Dibs) -> None:
        class Shop:
            @d.job
            def close(self) -> str:
                return "closed"

        assert repr(vars(Shop)["close"]) == "<JobMethod 'close': no schedule of its own>"
        d.bind(Shop())
        assert [job() for job in d._jobs().jobs()] == ["closed"]

    def test_a_node_of_such_functions_runs_them_for_schedules_that_are_added(self, node: Node) -> None:
        seen = list[tuple[object, ...]]()

        @node.d.job
        def report(run: Run, customer: str) -> None:
            seen.append((run.job, run.schedule, run.source, customer, dict(run.arguments)))

        node.start()
        assert node.diary.of(Serving)[0].jobs == ("report",)
        add(node.d, Definition("acme-report", "every 1s", Terms(), "report", '{"customer":"acme"}'))
        node.step()
        [event] = node.diary.wait_for(RunEnded, 1)
        assert (event.job, event.outcome) == ("acme-report", "ok")
        assert seen == [("report", "acme-report", "schedule", "acme", {"customer": "acme"})]
        node.end()

    def test_arguments_that_do_not_fit_harm_nobody_else(self, node: Node) -> None:
        node.d.job(name="report")(lambda customer: customer)
        node.start()
        add(node.d, Definition("wrong", "every 1s", Terms(), "report", '{"custmer":"acme"}'))
        add(node.d, Definition("right", "every 1s", Terms(), "report", '{"customer":"acme"}'))
        node.step()
        ends = {event.job: event for event in node.diary.wait_for(RunEnded, 2)}
        assert {name: event.outcome for name, event in ends.items()} == {"wrong": "failed", "right": "ok"}
        assert "it takes no 'custmer'; it takes customer" in ends["wrong"].reason
        node.end()


def add(d: Dibs, said: Definition) -> None:
    engine = d._engine
    run_flow(defining.add(engine.blocking("add a schedule"), engine.desk, said, order=Order("add")))


class TestRuns:
    def test_a_backfills_sheet_is_never_shown(self) -> None:
        mine = underway("acme~backfill", source="backfill", function="report", policy="open")
        run = Run(mine)
        assert (run.job, run.schedule, run.source) == ("report", "acme", "backfill")
        assert repr(run).startswith("<Run of 'acme' for ")
        assert run.log.extra is not None
        assert (run.log.extra["job"], run.log.extra["schedule"]) == ("report", "acme")
        with pytest.raises(NoFence, match="the run of 'acme' has no fence"):
            run.fence  # noqa: B018
        mine.ask_to_stop("enough")
        with pytest.raises(RunStopped, match="'acme'"):
            run.ensure()
        mine.forsake("another has it")
        with pytest.raises(LeaseLost, match="'acme'"):
            run.ensure()
        assert Run(underway("nightly~backfill")).job == "nightly"

    def test_arguments_cannot_be_changed(self) -> None:
        arguments: Any = Run(underway("report", {"customer": "acme"})).arguments
        assert arguments == {"customer": "acme"}
        with pytest.raises(TypeError):
            arguments["customer"] = "other"

    def test_a_call_by_hand_has_none_and_was_asked_for(self) -> None:
        run = Run.detached("report")
        assert (run.arguments, run.source, run.job, run.schedule) == ({}, "trigger", "report", "report")
