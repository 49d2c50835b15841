"""Jobs: what may be one, what it is called, and what may be said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import dibs
from dibs import ConfigError, Dibs, NoFence, Run
from dibs.events import JobUnbound, Serving
from dibs.jobs.terms import JobTerms
from tests.client.nodes import Node


@pytest.fixture
def node() -> Iterator[Node]:
    with Node() as node:
        yield node


class TestNames:
    def test_a_job_is_called_as_its_function_wherever_that_stands(self, d: Dibs) -> None:
        @d.every("1s")
        def poll() -> None: ...

        @d.cron("0 3 * * *", name="shop:nightly")
        async def nightly() -> None: ...

        poll.body.function.__module__ = "elsewhere"
        assert (poll.name, nightly.name) == ("poll", "shop:nightly")

    def test_two_jobs_of_one_name_are_refused_and_both_places_are_named(self, d: Dibs) -> None:
        @d.every("1s", name="poll")
        def first() -> None: ...

        with pytest.raises(ConfigError) as raised:

            @d.every("2s", name="poll")
            def second() -> None: ...

        told = str(raised.value)
        assert "two jobs called 'poll'" in told
        assert "name=" in told
        assert first.body.about.name in told
        assert "<locals>.second" in told
        assert told.count("test_jobs.py:") == 2

    def test_one_function_twice_needs_two_names(self, d: Dibs) -> None:
        def poll() -> str:
            return "polled"

        at_night = d.cron("0 3 * * *")(poll)
        with pytest.raises(ConfigError, match="two jobs called 'poll'"):
            d.cron("0 15 * * *")(poll)
        with pytest.raises(ConfigError, match="two jobs called 'poll'"):
            d.cron("0 15 * * *")(at_night)
        at_noon = d.cron("0 12 * * *", name="noon")(at_night)
        assert (at_night(), at_noon(), at_noon.name) == ("polled", "polled", "noon")

    def test_a_module_that_is_loaded_again_brings_the_same_job(self, d: Dibs) -> None:
        text = "def poll() -> int: return 1"
        modules: list[dict[str, Any]] = [{"__name__": "shop"}, {"__name__": "shop"}]
        for module in modules:
            exec(compile(text, "shop.py", "exec"), module)  # noqa: S102 - as an import does
        first, second = [d.every("1s")(module["poll"]) for module in modules]
        assert (first(), second()) == (1, 1)
        assert d._jobs().jobs() == [second]

    @pytest.mark.parametrize(
        ("name", "fault"),
        [
            ("a b ", "may not begin or end with a blank"),
            ("x~lines", "may not end in '~lines'"),
            ("x~backfill", "may not end in '~backfill'"),
            ("~fleet", "may not begin with '~'"),
            ("a}b", "must end a {tag}"),
            ("n" * 201, "at most 200 bytes"),
        ],
    )
    def test_a_name_that_no_store_could_keep_is_refused(self, d: Dibs, name: str, fault: str) -> None:
        with pytest.raises(ConfigError) as raised:
            d.every("1s", name=name)(lambda: None)
        assert f"{name!r} names no job: " in str(raised.value)
        assert fault in str(raised.value)

    def test_what_has_no_name_needs_one(self, d: Dibs) -> None:
        def poll(run: Run, batch: int) -> int:
            return batch

        with pytest.raises(ConfigError, match="give the job one with name="):
            d.every("1s")(lambda: None)
        with pytest.raises(ConfigError, match="give the job one with name="):
            d.every("1s")(partial(poll, Run.detached("a"), 7))
        assert d.every("1s", name="poll")(partial(poll, Run.detached("a"), 7))() == 7


class TestBodies:
    def test_a_job_is_still_called_as_ever(self, d: Dibs) -> None:
        @d.cron("0 3 * * *", tz="Europe/Berlin")
        def nightly(run: Run) -> tuple[str, int]:
            """Closes the books."""
            run.progress(0.5, "half")
            run.ensure()
            assert run.tick.tzinfo == ZoneInfo("Europe/Berlin")
            assert abs(run.tick - datetime.now(UTC)) < timedelta(minutes=1)
            return run.job, run.attempt

        assert nightly() == ("nightly", 1)
        assert (nightly.__doc__, nightly.body.name) == ("Closes the books.", "nightly")
        assert repr(nightly) == "<Job 'nightly': cron 0 3 * * * Europe/Berlin>"
        assert nightly.rule == "cron 0 3 * * * Europe/Berlin"

        @d.every("1s")
        async def poll() -> int:
            return 7

        assert asyncio.run(poll()) == 7
        with pytest.raises(TypeError, match="takes no run"):
            asyncio.run(poll(Run.detached("poll")))

    def test_a_run_of_ones_own_has_no_fence_and_no_policy(self) -> None:
        run = Run.detached("nightly")
        with pytest.raises(NoFence, match=r"the run of 'nightly' has no fence: by a call of your own"):
            run.fence  # noqa: B018
        assert (run.policy, run.lost, run.cancelled) == (None, False, False)
        assert "attempt=1 at work" in repr(run)

    @pytest.mark.parametrize("share", [-0.1, 1.1, True, "half", float("nan")])
    def test_progress_is_a_share(self, share: Any) -> None:
        with pytest.raises(ConfigError, match="from 0 to 1"):
            Run.detached("a").progress(share)

    def test_it_knows_when_it_is_due_next(self, d: Dibs) -> None:
        nightly = d.cron("0 3 * * *", tz="Europe/Berlin", name="nightly")(lambda: None)
        first, second, third = nightly.next(3)
        assert (first.hour, first.minute, first.tzinfo) == (3, 0, ZoneInfo("Europe/Berlin"))
        assert datetime.now(UTC) < first < second < third
        assert nightly.next() == [first]
        for count in (0, True, "3"):
            with pytest.raises(ConfigError, match="say how many"):
                nightly.next(count)  # type: ignore[arg-type]
            with pytest.raises(ConfigError, match="say how many"):
                nightly.history(count)  # type: ignore[arg-type]

    def test_what_cannot_be_called_for_a_run_is_refused(self, d: Dibs) -> None:
        def wants_two(run: Run, this: Run) -> None: ...
        def wants_any(*args: object) -> None: ...
        def wants_by_place(batch: int = 1, /) -> None: ...
        def generates() -> Iterator[int]:
            yield 1

        async def agenerates() -> Any:
            yield 1

        class Poll:
            def __call__(self) -> None: ...

        for body, fault in [
            (
                wants_two,
                r"it takes \(run: 'Run', this: 'Run'\), but there is one run to be given, and not 2: run, this",
            ),
            (wants_any, r"\*args: 'object' is filled by position, .* write them out, or take \*\*kwargs"),
            (wants_by_place, "'batch' cannot be given by its name"),
            (generates, "it is a generator"),
            (agenerates, "it is a generator"),
            (Poll, "it is a class"),
            (7, "it is no function"),
            (staticmethod(wants_two), "@staticmethod above the schedule"),
            (dict.fromkeys, "'iterable' cannot be given by its name"),
            (partial(str, 7), "it does not say what it takes"),
        ]:
            with pytest.raises(ConfigError, match=fault):
                d.every("1s", name="poll")(body)  # type: ignore[call-overload]
        assert d.every("1s", name="poll")(Poll()).name == "poll"

    def test_a_run_is_known_by_its_name_or_its_annotation(self, d: Dibs) -> None:
        def by_name(run):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            return run.job

        def by_annotation(this: dibs.Run) -> str:
            return this.job

        def by_class(this: Any) -> str:
            return str(this.job)

        by_class.__annotations__["this"] = Run
        for body in (by_name, by_annotation, by_class):
            assert d.every("1s")(body)() == body.__name__


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "fault"),
        [
            ({"overlap": "wait"}, "overlap='wait': say one of 'skip', 'queue', 'cancel', 'allow'"),
            ({"catch_up": True}, "catch_up=True: say one of 'latest', 'all', 'none'"),
            ({"catch_up_limit": 0}, "catch_up_limit=0: give a whole number from 1 to 1000"),
            ({"retries": -1}, "retries=-1: give a whole number from 0 to 1000"),
            ({"retries": 1.5}, "retries=1.5: give a whole number"),
            ({"max_attempts": 0}, "max_attempts=0: give a whole number from 1 to 1000"),
            ({"grace": "soon"}, "grace: 'soon' is not a duration"),
            ({"timeout": 0}, "timeout=0 is out of range; it goes from 100ms to 366d"),
            ({"expect": -1}, "expect: -1 is negative"),
            ({"retry_delay": "2h"}, "retry_delay='2h' is out of range; it goes from 0ms to 1h"),
            ({"ttl": 0.5}, "ttl=0.5 is out of range; it goes from 1s to 7d"),
            ({"on_outage": "skip"}, "on_outage='skip': say one of 'closed', 'open', 'local'"),
            ({"keep": 0}, "keep=0: give a whole number from 1 to 100000"),
            ({"keep_for": 1}, "keep_for=1 is out of range"),
            ({"process": "yes"}, "process='yes': say True or False"),
            ({"jitter": "-1s"}, "jitter: '-1s' is not a duration"),
            ({"retry": 3}, "no such option of a job: retry; there are catch_up, catch_up_limit, expect, grace"),
        ],
    )
    def test_what_is_wrong_is_told_where_it_is_said(self, d: Dibs, options: dict[str, Any], fault: str) -> None:
        schedules: list[Callable[..., Any]] = [partial(d.every, "1s"), partial(d.cron, "0 3 * * *")]
        for schedule in schedules:
            with pytest.raises(ConfigError) as raised:
                schedule(**options)
            assert fault in str(raised.value)

    def test_what_is_wrong_with_the_times_is_told_too(self, d: Dibs) -> None:
        cases: list[tuple[Callable[[], object], str]] = [
            (lambda: d.cron("0 3 * *"), "it has 4 fields"),
            (lambda: d.cron("0 3 * * *", tz="Mars/Olympus"), "Mars/Olympus"),
            (lambda: d.cron("0 3 * * *", seconds="yes"), "seconds='yes'"),  # type: ignore[arg-type]
            (lambda: d.every("1ms"), "out of range"),
            (lambda: d.every(print), "every"),  # type: ignore[arg-type]
        ]
        for schedule, fault in cases:
            with pytest.raises(ConfigError, match=fault):
                schedule()

    def test_what_is_said_is_what_holds(self, d: Dibs) -> None:
        said: JobTerms = {"grace": "10m", "timeout": "1h", "expect": "5m", "ttl": "20s", "keep": 5, "keep_for": "1d"}
        said |= {"retries": 2, "retry_delay": "5s", "max_attempts": 3, "on_outage": "open"}
        said |= {"name": "a", "overlap": "queue", "catch_up": "all", "catch_up_limit": 7}
        job = d.cron("@daily", **said)(lambda: None)
        terms = job.duty.terms
        assert (terms.overlap, terms.catch_up, terms.most, terms.grace) == ("queue", "all", 7, 600)
        assert (terms.retries, terms.retry_delay, terms.timeout, terms.expect) == (2, 5, 3600, 300)
        assert (terms.max_attempts, terms.ttl, terms.keep, terms.keep_for) == (3, 20, 5, 86400)
        assert job.duty.on_outage == "open"

    def test_a_clients_policy_and_ttl_hold_where_none_is_said(self) -> None:
        for policy, meant in [("open", "open"), ("skip", "closed"), ("closed", "closed")]:
            with dibs.connect("memory://", on_outage=policy, ttl="45s", quiet=True) as d:  # type: ignore[arg-type]
                duty = d.every("1s", name="a")(lambda: None).duty
                assert (duty.on_outage, duty.terms.ttl) == (meant, 45)


class TestMethods:
    def test_a_method_is_a_job_once_an_instance_is_bound(self, node: Node) -> None:
        class Shop:
            def __init__(self, name: str) -> None:
                self.name = name

            @node.d.every("1s")
            def close(self, run: Run) -> str:
                return f"{self.name} {run.attempt}"

            @node.d.every("1h", name="open")
            async def begin(self) -> str:
                return self.name

        shop = Shop("berlin")
        assert (shop.close(), asyncio.run(shop.begin()), Shop.close(shop)) == ("berlin 1", "berlin", "berlin 1")
        assert repr(Shop.close) == "<JobMethod 'close': every 1s>"
        assert node.d.bind(shop) is shop
        node.d.bind(shop)
        node.start()
        assert node.diary.of(Serving)[0].jobs == ("close", "open")
        assert node.outcome(shop.close).result == "berlin 1"
        node.end()

    def test_a_second_instance_is_refused(self, d: Dibs) -> None:
        class Shop:
            @d.every("1s")
            def close(self) -> None: ...

        d.bind(Shop())
        with pytest.raises(ConfigError, match=r"the job 'close' .* is bound to an instance already"):
            d.bind(Shop())

    def test_heirs_bring_what_they_have_not_replaced(self, d: Dibs) -> None:
        class Shop:
            @d.every("1s")
            def close(self) -> str:
                return type(self).__name__

            @d.every("1s")
            def begin(self) -> None: ...

        class Kiosk(Shop):
            begin = None  # type: ignore[assignment]

        d.bind(Kiosk())
        roster = d._jobs()
        assert [job.name for job in roster.jobs()] == ["close"]
        assert [method.name for method in roster.unbound()] == ["begin"]
        assert roster.jobs()[0]() == "Kiosk"

    def test_what_has_no_schedule_of_this_client_cannot_be_bound(self, d: Dibs) -> None:
        with dibs.connect("memory://", quiet=True) as other:

            class Shop:
                @other.every("1s")
                def close(self) -> None: ...

            for instance in (Shop(), 7):
                with pytest.raises(ConfigError, match="none of its methods has a schedule of this client"):
                    d.bind(instance)

    def test_static_methods_need_no_instance(self, d: Dibs) -> None:
        class Shop:
            @staticmethod
            @d.every("1s")
            def close() -> int:
                return 7

            @staticmethod
            @d.every("1s")
            def begin(run: Run) -> str:
                return run.job

        assert (Shop.close(), Shop().close(), Shop.begin()) == (7, 7, "begin")
        assert [job.name for job in d._jobs().jobs()] == ["close", "begin"]

    def test_a_method_of_nobody_is_told_when_it_should_be_served(self, node: Node) -> None:
        class Shop:
            @node.d.every("1s")
            def close(self) -> None: ...

        with pytest.raises(ConfigError, match="nothing to serve"):
            node.d.serve()
        [told] = node.diary.of(JobUnbound)
        assert told.job == "close"
        assert "Shop.close" in told.function
