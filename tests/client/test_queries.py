"""What people and pages ask about jobs, in both colours, on every kind of store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dibs import ConfigError, Dibs, Page, RunView, Spread
from dibs.model.record import Record
from dibs.ports.wire import Backend
from dibs.runtime.blocking import run
from dibs.stores import open_store
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from tests.client.people import Says, at_work, blocking, in_a_loop
from tests.servers.fixtures import on_valkey_9

in_both_colours = pytest.mark.parametrize("say", [blocking, in_a_loop], ids=["blocking", "asyncio"])
SOON = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
"""Histories are pruned: what is noted must not be too old."""


def at(second: float) -> datetime:
    return SOON + timedelta(seconds=second)


def ran(second: float, outcome: Any = "ok", node: str = "ann", **more: Any) -> Record:
    tick = at(second).timestamp()
    return Record(tick, outcome, tick, node=node, started_at=tick + second, ended_at=tick + 3 * second, **more)


def note(d: Dibs, sheet: str, *records: Record) -> None:
    entries = [record.entry(sheet, sheet.removesuffix("~backfill")) for record in records]
    run(d._engine.blocking("note").ask(d._engine.desk.store.note(sheet, entries, 10_000, 1e7), 5.0))


class Questions:
    """Subclass it and give a `backend` fixture."""

    @pytest.fixture
    def d(self, backend: Backend, diary: Diary) -> Iterator[Dibs]:
        with Dibs(backend, observers=[diary]) as d:
            yield d

    @in_both_colours
    def test_runs_by_job_state_node_and_time(self, d: Dibs, say: Says) -> None:
        note(d, "report", ran(1), ran(2, "failed"), ran(3, node="bob"), ran(4, "failed", "bob"))
        note(d, "other", ran(5))
        note(d, "report~backfill", ran(6, source="backfill"))

        def seconds(**wanted: Any) -> list[int]:
            page: Page[RunView] = say(d, "runs", **wanted)
            assert page.is_complete
            return [round((view.tick - SOON).total_seconds()) for view in page]

        assert seconds() == [6, 5, 4, 3, 2, 1]
        assert seconds(job="report") == [6, 4, 3, 2, 1]
        assert seconds(job="report", state="failed") == [4, 2]
        assert seconds(state="ok", node="ann") == [6, 5, 1]
        assert seconds(job="report", since=at(2), until=at(3).timestamp()) == [3, 2]
        assert seconds(since=at(4).isoformat()) == [6, 5, 4]
        [view] = d.runs(d.job(name="other")(lambda: None))
        assert (view.job, view.outcome, view.node, view.tick.tzinfo) == ("other", "ok", "ann", UTC)
        assert (view.lateness, view.duration) == (5, 10)
        assert d.runs("report")[0].job == "report", "also of a backfill"

    @in_both_colours
    def test_page_by_page(self, d: Dibs, say: Says) -> None:
        note(d, "report", *(ran(number // 3, "failed" if number % 2 else "ok") for number in range(50)))
        pages = [say(d, "runs", state="failed", limit=10)]
        while pages[-1].next is not None:
            pages.append(say(d, "runs", state="failed", limit=10, after=pages[-1].next))
        assert [len(page) for page in pages] == [10, 10, 5]
        assert repr(pages[0]) == "<Page of 10, and there is more>"
        views = [view for page in pages for view in page]
        assert all(one.tick >= other.tick for one, other in pairwise(views))
        assert views == list(d.runs(state="failed"))
        assert list(pages[0][:2]) == views[:2]

    @in_both_colours
    def test_how_late_and_how_long(self, d: Dibs, say: Says) -> None:
        assert (say(d, "timings").runs, say(d, "timings").lateness) == (0, None)
        note(d, "report", *(ran(number) for number in range(1, 101)))
        note(d, "other", ran(200), Record(at(300).timestamp(), "missed", 0.0))
        told = say(d, "timings", "report")
        assert told.lateness == Spread(50, 90, 99, 100)
        assert told.duration == Spread(100, 180, 198, 200)
        assert (told.runs, told.since, told.until, told.is_complete) == (100, at(1), at(100), True)
        told = say(d, "timings", since=at(100), until=at(200))
        assert (told.runs, told.since, told.until) == (2, at(100), at(200))

    @in_both_colours
    def test_what_is_to_come(self, d: Dibs, say: Says) -> None:
        d.schedules.add("a", job="copy", cron="0 3 * * *", tz="Europe/Berlin")
        d.schedules.add("b", job="copy", every="1h")
        d.schedules.add("paused", job="copy", every="1m")
        d.schedules.pause("paused")
        now = datetime.now(UTC)
        found = say(d, "upcoming", until=now + timedelta(days=1, hours=2))
        assert {fire.schedule for fire in found} == {"a", "b"}
        assert {fire.job for fire in found} == {"copy"}
        assert all(one.at <= other.at for one, other in pairwise(found))
        assert {fire.at.hour for fire in found if fire.schedule == "a"} == {3}
        assert (found.is_complete, found.is_frozen) == (True, False)
        d.freeze()
        found = say(d, "upcoming", "b", limit=2)
        assert [fire.at - fire.tick for fire in found] == [timedelta(0)] * 2
        assert (found.is_complete, found.is_frozen) == (False, True)
        assert say(d, "upcoming", "b", since=found[-1].at, limit=1)[0] == found[-1]

    @in_both_colours
    def test_who_serves(self, backend: Backend, d: Dibs, say: Says) -> None:
        assert say(d, "nodes") == []
        d.schedules.add("berlin", job="report", every="300d")
        with at_work(backend) as worker:
            d.schedules.trigger("berlin")
            worker.ended(1)
            [node] = say(d, "nodes")
            assert (node.state, node.workers, node.runs, node.holds, node.left_at) == ("up", 32, (), (), None)
            assert node.since <= node.beat_at
            assert abs(node.skew) < 30
        [node] = say(d, "nodes")
        assert (node.state, node.left_at is not None) == ("left", True)
        assert [view.node for view in d.runs(node=node.name)] == [node.name]

    @in_both_colours
    def test_runs_are_among_what_was_held_at_a_moment(self, d: Dibs, say: Says) -> None:
        note(d, "report", ran(10), ran(100, "lost", reason="its node did not renew it in time"))
        with d.lock("billing"):
            held = say(d, "held_at", datetime.now(UTC) + timedelta(seconds=1))
        assert [(hold.name, hold.kind) for hold in held] == [("billing", "lock")]
        [hold] = say(d, "held_at", at(25))
        assert (hold.name, hold.kind, hold.who, hold.ended, hold.since) == ("report", "run", "ann", "released", at(20))
        tick, since, until = (f"{at(second):%Y-%m-%d %H:%M:%S} UTC" for second in (10, 20, 40))
        assert str(hold) == f"report: ann did the run of {tick} from {since} to {until} (20s): ok"
        assert str(replace(hold, ended="held")) == f"report: ann has been at the run of {tick} since {since} (20s)"
        [hold] = say(d, "held_at", at(250), "report")
        assert (hold.ended, hold.reason) == ("lost", "lost: its node did not renew it in time")

    @in_both_colours
    def test_who_did_what(self, d: Dibs, say: Says) -> None:
        d.schedules.add("a", job="copy", every="1h", by="eve")
        d.schedules.add("b", job="copy", every="1h", by="eve")
        d.schedules.pause("a", until="1h", reason="holidays", by="eve")
        d.freeze(reason="a look", by="bob")
        [paused, added] = say(d, "acts", "a")
        assert (paused.act, paused.job, paused.by, paused.reason, paused.version) == (
            "paused",
            "a",
            "eve",
            "holidays",
            2,
        )
        assert paused.until == paused.at + timedelta(hours=1)
        assert (added.act, added.told) == ("added", "every 3600s")
        [frozen, last] = say(d, "acts", limit=2)
        assert (frozen.act, frozen.job, frozen.by, frozen.reason) == ("frozen", None, "bob", "a look")
        assert last == paused
        rest = say(d, "acts", after=say(d, "acts", limit=2).next)
        assert [(act.act, act.job) for act in rest] == [("added", "b"), ("added", "a")]


class TestInThisProcess(Questions):
    @pytest.fixture
    def backend(self) -> Backend:
        return MemoryBackend()


class TestOnOneMachine(Questions):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return open_store(f"sqlite:///{tmp_path}/dibs.sqlite")


@on_valkey_9
class TestOnAServer(Questions):
    @pytest.fixture
    def backend(self, server_url: str) -> Backend:
        return open_store(server_url)


@pytest.mark.parametrize(
    ("question", "wanted", "says"),
    [
        ("runs", {"state": "okay"}, "state='okay': say one of 'ok', 'failed', "),
        ("runs", {"since": datetime(2027, 1, 1)}, "in which time zone"),  # noqa: DTZ001
        (
            "runs",
            {"until": "yesterday"},
            "until='yesterday': give a datetime with a time zone, epoch seconds from 1970",
        ),
        ("runs", {"since": at(2), "until": at(1)}, "name the earlier one first"),
        ("runs", {"since": True}, "since=True: give a datetime"),
        ("runs", {"limit": 0}, "limit=0: say how many, from 1 to 10000"),
        ("runs", {"limit": True}, "limit=True"),
        ("runs", {"after": "there"}, "after='there': give what a page says as its `next`"),
        ("runs", {"after": "inf/0"}, "after='inf/0'"),
        ("runs", {"node": ""}, "d.nodes\\(\\) shows those that there are"),
        ("runs", {"job": "a "}, "names no job"),
        ("runs", {"jobs": "a"}, "no such option here: jobs; there are after, limit, node, since, state, until"),
        ("timings", {"limit": 5}, "no such option here: limit"),
        ("upcoming", {"after": "1/1"}, "no such option here: after"),
        ("acts", {"state": "ok"}, "no such option here: state"),
        ("why", {"job": None, "at": at(1)}, "name a job, and a moment"),
        ("why", {"job": "a", "at": None}, "name a job, and a moment"),
        ("why", {"job": "a", "at": -5}, "at=-5: give a datetime"),
    ],
)
def test_what_makes_no_sense_is_refused_and_says_what_would(
    d: Dibs, question: str, wanted: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        getattr(d, question)(**wanted)
