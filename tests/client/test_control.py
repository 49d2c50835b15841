"""People's control of jobs: by name and by the job in hand, in both colours, on every kind of store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from dibs import ActRefused, ConfigError, Dibs, NoSuchJob, PauseView
from dibs.events import Acted
from dibs.ports.wire import Backend
from dibs.stores import open_store
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from tests.chaos.fleet import until as wait_until
from tests.client.nodes import START, Clock
from tests.client.people import Says, at_work, blocking, in_a_loop
from tests.servers.fixtures import on_valkey_9

in_both_colours = pytest.mark.parametrize("say", [blocking, in_a_loop], ids=["blocking", "asyncio"])
NOW = datetime.fromtimestamp(START, UTC)


class Control:
    """Subclass it and give a `backend` fixture."""

    @in_both_colours
    def test_a_function_without_a_schedule_is_run_when_somebody_asks(
        self, backend: Backend, people: Dibs, say: Says
    ) -> None:
        with at_work(backend) as node:
            wait_until(lambda: people.schedules.get("report") is not None)
            tick = say(people.schedules, "trigger", "report", {"city": "Rome"})
            node.ended(1)
            assert node.reports == [("Rome", tick.timestamp())]

    @pytest.fixture
    def people(self, backend: Backend, diary: Diary) -> Iterator[Dibs]:
        """Somebody who serves nothing."""
        with Dibs(backend, observers=[diary]) as d:
            d.schedules.add("berlin", job="report", every="300d", arguments={"city": "Berlin"})
            d.schedules.add("long", job="wait", every="300d")
            yield d

    @in_both_colours
    def test_what_is_triggered_on_one_client_is_run_by_a_node_though_it_is_paused(
        self, backend: Backend, people: Dibs, say: Says
    ) -> None:
        with at_work(backend) as node:
            say(people.schedules, "pause", "berlin", reason="not yet")
            first = say(people.schedules, "trigger", "berlin")
            node.ended(1)
            second = say(people.schedules, "trigger", "berlin", {"city": "Rome"}, by="alice", reason="a look")
            node.ended(2)
            assert node.reports == [("Berlin", first.timestamp()), ("Rome", second.timestamp())]
        view = people.schedules.get("berlin")
        assert view is not None
        assert view.paused is not None
        assert view.paused.reason == "not yet"
        [rome, berlin] = people.job(name="berlin")(lambda: None).history()
        assert [(each.tick, each.source, each.result) for each in (berlin, rome)] == [
            (first, "trigger", "Berlin"),
            (second, "trigger", "Rome"),
        ]

    @in_both_colours
    @pytest.mark.parametrize("by_tick", [False, True])
    def test_a_run_is_cancelled_where_it_is_done(
        self, backend: Backend, people: Dibs, say: Says, by_tick: bool
    ) -> None:
        with at_work(backend) as node:
            tick = people.schedules.trigger("long")
            assert node.waits.wait(20)
            with pytest.raises(ActRefused, match="nothing is under way for that tick"):
                say(people.schedules, "cancel", "long", tick + timedelta(seconds=1))
            view = people.schedules.get("long")
            assert view is not None
            assert [(run.tick, run.source, run.cancelled_by) for run in view.running] == [(tick, "trigger", "")]
            say(people.schedules, "cancel", "long", tick if by_tick else None, by="alice", reason="too long")
            [ended] = node.ended(1)
            assert node.stopped.is_set()
        assert (ended.outcome, ended.reason) == ("cancelled", "cancelled by alice: too long")

    @in_both_colours
    def test_a_backfill_is_looked_at_first_and_then_run_by_two_nodes_each_tick_once(
        self, backend: Backend, people: Dibs, say: Says
    ) -> None:
        say(people.schedules, "change", "berlin", every="1h")
        now = datetime.now(UTC) if not isinstance(backend, MemoryBackend) else NOW
        since = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=50)
        ticks = say(people.schedules, "backfill", "berlin", since, since + timedelta(hours=49, minutes=1))
        assert (ticks.count, ticks.job, len(ticks.ticks), ticks.ticks[0]) == (50, "berlin", 50, since)
        assert repr(ticks) == "<Backfill of 'berlin': 50 ticks>"
        with at_work(backend) as one, at_work(backend) as two:
            say(ticks, "start", 3, by="alice", reason="the ledger was wrong")
            wait_until(lambda: _is_filled_in(people))
            one.ended(len(one.reports))
            two.ended(len(two.reports))
        found = one.reports + two.reports
        assert Counter(found) == {("Berlin", tick.timestamp()): 1 for tick in ticks.ticks}

    @in_both_colours
    def test_a_backfill_can_be_stopped(self, backend: Backend, people: Dibs, say: Says) -> None:
        say(people.schedules, "change", "long", every="1h")
        now = datetime.now(UTC) if not isinstance(backend, MemoryBackend) else NOW
        with at_work(backend) as node:
            say(people.schedules, "backfill", "long", now - timedelta(hours=10), now).start(reason="again")
            assert node.waits.wait(20)
            view = people.schedules.get("long")
            assert view is not None
            assert view.backfill is not None
            assert (len(view.backfill.pending), view.backfill.is_over, view.backfill.reason) == (1, False, "again")
            say(people.schedules, "stop_backfill", "long")
            node.ended(1)
            wait_until(lambda: _is_filled_in(people, "long"))
            with pytest.raises(ActRefused, match="no backfill of it is under way"):
                say(people.schedules, "stop_backfill", "long")
        assert [ended.outcome for ended in node.ended(1)] == ["cancelled"]

    @in_both_colours
    def test_a_frozen_fleet_claims_nothing_until_it_thaws(
        self, backend: Backend, people: Dibs, say: Says, diary: Diary
    ) -> None:
        assert say(people, "frozen") is None
        say(people, "freeze", "1h", by="alice", reason="the move")
        found = say(people, "frozen")
        assert isinstance(found, PauseView)
        assert found.until is not None
        assert (found.by, found.reason, found.until - found.at) == ("alice", "the move", timedelta(hours=1))
        with at_work(backend) as node:
            wait_until(node.sees_the_freeze)
            people.schedules.trigger("berlin")
            assert node.reports == []
            say(people, "thaw", by="bert")
            node.ended(1)
        assert say(people, "frozen") is None
        told = [(event.job, event.act, event.by) for event in diary.of(Acted)]
        assert [each for each in told if not each[0]] == [("", "frozen", "alice"), ("", "thawed", "bert")]
        with pytest.raises(ActRefused, match="cannot thaw the fleet"):
            say(people, "thaw")

    @in_both_colours
    def test_a_schedule_that_is_data_is_seen_by_a_node_that_serves_already(
        self, backend: Backend, people: Dibs, say: Says
    ) -> None:
        with at_work(backend) as node:
            say(people.schedules, "add", "rome", job="report", every="300d", arguments={"city": "Rome"})
            say(people.schedules, "trigger", "rome")
            node.ended(1)
            view = say(node.d.schedules, "get", "rome")
            assert (view.arguments, view.origin, view.job) == ({"city": "Rome"}, "data", "report")
            assert node.reports[0][0] == "Rome"


def _is_filled_in(d: Dibs, name: str = "berlin") -> bool:
    view = d.schedules.get(name)
    return view is not None and view.backfill is not None and view.backfill.is_over


class TestInMemory(Control):
    @pytest.fixture
    def backend(self) -> Backend:
        return MemoryBackend(clock=Clock())


class TestOnAFile(Control):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return open_store(f"sqlite:///{tmp_path}/dibs.sqlite")


@on_valkey_9
class TestOnAServer(Control):
    @pytest.fixture
    def backend(self, server_url: str) -> Backend:
        return open_store(server_url)


class TestBetweenTicks:
    """On a clock that stands until it is stepped."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def backend(self, clock: Clock) -> Backend:
        return MemoryBackend(clock=clock)

    @pytest.fixture
    def people(self, backend: Backend) -> Iterator[Dibs]:
        with Dibs(backend) as d:
            yield d

    @in_both_colours
    def test_the_next_tick_is_skipped_and_which_that_is_is_told(self, people: Dibs, say: Says) -> None:
        people.schedules.add("berlin", job="report", cron="0 3 * * *", tz="Europe/Berlin")
        tick = say(people.schedules, "skip_next", "berlin", by="alice")
        assert tick == datetime(2027, 1, 16, 3, tzinfo=ZoneInfo("Europe/Berlin"))
        assert tick.tzinfo == ZoneInfo("Europe/Berlin")
        view = people.schedules.get("berlin")
        assert view is not None
        assert view.next_due == tick + timedelta(days=1)

    @in_both_colours
    def test_a_pause_ends_by_itself_or_when_it_is_resumed(self, people: Dibs, clock: Clock, say: Says) -> None:
        people.schedules.add("berlin", job="report", every="60s")
        say(people.schedules, "pause", "berlin", until="2h", reason="DB work")
        view = people.schedules.get("berlin")
        assert view is not None
        assert view.paused is not None
        assert (view.paused.at, view.paused.until, view.paused.reason) == (NOW, NOW + timedelta(hours=2), "DB work")
        assert view.next_due == NOW + timedelta(hours=2)
        clock.now += 7_200
        view = people.schedules.get("berlin")
        assert view is not None
        assert view.paused is None
        say(people.schedules, "pause", "berlin", until=NOW + timedelta(days=1))
        say(people.schedules, "resume", "berlin", reason="done sooner")
        with pytest.raises(ActRefused, match="cannot resume 'berlin': it is not paused"):
            say(people.schedules, "resume", "berlin")

    @in_both_colours
    def test_a_job_in_hand_is_controlled_as_by_its_name(
        self, people: Dibs, backend: Backend, clock: Clock, say: Says
    ) -> None:
        with at_work(backend) as node:
            job = people.every("1h", name="hourly")(lambda: None)
            with pytest.raises(NoSuchJob, match="no job is called 'hourly' here: nobody has served it yet"):
                say(job, "pause")
            people.schedules.add("hourly", job="wait", every="1h")
            say(job, "pause", "1h", by="alice")
            say(job, "resume")
            assert say(job, "skip_next") == NOW + timedelta(hours=1)
            tick = say(job, "trigger", reason="now")
            assert node.waits.wait(20)
            say(job, "cancel", tick)
            node.ended(1)
            node.waits.clear()
            say(say(job, "backfill", NOW - timedelta(hours=3), NOW), "start")
            assert node.waits.wait(20)
            say(job, "stop_backfill")
            node.ended(2)

    def test_who_does_not_say_who_it_is_is_this_process(self, people: Dibs) -> None:
        people.schedules.add("berlin", job="report", every="60s")
        people.schedules.pause("berlin")
        view = people.schedules.get("berlin")
        assert view is not None
        assert view.paused is not None
        assert view.paused.by == people._engine.desk.who

    def test_more_ticks_than_a_backfill_may_have_are_shown_in_part_and_not_begun(self, people: Dibs) -> None:
        people.schedules.add("berlin", job="report", every="60s")
        ticks = people.schedules.backfill("berlin", NOW - timedelta(days=365), NOW)
        assert (ticks.count, len(ticks.ticks)) == (100_001, 1_000)
        with pytest.raises(ActRefused, match="that is more than 100,000 ticks: do it in parts"):
            ticks.start()

    def test_a_backfill_of_what_was_changed_since_is_refused(self, people: Dibs) -> None:
        people.schedules.add("berlin", job="report", every="60s")
        ticks = people.schedules.backfill("berlin", NOW - timedelta(hours=1), NOW)
        people.schedules.change("berlin", every="1h")
        with pytest.raises(ActRefused, match="look again"):
            ticks.start()


class TestWhatMakesNoSense:
    @pytest.fixture
    def d(self) -> Iterator[Dibs]:
        with Dibs(MemoryBackend(clock=Clock())) as d:
            d.schedules.add("berlin", job="report", every="1h")
            yield d

    @pytest.mark.parametrize(
        ("verb", "options", "told"),
        [
            ("pause", {"until": "soon"}, "until: 'soon' is not a duration; .* or a datetime with a time zone"),
            ("pause", {"until": 0}, "until=0 is out of range"),
            ("pause", {"until": "200000w"}, "until='200000w' is out of range"),
            ("pause", {"until": datetime(2030, 1, 1)}, "give a datetime with a time zone"),  # noqa: DTZ001
            ("pause", {"until": datetime(1960, 1, 1, tzinfo=UTC)}, "give a moment from 1970 on"),
            ("pause", {"reason": "x" * 201}, "reason='x+': a reason may have at most 200 bytes"),
            ("pause", {"by": 7}, "by=7: a by is text"),
            ("cancel", {"tick": 7}, "tick=7: give a datetime with a time zone"),
            ("trigger", {"arguments": [1]}, r"arguments=\[1\]: give them by name"),
            ("trigger", {"arguments": {1: 2}}, "arguments={1: 2}: give them by name"),
            ("trigger", {"arguments": {"at": NOW}}, "only what JSON can say is kept in a store"),
            ("trigger", {"arguments": {"x": float("nan")}}, "only what JSON can say is kept in a store"),
            ("trigger", {"arguments": {"x": "y" * 20_000}}, "16384 are the most"),
            ("backfill", {"since": NOW, "until": NOW - timedelta(1)}, "name the earlier one first"),
        ],
    )
    def test_it_is_told_what_would_be_right(self, d: Dibs, verb: str, options: dict[str, Any], told: str) -> None:
        with pytest.raises(ConfigError, match=told):
            getattr(d.schedules, verb)("berlin", **options)
        with pytest.raises(ConfigError, match=told):
            asyncio.run(getattr(d.schedules, f"a{verb}")("berlin", **options))

    @pytest.mark.parametrize("name", ["~fleet", "berlin~backfill", "", "a "])
    def test_what_names_no_job_is_refused(self, d: Dibs, name: str) -> None:
        with pytest.raises(ConfigError, match="names no job"):
            d.schedules.pause(name)

    @pytest.mark.parametrize("parallel", [0, 101, True, "2"])
    def test_so_many_at_once_make_no_sense(self, d: Dibs, parallel: Any) -> None:
        ticks = d.schedules.backfill("berlin", NOW - timedelta(hours=2), NOW)
        with pytest.raises(ConfigError, match=r"parallel=.*: say how many at a time, from 1 to 100"):
            ticks.start(parallel)

    def test_arguments_that_its_function_does_not_take_are_refused_where_it_is_known(self, d: Dibs) -> None:
        def report(*, city: str) -> None: ...

        job = d.job(report)
        with pytest.raises(ConfigError, match=r"arguments={'town': 1} do not fit .*report"):
            d.schedules.trigger("berlin", {"town": 1})
        with pytest.raises(ConfigError, match=r"arguments={} do not fit .*report"):
            d.schedules.trigger("berlin")
        d.schedules.add("report", job=job, every="1h", arguments={"city": "Rome"})
        with pytest.raises(ConfigError, match=r"arguments={'town': 1} do not fit .*report"):
            job.trigger({"town": 1})
        job.trigger({"city": "Bonn"})

    def test_a_moment_that_has_passed_is_no_end_of_a_pause(self, d: Dibs) -> None:
        with pytest.raises(ActRefused, match="cannot pause 'berlin': that moment has passed"):
            d.schedules.pause("berlin", until=NOW - timedelta(seconds=1))
        with pytest.raises(ActRefused, match="cannot freeze the fleet: that moment has passed"):
            d.freeze(until=NOW - timedelta(seconds=1))
