"""Schedules as data: added, changed, removed and listed while the fleet runs, beside those of code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import dibs
from dibs import ActRefused, ConfigError, Dibs, NoSuchJob, ScheduleView
from dibs.config import Config
from dibs.events import Acted, RunEnded
from dibs.ports.wire import Backend
from dibs.stores import open_store
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from tests.client.nodes import LONG, START, Clock, Node
from tests.client.people import Says, blocking, in_a_loop
from tests.servers.fixtures import on_valkey_9

in_both_colours = pytest.mark.parametrize("say", [blocking, in_a_loop], ids=["blocking", "asyncio"])
NOW = datetime.fromtimestamp(START, UTC)


def shown(d: Dibs, name: str) -> ScheduleView:
    view = d.schedules.get(name)
    assert view is not None
    return view


class Listing:
    """Subclass it and give a `backend` fixture."""

    @pytest.fixture
    def d(self, backend: Backend, diary: Diary) -> Iterator[Dibs]:
        with Dibs(backend, observers=[diary]) as d:
            yield d

    @in_both_colours
    def test_one_is_added_changed_and_removed(self, d: Dibs, diary: Diary, say: Says) -> None:
        assert say(d.schedules, "get", "berlin") is None
        said = {"cron": "0 3 * * *", "tz": "Europe/Berlin", "arguments": {"city": "Berlin"}}
        say(d.schedules, "add", "berlin", job="report", retries=2, by="alice", reason="a new office", **said)
        view = say(d.schedules, "get", "berlin")
        zone = ZoneInfo("Europe/Berlin")
        assert (view.name, view.job, view.rule) == ("berlin", "report", "cron 0 3 * * * Europe/Berlin")
        assert view.words == "at 03:00 every day, Europe/Berlin time"
        assert (view.arguments, view.labels, view.version, view.origin) == ({"city": "Berlin"}, (), 1, "data")
        assert (view.next_due.hour, view.next_due.tzinfo, view.defined_at.tzinfo) == (3, zone, zone)
        assert (view.paused, view.running, view.waiting, view.backfill, view.gone) == (None, (), (), None, None)
        say(d.schedules, "change", "berlin", tz="UTC", arguments={"city": "Bonn"}, by="bert")
        view = say(d.schedules, "get", "berlin")
        assert (view.rule, view.arguments, view.version) == ("cron 0 3 * * * UTC", {"city": "Bonn"}, 2)
        say(d.schedules, "remove", "berlin", reason="closed")
        view = say(d.schedules, "get", "berlin")
        assert (view.gone, view.next_due) == ("removed", None)
        assert say(d.schedules, "list") == []
        acts = [(event.job, event.act, event.reason) for event in diary.of(Acted)]
        assert acts == [("berlin", "added", "a new office"), ("berlin", "changed", ""), ("berlin", "removed", "closed")]
        say(d.schedules, "add", "berlin", job="report", every="90s")
        assert say(d.schedules, "get", "berlin").version == 4, "what it was before is not forgotten"

    @in_both_colours
    def test_many_are_added_at_once_and_listed_by_name(self, d: Dibs, say: Says) -> None:
        some: dict[str, Any] = {f"shop {number:03}": {"job": "report", "every": "1h"} for number in range(250)}
        assert say(d.schedules, "add_all", some, by="alice") == 250
        assert say(d.schedules, "add_all", {**some, "b": {"job": "report", "cron": "@daily"}}) == 1
        assert [view.name for view in say(d.schedules, "list", limit=2)] == ["b", "shop 000"]
        assert [view.name for view in say(d.schedules, "list", "shop", after="shop 247")] == ["shop 248", "shop 249"]
        assert len(say(d.schedules, "list", "shop 0")) == 100
        assert len(say(d.schedules, "list", limit=1_000)) == 251
        with pytest.raises(ActRefused, match="cannot add 'shop 007': there is one of that name already"):
            say(d.schedules, "add_all", {"shop 007": {"job": "report", "every": "2h"}})


class TestInMemory(Listing):
    @pytest.fixture
    def backend(self) -> Backend:
        return MemoryBackend()


class TestOnAFile(Listing):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return open_store(f"sqlite:///{tmp_path}/dibs.sqlite")


@on_valkey_9
class TestOnAServer(Listing):
    @pytest.fixture
    def backend(self, server_url: str) -> Backend:
        return open_store(server_url)


class TestChanges:
    @pytest.fixture
    def d(self) -> Iterator[Dibs]:
        with Dibs(MemoryBackend(clock=Clock()), config=Config(ttl=12.0)) as d:
            d.schedules.add("berlin", job="report", cron="0 3 * * *", tz="Europe/Berlin", jitter="10s", grace="5m")
            yield d

    @pytest.mark.parametrize(
        ("said", "rule"),
        [
            ({"cron": "0 4 * * *"}, "cron 0 4 * * * Europe/Berlin jitter=10s"),
            ({"cron": "5 0 4 * * *", "seconds": True}, "cron 5 0 4 * * * Europe/Berlin jitter=10s"),
            ({"cron": "@hourly", "tz": "UTC", "jitter": 0}, "cron 0 * * * * UTC"),
            ({"tz": "Asia/Tokyo"}, "cron 0 3 * * * Asia/Tokyo jitter=10s"),
            ({"every": "90s"}, "every 90s jitter=10s"),
            ({"jitter": "1m"}, "cron 0 3 * * * Europe/Berlin jitter=60s"),
            ({"grace": "1h"}, "cron 0 3 * * * Europe/Berlin jitter=10s"),
        ],
    )
    def test_what_is_not_said_stays(self, d: Dibs, said: dict[str, Any], rule: str) -> None:
        d.schedules.change("berlin", **said)
        assert shown(d, "berlin").rule == rule

    def test_a_rule_with_seconds_keeps_them(self, d: Dibs) -> None:
        d.schedules.change("berlin", cron="5 0 4 * * *", seconds=True)
        d.schedules.change("berlin", tz="UTC")
        assert shown(d, "berlin").rule == "cron 5 0 4 * * * UTC jitter=10s"

    def test_an_interval_becomes_an_expression_in_utc(self, d: Dibs) -> None:
        d.schedules.change("berlin", every="90s", jitter=0)
        d.schedules.change("berlin", jitter="1s")
        assert shown(d, "berlin").rule == "every 90s jitter=1s"
        d.schedules.change("berlin", cron="0 5 * * *")
        assert shown(d, "berlin").rule == "cron 0 5 * * * UTC jitter=1s"

    def test_terms_that_are_not_said_stay_and_only_times_make_a_new_version(self, d: Dibs) -> None:
        d.schedules.change("berlin", retries=3, catch_up="all", catch_up_limit=7)
        d.schedules.change("berlin", arguments={"city": "Bonn"})
        d.schedules.change("berlin", timeout="1h")
        terms = _terms(d, "berlin")
        assert (terms.retries, terms.catch_up, terms.most, terms.timeout) == (3, "all", 7, 3600.0)
        assert (terms.grace, terms.ttl) == (300.0, 12.0), "as they were added"
        assert (shown(d, "berlin").arguments, shown(d, "berlin").version) == ({"city": "Bonn"}, 1)
        d.schedules.change("berlin", arguments=None)
        assert shown(d, "berlin").arguments == {}

    def test_labels_can_be_said(self, d: Dibs) -> None:
        d.schedules.change("berlin", labels="gpu,eu")
        assert shown(d, "berlin").labels == ("eu", "gpu")
        d.schedules.change("berlin", retries=1)
        assert shown(d, "berlin").labels == ("eu", "gpu")

    def test_a_paused_one_stays_paused(self, d: Dibs) -> None:
        d.schedules.pause("berlin")
        d.schedules.change("berlin", cron="0 4 * * *")
        assert (shown(d, "berlin").paused is not None, shown(d, "berlin").next_due) == (True, None)

    def test_what_is_gone_or_was_never_there_cannot_be_changed(self, d: Dibs) -> None:
        d.schedules.remove("berlin")
        with pytest.raises(ActRefused, match="cannot change 'berlin': it was removed: add it anew"):
            d.schedules.change("berlin", every="1h")
        with pytest.raises(NoSuchJob, match="no job is called 'rome' here"):
            d.schedules.change("rome", every="1h")
        with pytest.raises(NoSuchJob):
            d.schedules.remove("rome")


def _terms(d: Dibs, name: str) -> Any:
    from dibs.flows import controlling  # noqa: PLC0415
    from dibs.runtime.blocking import run  # noqa: PLC0415

    found = run(controlling.find(d._engine.blocking("look"), d._engine.desk, name))
    assert found is not None
    return found.job.terms


class TestWhatMakesNoSense:
    @pytest.fixture
    def d(self) -> Iterator[Dibs]:
        with Dibs(MemoryBackend()) as d:
            d.schedules.add("hourly", job="report", every="1h")
            yield d

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ({"every": "1h"}, "'x': job=None: name the function that does it"),
            ({"job": "report"}, "'x': say when it is due by either cron='0 3 [*] [*] [*]' or every='90s'"),
            ({"job": "report", "every": "1h", "cron": "@daily"}, "say when it is due by either cron="),
            ({"job": "report", "every": "1h", "tz": "UTC"}, "'x': tz can only be said with cron="),
            ({"job": "report", "cron": "0 3"}, "cron '0 3': it has 2 fields"),
            ({"job": "report", "every": "1h", "on_outage": "open"}, "only the store knows cannot be run without it"),
            ({"job": "report", "every": "1h", "process": True}, "no such option here: process; there are .*cron"),
            ({"job": "report", "every": "1h", "retries": -1}, "retries=-1: give a whole number"),
            ({"job": "~report", "every": "1h"}, "'~report' names no job"),
            ({"job": "report", "every": "1h", "arguments": 7}, "arguments=7: give them by name"),
        ],
    )
    def test_it_is_told_what_would_be_right(self, d: Dibs, said: dict[str, Any], told: str) -> None:
        with pytest.raises(ConfigError, match=told):
            d.schedules.add("x", **said)
        with pytest.raises(ConfigError, match=told):
            d.schedules.add_all({"x": said})  # type: ignore[dict-item]
        with pytest.raises(ConfigError, match=told):
            asyncio.run(d.schedules.aadd("x", **said))
        assert len(d.schedules.list()) == 1

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ({}, "say what is to be otherwise, as in cron="),
            ({"tz": "Europe/Berlin"}, "'hourly': tz can only be said with cron="),
            ({"job": "other"}, "no such option here: job"),
            ({"on_outage": "local"}, "only the store knows cannot be run without it"),
            ({"cron": "@daily", "every": "1h"}, "say when it is due by either"),
        ],
    )
    def test_no_change_is_told_what_would_be_right(self, d: Dibs, said: dict[str, Any], told: str) -> None:
        with pytest.raises(ConfigError, match=told):
            d.schedules.change("hourly", **said)

    def test_that_it_waits_for_the_store_may_be_said(self, d: Dibs) -> None:
        d.schedules.add("x", job="report", every="1h", on_outage="closed")

    @pytest.mark.parametrize("limit", [0, 1_001, True, "5"])
    def test_a_list_has_an_end(self, d: Dibs, limit: Any) -> None:
        with pytest.raises(ConfigError, match="say how many, from 1 to 1000; after= gives the next ones"):
            d.schedules.list(limit=limit)

    def test_arguments_that_a_function_of_this_process_does_not_take_are_refused(self, d: Dibs) -> None:
        @d.job(name="report")
        def report(*, city: str) -> None: ...

        with pytest.raises(ConfigError, match=r"arguments={'town': 'Rome'} do not fit .*report"):
            d.schedules.add("rome", job=report, every="1h", arguments={"town": "Rome"})
        d.schedules.add("rome", job=report, every="1h", arguments={"city": "Rome"})
        with pytest.raises(ConfigError, match=r"arguments={} do not fit .*report"):
            d.schedules.change("rome", arguments=None)


class TestBesideCode:
    @pytest.fixture
    def node(self) -> Iterator[Node]:
        with Node() as node:
            yield node

    def test_what_a_live_nodes_code_defines_is_shown_and_changed_but_not_removed(self, node: Node) -> None:
        job = node.d.every("1h", name="hourly")(lambda: None)
        node.start()
        view = shown(node.d, "hourly")
        assert (view.origin, view.rule, view.job) == ("code", "every 3600s", "hourly")
        with pytest.raises(ActRefused, match="the code of a live node defines it: pause it instead, or delete it from"):
            node.d.schedules.remove("hourly")
        job.pause(reason="instead")
        node.d.schedules.change("hourly", every="2h")
        view = shown(node.d, "hourly")
        assert (view.origin, view.rule) == ("data", "every 7200s")
        node.end()

    def test_a_function_without_a_schedule_is_shown_and_can_be_given_one(self, node: Node) -> None:
        report = node.d.job(name="report")(lambda: "told")
        node.start()
        view = shown(node.d, "report")
        assert (view.rule, view.words, view.next_due) == ("", "only when somebody triggers it", None)
        assert report.backfill(NOW - timedelta(days=1), NOW).count == 0
        tick = report.trigger()
        node.wake()
        node.diary.wait_for(RunEnded, 1)
        [ran] = report.history()
        assert (ran.tick, ran.result, ran.source) == (tick, "told", "trigger")
        with pytest.raises(ConfigError, match="'report': say when it is due by either cron="):
            node.d.schedules.change("report", jitter="1s")
        node.d.schedules.change("report", every="1h")
        assert shown(node.d, "report").next_due == NOW + timedelta(hours=1)
        node.end()

    def test_nothing_fires_by_what_held_before_a_change(self, node: Node) -> None:
        ticks, ran = list[datetime](), threading.Event()

        @node.d.every("1s", name="often")
        def often(run: dibs.Run) -> None:
            ticks.append(run.tick)
            ran.set()

        node.start()
        node.step()
        assert ran.wait(LONG)
        node.d.schedules.change("often", every="1h")
        before = len(ticks)
        for _ in range(5):
            asks = node.clock.asks
            node.step()
            node.clock.wait_for_asks(asks + 4)
        assert len(ticks) == before == 1
        assert shown(node.d, "often").next_due == NOW + timedelta(hours=1)
        node.end()

    def test_one_whose_client_is_disabled_controls_its_own_process(self) -> None:
        with Dibs(MemoryBackend(), config=Config(enabled=False)) as d:
            d.schedules.add("hourly", job="report", every="1h")
            assert [view.name for view in d.schedules.list()] == ["hourly"]
            d.freeze()
            assert d.frozen() is not None


def test_the_public_names_are_there() -> None:
    for name in ("ActRefused", "Backfill", "BackfillView", "NoSuchJob", "PauseView", "ScheduleView", "Schedules"):
        assert name in dibs.__all__
        assert getattr(dibs, name).__name__ == name
