"""What people do to jobs, and to the whole fleet: it holds from when the store has taken it, on every node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from dibs.errors import ActRefused, ConfigError, NoSuchJob, StoreUnreachable
from dibs.events import Acted, TickPassed
from dibs.flows import controlling, defining
from dibs.flows.controlling import OTHERS_WERE_FASTER, Order, Span
from dibs.flows.sheets import MOST_TRIES
from dibs.model import control
from dibs.model.control import Word
from dibs.model.definition import Definition, definition_of
from dibs.model.fleet import DOWN_AFTER, FLEET
from dibs.model.job import BACKFILL, Job, Terms
from dibs.model.record import ACTS, Act, noted
from dibs.model.rota import Step
from dibs.model.sheet import Change, Question, Sheet
from tests.flows.nodes import NAME, Node, duty, job, outcomes
from tests.flows.scripted import EPOCH, SILENT, Fate, Process, Scene

FIRST = 20.0
"""The first tick of the minute's job."""
ORDER = Order("change", "alice", "the books")
DAILY = "every 86400s"


def acts(process: Process, judge: Callable[[Job, Word], Step], name: str = NAME, order: Order = ORDER) -> Step:
    return process.scene.play(controlling.act(process.world, process.desk, name, judge, order=order))


def adds(process: Process, name: str, rule: str = "every 60s", **more: Any) -> Step:
    said = Definition(name, rule, Terms(), more.pop("function", NAME), **more)
    return process.scene.play(defining.add(process.world, process.desk, said, order=ORDER))


def changes(process: Process, name: str = NAME, rule: str = DAILY) -> Step:
    def said(job: Job) -> Definition:
        return replace(definition_of(job), rule=rule)

    return process.scene.play(defining.change(process.world, process.desk, name, said, order=ORDER))


def lists(process: Process, prefix: str = "", *, after: str = "", limit: int = 100) -> Sequence[str]:
    found = process.scene.play(defining.listed(process.world, process.desk, prefix=prefix, after=after, limit=limit))
    return [each.job.name for each in found]


def noted_acts(scene: Scene, tag: str = ACTS) -> list[Act]:
    """What people have done, the oldest first."""
    lines = scene.server.sheets[""].lines(Question(tag, limit=1_000))
    told = [noted(line.text) for line in lines[::-1]]
    return [each for each in told if isinstance(each, Act) and each.act not in {"silent", "unattended"}]


def meddle(process: Process, times: int = MOST_TRIES) -> None:
    """Somebody else is faster, so often."""
    process.world.doom("amend", *[Fate(lands_after=0.01)] * times)


def changed_by_others(scene: Scene, name: str = NAME, *, every: float = 0.005, times: int = 60) -> None:
    """The sheet has another revision, again and again."""

    def touch() -> None:
        sheet = scene.server.sheets[""].kept[name]
        scene.server.sheets[""].kept[name] = Sheet(name, sheet.revision + 1_000, sheet.text)

    for number in range(times):
        scene.at(scene.now + every * number, touch)


@pytest.fixture
def node(bob: Process) -> Node:
    """It has served the minute's job once, so that the store knows it."""
    node = Node(bob)
    node.round()
    return node


class TestActs:
    def test_who_acts_says_when_by_the_stores_clock_and_it_is_told_and_noted(
        self, scene: Scene, ann: Process, node: Node
    ) -> None:
        scene.until(5.0)
        step = acts(ann, control.paused)
        assert step.job.pause is not None
        assert (step.job.pause.by, step.job.pause.at, step.job.pause.reason) == ("alice", EPOCH + 5.0, "the books")
        assert ann.told(Acted) == [Acted(NAME, "paused", "alice", "the books")]
        [added, paused] = noted_acts(scene)
        assert (added.act, paused.act, paused.by, paused.reason) == ("added", "paused", "alice", "the books")
        assert noted_acts(scene, NAME) == [added, paused], "it is in the job's own history, too"

    def test_who_does_not_say_who_it_is_is_the_process(self, ann: Process, node: Node) -> None:
        step = acts(ann, control.paused, order=Order("pause"))
        assert step.job.pause is not None
        assert step.job.pause.by == ann.desk.who == "ann"

    def test_a_name_that_nobody_knows_is_told(self, ann: Process) -> None:
        with pytest.raises(NoSuchJob, match="no job is called 'report' here: nobody has served it yet") as raised:
            acts(ann, control.paused)
        assert raised.value.name == NAME
        assert ann.events == []

    def test_what_cannot_be_is_refused_with_what_was_asked_and_why(self, ann: Process, node: Node) -> None:
        with pytest.raises(ActRefused) as raised:
            acts(ann, control.resumed, order=Order("resume"))
        error = raised.value
        assert (error.name, error.asked, error.why) == (NAME, "resume", "it is not paused")
        assert str(error) == "cannot resume 'report': it is not paused. d.schedules.get('report') shows how it stands"
        assert ann.events == []

    def test_where_others_are_faster_it_is_judged_anew(self, scene: Scene, ann: Process, node: Node) -> None:
        ann.world.doom("amend", Fate(lands_after=0.1))
        task = scene.spawn(controlling.act(ann.world, ann.desk, NAME, control.triggered, order=ORDER))
        scene.until(0.05)
        other = scene.process("cleo")
        acts(other, control.triggered)
        scene.finish(task)
        assert len(job(scene).waiting) == 2, "neither is lost"
        assert len({run.tick for run in job(scene).waiting}) == 2, "and they can be told apart"

    def test_where_others_are_always_faster_that_is_told(self, scene: Scene, ann: Process, node: Node) -> None:
        meddle(ann)
        changed_by_others(scene)
        with pytest.raises(ActRefused) as raised:
            acts(ann, control.paused, order=Order("pause"))
        assert (raised.value.name, raised.value.why) == (NAME, OTHERS_WERE_FASTER)
        assert ann.events == []

    def test_a_store_that_is_silent_is_told_as_such(self, ann: Process, node: Node) -> None:
        ann.world.doom("amend", SILENT)
        with pytest.raises(StoreUnreachable):
            acts(ann, control.paused)
        assert ann.events == []

    def test_a_sheet_that_only_a_newer_dibs_can_read_is_left_alone(
        self, scene: Scene, ann: Process, node: Node
    ) -> None:
        scene.server.sheets[""].kept[NAME] = Sheet(NAME, 1, '{"format": 2}')
        with pytest.raises(ActRefused, match="cannot change 'report': only a newer dibs can read its sheet"):
            acts(ann, control.paused)
        with pytest.raises(ActRefused, match="cannot show 'report': only a newer dibs can read its sheet"):
            scene.play(controlling.find(ann.world, ann.desk, NAME))

    def test_what_makes_no_sense_to_the_one_who_judges_is_told_as_it_is(self, ann: Process, node: Node) -> None:
        def judge(job: Job, word: Word) -> Step:
            raise ConfigError("it takes no such arguments")

        with pytest.raises(ConfigError, match="no such arguments"):
            acts(ann, judge)


class TestAcrossNodes:
    def test_a_pause_holds_on_another_node_and_ends_by_itself(self, scene: Scene, ann: Process, node: Node) -> None:
        acts(ann, partial(control.paused, until=EPOCH + FIRST + 60))
        node.rounds_until(FIRST + 59)
        assert node.begun == []
        node.rounds_until(FIRST + 61)
        assert node.ticks == [FIRST + 60], "and the tick at its very end is run"

    def test_a_pause_that_comes_between_a_look_and_the_claim_holds(
        self, scene: Scene, ann: Process, node: Node
    ) -> None:
        node.rounds_until(FIRST - 0.1)
        scene.until(FIRST)
        node.process.world.doom("amend", Fate(lands_after=0.2))
        claiming = node.starts_round()
        scene.until(FIRST + 0.1)
        acts(ann, control.paused)
        scene.finish(claiming)
        node.rounds_until(FIRST + 70)
        assert node.begun == []

    def test_a_trigger_is_run_while_its_job_is_paused_with_its_own_arguments(
        self, scene: Scene, ann: Process, node: Node
    ) -> None:
        acts(ann, control.paused)
        step = acts(ann, partial(control.triggered, arguments='{"city":"Berlin"}'))
        node.rounds_until(1.0)
        [mine] = node.begun
        assert (mine.run.source, mine.arguments, mine.run.tick) == (
            "trigger",
            '{"city":"Berlin"}',
            step.job.runs[-1].tick,
        )
        node.ends()
        node.rounds_until(FIRST + 1)
        assert node.ticks == [mine.run.tick - EPOCH]

    def test_the_tick_of_a_trigger_is_one_that_people_can_name(self, scene: Scene, ann: Process, node: Node) -> None:
        scene.until(1.23456789)
        tick = acts(ann, control.triggered).job.runs[-1].tick
        named = datetime.fromtimestamp(tick, UTC).timestamp()
        assert tick == named == EPOCH + 1.234568
        node.round()
        acts(ann, partial(control.cancelled, tick=named))
        node.round()
        assert len(node.stops) == 1

    def test_the_next_tick_is_left_out_and_told(self, scene: Scene, ann: Process, node: Node) -> None:
        acts(ann, control.without_next)
        node.rounds_until(FIRST + 61)
        assert node.ticks == [FIRST + 60]
        assert outcomes(scene)[0] == (FIRST, "skipped")
        [passed] = ann.told(TickPassed)
        assert (passed.job, passed.tick, passed.outcome) == (NAME, EPOCH + FIRST, "skipped")
        assert passed.reason == "alice said so: the books"

    def test_a_run_is_stopped_where_it_is_done_within_a_second(self, scene: Scene, ann: Process, node: Node) -> None:
        node.rounds_until(FIRST + 1)
        acts(ann, control.cancelled)
        node.rounds_until(FIRST + 2)
        assert node.stops == ["cancelled by alice: the books"]

    def test_nothing_fires_by_what_held_before_a_change_was_acknowledged(
        self, scene: Scene, ann: Process, node: Node
    ) -> None:
        """However the change and a claim meet: the clock stands at each moment in turn."""
        claimed = set[int]()
        for number in range(12):
            name, late = f"report {number}", 0.01 * number
            other = Node(scene.process(f"node {number}"), duty(name))
            other.round()
            due = job(scene, name).next_due
            assert due is not None
            scene.until(due - EPOCH)
            other.process.world.doom("amend", Fate(lands_after=0.05, heard_after=0.05))
            claiming = other.starts_round()
            scene.until(scene.now + late)
            changes(ann, name)
            begun_before = job(scene, name).running
            scene.finish(claiming)
            other.rounds_until(scene.now + 130)
            assert len(other.begun) == len(begun_before), f"changed {late:g} s after the look"
            claimed.add(len(begun_before))
        assert claimed == {0, 1}, "the one was faster, or the other"


class TestBackfill:
    SPAN = Span("every 60s", EPOCH - 40 - 49 * 60, EPOCH - 40)
    ORDER = Order("backfill", "alice", "the ledger was wrong")

    def starts(self, process: Process, span: Span = SPAN) -> Step:
        return process.scene.play(controlling.fill_in(process.world, process.desk, NAME, span, order=self.ORDER))

    def gives_up(self, process: Process) -> Step:
        order = Order("stop the backfill of", "alice")
        return process.scene.play(controlling.give_up(process.world, process.desk, NAME, order=order))

    def test_each_of_fifty_ticks_is_run_once_by_two_nodes(self, scene: Scene, ann: Process, node: Node) -> None:
        other = Node(ann)
        self.starts(scene.process("cleo"), replace(self.SPAN, parallel=4))
        for _ in range(200):
            for each in (node, other):
                each.round()
            assert len([mine for each in (node, other) for mine in each.begun if mine.ending is None]) <= 4
            for each in (node, other):
                each.ends()
        ticks = sorted(mine.run.tick for each in (node, other) for mine in each.begun)
        assert ticks == [self.SPAN.since + 60 * number for number in range(50)]
        assert node.begun
        assert other.begun
        found = scene.play(controlling.find(ann.world, ann.desk, NAME))
        assert found is not None
        assert found.beside is not None
        assert (found.beside.next_due, found.beside.runs) == (None, ())

    def test_it_is_told_and_noted_as_the_jobs(self, scene: Scene, ann: Process, node: Node) -> None:
        self.starts(ann)
        assert ann.told(Acted) == [Acted(NAME, "backfill", "alice", "the ledger was wrong")]
        assert [act.act for act in noted_acts(scene, NAME)] == ["added", "backfill"]

    def test_of_a_job_that_nobody_knows_there_is_none(self, ann: Process) -> None:
        with pytest.raises(NoSuchJob, match="'report'"):
            self.starts(ann)
        with pytest.raises(NoSuchJob, match="'report'"):
            self.gives_up(ann)

    def test_what_was_changed_since_somebody_looked_is_not_begun(self, ann: Process, node: Node) -> None:
        changes(ann)
        with pytest.raises(ActRefused, match=r"cannot backfill 'report': it was changed since .* look again"):
            self.starts(ann)

    def test_a_second_one_has_to_wait(self, ann: Process, node: Node) -> None:
        self.starts(ann)
        with pytest.raises(ActRefused, match="cannot backfill 'report': another backfill of it is under way"):
            self.starts(ann)

    def test_it_can_be_given_up(self, scene: Scene, ann: Process, node: Node) -> None:
        self.starts(ann)
        node.round()
        assert len(node.begun) == 1
        self.gives_up(ann)
        node.round()
        assert len(node.stops) == 1
        node.ends()
        node.rounds_until(5.0)
        assert len(node.begun) == 1
        with pytest.raises(ActRefused, match="cannot stop the backfill of 'report': no backfill of it is under way"):
            self.gives_up(ann)

    def test_what_was_never_begun_cannot_be_given_up(self, ann: Process, node: Node) -> None:
        with pytest.raises(ActRefused, match="no backfill of it is under way"):
            self.gives_up(ann)


class TestTheFleet:
    def freezes(self, process: Process, lasts: float | None = None) -> None:
        def until(now: float) -> float | None:
            return None if lasts is None else now + lasts

        flow = controlling.freeze(process.world, process.desk, until, order=Order("freeze", "alice", "a move"))
        process.scene.play(flow)

    def thaws(self, process: Process) -> None:
        process.scene.play(controlling.thaw(process.world, process.desk, order=Order("thaw", "bert")))

    def freezing(self, process: Process) -> Any:
        return process.scene.play(controlling.freezing(process.world, process.desk))

    def test_while_it_is_frozen_nobody_claims_anything(self, scene: Scene, ann: Process, node: Node) -> None:
        assert self.freezing(ann) is None
        self.freezes(ann)
        node.rounds_until(FIRST + 5)
        assert node.begun == []
        found = self.freezing(ann)
        assert (found.by, found.reason, found.until) == ("alice", "a move", None)
        self.thaws(ann)
        assert self.freezing(ann) is None
        node.rounds_until(FIRST + 6)
        assert node.ticks == [FIRST]
        assert ann.told(Acted) == [Acted("", "frozen", "alice", "a move"), Acted("", "thawed", "bert", "")]
        assert [act.act for act in noted_acts(scene)] == ["added", "frozen", "thawed"]

    def test_a_freeze_that_comes_between_a_look_and_the_claim_holds(
        self, scene: Scene, ann: Process, node: Node
    ) -> None:
        scene.until(FIRST)
        node.process.world.doom("amend", Fate(lands_after=0.2))
        claiming = node.starts_round()
        scene.until(FIRST + 0.1)
        self.freezes(ann)
        scene.finish(claiming)
        node.rounds_until(FIRST + 5)
        assert node.begun == []

    def test_it_thaws_by_itself_when_its_time_is_over(self, scene: Scene, ann: Process, node: Node) -> None:
        self.freezes(ann, FIRST + 10)
        node.rounds_until(FIRST + 9.9)
        assert node.begun == []
        node.rounds_until(FIRST + 11)
        assert node.ticks == [FIRST]
        assert self.freezing(ann) is None

    def test_what_is_not_frozen_cannot_be_thawed(self, ann: Process) -> None:
        with pytest.raises(ActRefused, match=r"cannot thaw the fleet: .*not frozen\. d\.frozen\(\) shows") as raised:
            self.thaws(ann)
        assert (raised.value.name, raised.value.asked) == ("", "thaw")

    def test_where_others_are_always_faster_that_is_told(self, scene: Scene, ann: Process) -> None:
        self.freezes(ann)
        ann.world.doom("beat", *[Fate(lands_after=0.01)] * MOST_TRIES)
        changed_by_others(scene, FLEET)
        with pytest.raises(ActRefused, match="cannot thaw the fleet: others have changed it again and again"):
            self.thaws(ann)


class TestSchedulesAsData:
    def test_one_that_is_added_is_run_by_a_node_that_has_its_function(
        self, scene: Scene, ann: Process, node: Node
    ) -> None:
        adds(ann, "berlin", arguments='{"city":"Berlin"}')
        acts(ann, control.paused)
        node.rounds_until(FIRST + 1)
        [mine] = node.begun
        assert (mine.job, mine.done_by, mine.arguments) == ("berlin", NAME, '{"city":"Berlin"}')
        assert job(scene, "berlin").origin == "data"
        assert ann.told(Acted)[0] == Acted("berlin", "added", "alice", "the books")

    def test_there_is_one_of_each_name(self, ann: Process, node: Node) -> None:
        with pytest.raises(ActRefused, match="cannot change 'report': there is one of that name already"):
            adds(ann, NAME)

    def test_many_are_added_in_batches_and_saying_it_again_adds_nothing(self, scene: Scene, ann: Process) -> None:
        said = [Definition(f"each {number:03}", "every 60s", Terms(), NAME) for number in range(450)]
        more = [*said, Definition("one more", "every 60s", Terms(), NAME)]
        flow = partial(defining.add_all, ann.world, ann.desk, order=ORDER)
        assert scene.play(flow(said)) == 450
        assert [len(sent) for sent in ann.world.asks("amend")] == [200, 200, 50]
        assert len(ann.told(Acted)) == 450
        assert scene.play(flow(more)) == 1
        scene.play(defining.remove(ann.world, ann.desk, "each 007", order=ORDER))
        assert scene.play(flow(more)) == 1, "what was removed is added anew"

    def test_of_many_one_that_is_there_otherwise_is_refused_by_name(self, scene: Scene, ann: Process) -> None:
        adds(ann, "b")
        said = [Definition(name, DAILY, Terms(), NAME) for name in "abc"]
        with pytest.raises(ActRefused, match="cannot change 'b': there is one of that name already"):
            scene.play(defining.add_all(ann.world, ann.desk, said, order=ORDER))
        assert lists(ann) == ["b"]

    def test_of_many_those_that_the_store_took_are_told_though_it_did_not_take_all(
        self, scene: Scene, ann: Process
    ) -> None:
        adds(ann, "b")
        scene.play(defining.remove(ann.world, ann.desk, "b", order=ORDER))
        ann.events.clear()
        meddle(ann)
        changed_by_others(scene, "b")
        said = [Definition(name, DAILY, Terms(), NAME) for name in "ab"]
        with pytest.raises(ActRefused, match="cannot change 'b': others have changed it"):
            scene.play(defining.add_all(ann.world, ann.desk, said, order=ORDER))
        assert [event.job for event in ann.told(Acted)] == ["a"]

    def test_what_is_removed_is_run_no_more_and_neither_is_its_backfill(
        self, scene: Scene, ann: Process, node: Node
    ) -> None:
        adds(ann, "berlin")
        span = Span("every 60s", EPOCH - 6_000, EPOCH)
        scene.play(controlling.fill_in(ann.world, ann.desk, "berlin", span, order=ORDER))
        node.round()
        scene.play(defining.remove(ann.world, ann.desk, "berlin", order=ORDER))
        node.ends()
        acts(ann, control.paused)
        node.rounds_until(FIRST + 70)
        assert [mine.run.source for mine in node.begun] == ["backfill"], "only what had begun"
        assert node.stops == [], "and that may end"
        assert [act.act for act in noted_acts(scene, "berlin")] == ["added", "backfill", "removed"]
        with pytest.raises(ActRefused, match="it was removed"):
            scene.play(defining.remove(ann.world, ann.desk, "berlin", order=ORDER))

    def test_after_a_backfill_was_removed_there_can_be_another(self, scene: Scene, ann: Process, node: Node) -> None:
        span = Span("every 60s", EPOCH - 600, EPOCH)
        for _ in range(2):
            adds(ann, "berlin")
            scene.play(controlling.fill_in(ann.world, ann.desk, "berlin", span, order=ORDER))
            scene.play(defining.remove(ann.world, ann.desk, "berlin", order=ORDER))
        adds(ann, "berlin")
        scene.play(defining.remove(ann.world, ann.desk, "berlin", order=ORDER))
        assert job(scene, "berlin" + BACKFILL).gone is not None
        adds(ann, "berlin")
        scene.play(controlling.fill_in(ann.world, ann.desk, "berlin", span, order=ORDER))
        node.rounds_until(1.0)
        assert {mine.run.source for mine in node.begun} == {"backfill"}

    def test_what_a_live_nodes_code_defines_cannot_be_removed(self, scene: Scene, ann: Process, node: Node) -> None:
        with pytest.raises(ActRefused, match="the code of a live node defines it: pause it instead, or delete it"):
            scene.play(defining.remove(ann.world, ann.desk, NAME, order=ORDER))
        changes(ann)
        with pytest.raises(ActRefused, match="the code of a live node defines it"):
            scene.play(defining.remove(ann.world, ann.desk, NAME, order=ORDER))
        scene.until(DOWN_AFTER + 1)
        scene.play(defining.remove(ann.world, ann.desk, NAME, order=ORDER))
        assert job(scene).gone is not None

    def test_what_nobody_knows_can_be_neither_changed_nor_removed(self, scene: Scene, ann: Process) -> None:
        with pytest.raises(NoSuchJob):
            changes(ann)
        with pytest.raises(NoSuchJob):
            scene.play(defining.remove(ann.world, ann.desk, NAME, order=ORDER))
        assert scene.play(controlling.find(ann.world, ann.desk, NAME)) is None


class TestLists:
    def test_schedules_are_listed_by_name_without_what_is_none(self, scene: Scene, ann: Process, node: Node) -> None:
        for name in ("berlin", "athens", "athens 2", "~athens"):
            adds(ann, name.replace("~", "z"))
        span = Span("every 60s", EPOCH - 600, EPOCH)
        scene.play(controlling.fill_in(ann.world, ann.desk, "athens", span, order=ORDER))
        scene.play(defining.remove(ann.world, ann.desk, "berlin", order=ORDER))
        assert lists(ann) == ["athens", "athens 2", NAME, "zathens"]
        assert lists(ann, "athens") == ["athens", "athens 2"]
        assert lists(ann, after="athens", limit=2) == ["athens 2", NAME]
        assert lists(ann, "~") == []
        found = scene.play(defining.listed(ann.world, ann.desk, prefix="athens", after="", limit=2))
        assert [each.beside is not None for each in found] == [True, False]

    def test_a_long_list_is_read_page_by_page(self, scene: Scene, ann: Process) -> None:
        names = [f"each {number:03}" for number in range(430)]
        said = [Definition(name, "every 60s", Terms(), NAME) for name in names]
        scene.play(defining.add_all(ann.world, ann.desk, said, order=ORDER))
        for name in names[:210]:
            scene.play(defining.remove(ann.world, ann.desk, name, order=ORDER))
        assert lists(ann, limit=1_000) == names[210:]
        assert lists(ann, limit=5) == names[210:215]


def test_a_frozen_fleets_sheet_can_be_told_from_a_jobs(scene: Scene, ann: Process) -> None:
    """Nobody lists it, and a node that reads it does not take it for a job."""
    change = Change(FLEET, 0, '{"frozen": null}', None, 0.0, EPOCH * 2)
    assert scene.server.sheets[""].amend(change, 1, scene.store_now())
    assert lists(ann) == []
