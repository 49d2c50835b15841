"""What is asked about all jobs: by the index that tells most, in its order, and not without end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import pytest

from dibs.flows import controlling, defining, querying
from dibs.flows.controlling import Order, Span
from dibs.flows.querying import AT_ONCE, MOST_LOOKED_AT, MOST_TIMED, Outlook, Runs, Time
from dibs.model import control
from dibs.model.definition import Definition
from dibs.model.job import Terms
from dibs.model.record import Act, Record
from dibs.model.sheet import Change, Question
from tests.flows.nodes import NAME, Node
from tests.flows.scripted import EPOCH, Process, Scene

EVE = Order("do this to", "eve")
PAGE = Question("")


def ran(tick: float, outcome: Any = "ok", node: str = "ann", **more: Any) -> Record:
    return Record(tick, outcome, tick, node=node, started_at=tick + 1.0, ended_at=tick + 3.0, **more)


def noted(process: Process, name: str, *told: Record | Act) -> None:
    entries = [each.entry(name, name) for each in told]
    process.scene.play(process.world.ask(process.desk.store.note(name, entries, 100_000, 1e9), 1.0))


def adds(process: Process, *names: str, rule: str = "every 60s", function: str = NAME, **terms: Any) -> None:
    said = [Definition(name, rule, Terms(**terms), function) for name in names]
    process.scene.play(defining.add_all(process.world, process.desk, said, order=EVE))


def upcoming(
    process: Process, job: str = "", *, since: float | None = None, until: float | None = None, limit: int = 100
) -> Outlook:
    time = Time(*(bound if at is None else EPOCH + at for at, bound in ((since, -inf), (until, inf))))
    return process.scene.play(querying.upcoming(process.world, process.desk, job, time=time, limit=limit))


def fires(outlook: Outlook) -> Sequence[tuple[str, float]]:
    return [(fire.job.name, fire.at - EPOCH) for fire in outlook.fires]


class TestRuns:
    @pytest.mark.parametrize(
        ("wanted", "index", "ticks"),
        [
            (Runs(), "~runs", [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]),
            (Runs("report"), "report", [4.0, 3.0, 2.0, 1.0]),
            (Runs("report", "ok"), "~state ok report", [3.0, 1.0]),
            (Runs(state="ok"), "~state ok", [5.0, 3.0, 1.0]),
            (Runs(node="ann"), "~on ann", [5.0, 2.0, 1.0]),
            (Runs(node="ann", state="ok"), "~ok on ann", [5.0, 1.0]),
            (Runs("report", node="ann"), "report", [2.0, 1.0]),
            (Runs("report", "failed", "bob"), "~state failed report", [4.0]),
        ],
    )
    def test_those_of_which_all_holds_are_found_by_one_index(
        self, scene: Scene, ann: Process, wanted: Runs, index: str, ticks: list[float]
    ) -> None:
        report = [ran(1.0), ran(2.0, "failed"), ran(3.0, node="bob"), ran(4.0, "failed", "bob")]
        noted(ann, "report", *report, Act("paused", 2.5, "eve"))
        noted(ann, "other", ran(5.0), Record(6.0, "missed", 6.0))
        found = scene.play(querying.runs(ann.world, ann.desk, wanted, PAGE))
        assert [record.tick for _, record in found.lines] == ticks
        assert [asked.tag for asked in ann.world.asks("lines")] == [index]

    def test_of_a_time(self, scene: Scene, ann: Process) -> None:
        noted(ann, "report", *(ran(float(tick)) for tick in range(10)))
        page = Question("", since=3.0, until=5.0, limit=2)
        found = scene.play(querying.runs(ann.world, ann.desk, Runs(), page))
        assert [record.tick for _, record in found.lines] == [5.0, 4.0]
        assert found.rest is not None
        rest = scene.play(querying.runs(ann.world, ann.desk, Runs(), found.rest))
        assert ([record.tick for _, record in rest.lines], rest.rest) == ([3.0], None)

    def test_the_latest_that_ran_are_timed(self, scene: Scene, ann: Process) -> None:
        told = [ran(float(tick)) if tick % 2 else Record(float(tick), "missed", 0.0) for tick in range(MOST_TIMED * 3)]
        noted(ann, "report", *told)
        found = scene.play(querying.timed(ann.world, ann.desk, Runs(), time=Time()))
        assert (len(found.lines), found.lines[0][1].tick) == (MOST_TIMED, MOST_TIMED * 3 - 1)
        assert found.rest is not None
        found = scene.play(querying.timed(ann.world, ann.desk, Runs("report"), time=Time(10.0, 20.0)))
        assert [record.tick for _, record in found.lines] == [19.0, 17.0, 15.0, 13.0, 11.0]
        assert found.rest is None


class TestActs:
    def test_those_of_a_job_and_those_of_all_without_what_only_happened(self, scene: Scene, ann: Process) -> None:
        Node(ann).round()
        adds(ann, "other")
        scene.play(controlling.act(ann.world, ann.desk, NAME, control.paused, order=EVE))
        scene.until(1)
        scene.play(controlling.freeze(ann.world, ann.desk, lambda _: None, order=EVE))
        found = scene.play(querying.acts(ann.world, ann.desk, NAME, PAGE))
        assert [(name, act.act, act.by) for name, act in found.lines] == [
            (NAME, "paused", "eve"),
            (NAME, "added", "ann"),
        ]
        found = scene.play(querying.acts(ann.world, ann.desk, "", PAGE))
        assert [act.act for _, act in found.lines] == ["frozen", "paused", "added", "added"]


class TestWhoWasAtWork:
    def test_runs_are_told_while_they_go_on_and_when_they_have_ended(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)

        def at(moment: float, job: str | None = None) -> list[tuple[str, str, str, str]]:
            found = scene.play(querying.at_work(ann.world, ann.desk, EPOCH + moment, job=job))
            return [(each.name, each.who, each.ended, each.kind) for each in found]

        node.rounds_until(26)
        assert at(19) == []
        assert at(20) == at(27) == at(27, NAME) == [(NAME, "ann", "held", "run")]
        assert at(27, "other") == []
        node.ends()
        node.rounds_until(32)
        assert at(25) == [(NAME, "ann", "released", "run")]
        assert at(27) == at(19) == []

    def test_one_whose_node_was_lost_is_told_as_lost(self, scene: Scene, ann: Process) -> None:
        noted(ann, NAME, ran(10.0, "lost"))
        [found] = scene.play(querying.at_work(ann.world, ann.desk, 12.0))
        assert (found.ended, found.reason, found.purpose) == ("lost", "lost", "the run of 1970-01-01 00:00:10 UTC")


class TestWhatIsToCome:
    def test_all_of_it_in_its_order(self, scene: Scene, ann: Process) -> None:
        adds(ann, "minutes")
        adds(ann, "seconds", rule="every 25s", function="tick")
        assert fires(upcoming(ann, until=80)) == [
            ("minutes", 20.0),
            ("seconds", 25.0),
            ("seconds", 50.0),
            ("seconds", 75.0),
            ("minutes", 80.0),
        ]

    def test_as_many_as_are_wanted(self, scene: Scene, ann: Process) -> None:
        adds(ann, "a", "b")
        found = upcoming(ann, limit=3)
        assert (fires(found), found.is_complete) == ([("a", 20.0), ("b", 20.0), ("a", 80.0)], False)
        found = upcoming(ann, since=30, until=80)
        assert (fires(found), found.is_complete) == ([("a", 80.0), ("b", 80.0)], True)

    def test_of_one_schedule_or_of_one_function(self, scene: Scene, ann: Process) -> None:
        adds(ann, "a", "b", function="copy")
        adds(ann, "c")
        assert fires(upcoming(ann, "b", limit=1)) == [("b", 20.0)]
        assert fires(upcoming(ann, "copy", until=20)) == [("a", 20.0), ("b", 20.0)]

    def test_what_is_overdue_was_to_come_before(self, scene: Scene, ann: Process) -> None:
        adds(ann, "a")
        scene.until(30)
        assert fires(upcoming(ann, until=100)) == [("a", 80.0)]

    def test_jitter_counts(self, scene: Scene, ann: Process) -> None:
        adds(ann, "a", rule="every 60s jitter=50s")
        [first, second] = upcoming(ann, limit=2).fires
        assert first.tick < first.at < second.tick < second.at
        between = upcoming(ann, since=(first.tick + first.at) / 2 - EPOCH, limit=1)
        assert between.fires[0].at == first.at, "its tick has come, and it is still to be run"
        assert upcoming(ann, since=first.at - EPOCH + 0.001, limit=1).fires[0].at == second.at

    def test_what_is_skipped_paused_gone_or_a_backfill_is_not_to_come(self, scene: Scene, ann: Process) -> None:
        adds(ann, "skipped", "paused", "gone", "filled", rule="every 10s")
        scene.until(5)
        for name, judge in (("skipped", control.without_next), ("paused", control.paused), ("gone", control.removed)):
            scene.play(controlling.act(ann.world, ann.desk, name, judge, order=EVE))
        span = Span("every 10s", EPOCH - 10, EPOCH)
        scene.play(controlling.fill_in(ann.world, ann.desk, "filled", span, order=EVE))
        assert fires(upcoming(ann, until=20)) == [("filled", 10.0), ("filled", 20.0), ("skipped", 20.0)]

    def test_a_pause_that_ends_is_followed_by_ticks(self, scene: Scene, ann: Process) -> None:
        adds(ann, "a")
        paused = partial(control.paused, until=EPOCH + 100)
        scene.play(controlling.act(ann.world, ann.desk, "a", paused, order=EVE))
        assert fires(upcoming(ann, limit=1)) == [("a", 140.0)]

    def test_nothing_is_run_while_the_fleet_is_frozen(self, scene: Scene, ann: Process) -> None:
        adds(ann, "a")
        assert not upcoming(ann).is_frozen
        scene.play(controlling.freeze(ann.world, ann.desk, lambda now: now + 10, order=EVE))
        found = upcoming(ann, limit=1)
        assert (fires(found), found.is_frozen) == ([("a", 20.0)], True)
        scene.until(11)
        assert not upcoming(ann).is_frozen

    def test_of_many_schedules_the_first_are_looked_at(self, scene: Scene, ann: Process) -> None:
        rules = [f"every {3600 + number}s" for number in range(AT_ONCE * 4)]
        for number, rule in enumerate(rules):
            adds(ann, f"job {number:04}", rule=rule)
        found = upcoming(ann, limit=20)
        assert len(ann.world.asks("due")) == 1
        everything = upcoming(ann, limit=5_000)
        assert [fire.at for fire in found.fires] == [fire.at for fire in everything.fires[:20]]
        assert not found.is_complete

    def test_and_no_more_than_so_many(self, scene: Scene, ann: Process, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(querying, "MOST_LOOKED_AT", AT_ONCE)
        assert MOST_LOOKED_AT > AT_ONCE
        adds(ann, *(f"job {number:04}" for number in range(AT_ONCE + 10)))
        found = upcoming(ann, until=20, limit=5_000)
        assert (len(found.fires), found.is_complete) == (AT_ONCE, False)
        monkeypatch.undo()
        found = upcoming(ann, until=20, limit=5_000)
        assert (len(found.fires), found.is_complete) == (AT_ONCE + 10, True)

    def test_a_page_of_what_is_no_job_ends_nothing(self, scene: Scene, ann: Process) -> None:
        node = Change("", 0, "{}", EPOCH, EPOCH, inf)
        nodes = [replace(node, name=f"~node:{number}") for number in range(AT_ONCE)]
        scene.play(ann.world.ask(ann.desk.store.amend(nodes), 1.0))
        adds(ann, "late", rule="every 86400s")
        assert ("late", 86400.0 - EPOCH % 86400) in fires(upcoming(ann, "late", limit=1))
