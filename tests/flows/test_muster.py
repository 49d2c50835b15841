"""How nodes take their places in a fleet, and what becomes of the schedules of their code."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from dibs.events import DefinitionOutdated, NodeDown, ScheduleChanged, ScheduleRetired, StoreBack
from dibs.flows.controlling import Order, Span, fill_in
from dibs.flows.muster import PAGE, survey
from dibs.flows.sheets import rewrite_all
from dibs.model.control import Word
from dibs.model.definition import changed, definition_of
from dibs.model.fleet import BEAT, DOWN_AFTER, FLEET, NODE, REMEMBERED, SLOW_ROUND, Fleet
from dibs.model.job import BACKFILL, Job
from dibs.model.names import WORKER
from dibs.model.record import Act, noted
from dibs.model.rota import Step
from dibs.model.sheet import Change, Question
from tests.flows.nodes import NAME, Node, duty, job
from tests.flows.scripted import EPOCH, Fate, Process, Scene


def seen(scene: Scene, process: Process) -> Fleet:
    return scene.play(survey(process.world, process.desk))


def states(scene: Scene, process: Process) -> dict[str, str]:
    fleet = seen(scene, process)
    return {node.name: node.state(fleet.at) for node in fleet.nodes}


def acts(scene: Scene, name: str = NAME) -> list[Act]:
    lines = scene.server.sheets[""].lines(Question(name, limit=1_000))
    return [told for line in reversed(lines) if isinstance(told := noted(line.text), Act)]


class TestNodes:
    def test_one_says_what_it_is_and_does(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, labels=("gpu", "eu"), room=7)
        node.clock = 2.5
        node.rounds_until(20.5)
        node.rounds_until(26)
        [told] = seen(scene, ann).nodes
        assert (told.name, told.version, told.labels, told.workers) == ("ann", "1", ("gpu", "eu"), 7)
        assert (told.skew, told.runs, told.holds) == (2.5, (NAME,), ())
        assert (told.since, told.state(told.beat_at)) == (EPOCH, "up")
        assert told.beat_at >= EPOCH + 25

    def test_one_that_comes_while_another_looks_around_is_seen_with_its_code_or_not_at_all(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        Node(ann).round()
        ann.world.doom("named", Fate(), Fate(lands_after=1.0))
        looks = scene.spawn(survey(ann.world, ann.desk))
        Node(bob, duty("invoice")).round()
        fleet = scene.finish(looks)
        assert {node.name for node in fleet.live} == {"ann", "bob"}
        assert {name for each in fleet.deployed for name in each.definitions} == {NAME, "invoice"}

    def test_what_workers_keep_beside_the_jobs_is_not_looked_at(self, scene: Scene, ann: Process) -> None:
        kept = [Change(f"{WORKER}{number}", 0, "{}", None, EPOCH, inf) for number in range(PAGE)]
        scene.play(ann.world.ask(ann.desk.store.amend(kept), 1.0))
        seen(scene, ann)
        assert len(ann.world.asks("named")) == 2, "one page of nodes, one of deployments"

    def test_it_is_slow_down_and_forgotten_when_it_is_silent_for_long(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        Node(ann).round()
        other = Node(bob)
        other.round()
        assert states(scene, bob) == {"ann": "up", "bob": "up"}
        other.rounds_until(3 * BEAT)
        assert states(scene, bob) == {"ann": "slow", "bob": "up"}
        other.rounds_until(DOWN_AFTER + 2 * BEAT)
        assert states(scene, bob) == {"ann": "down", "bob": "up"}
        assert [event.node for event in bob.told(NodeDown)] == ["ann"], "once"
        other.rounds_until(DOWN_AFTER + REMEMBERED + BEAT)
        assert states(scene, bob) == {"bob": "up"}

    def test_one_that_leaves_says_so(self, scene: Scene, ann: Process, bob: Process) -> None:
        node, other = Node(ann), Node(bob)
        node.round()
        other.round()
        node.retires()
        other.rounds_until(DOWN_AFTER + 2 * BEAT)
        assert states(scene, bob) == {"ann": "left", "bob": "up"}
        assert bob.told(NodeDown) == []

    def test_one_that_never_took_its_place_leaves_without_a_word(self, scene: Scene, ann: Process) -> None:
        Node(ann).retires()
        assert states(scene, ann) == {}

    def test_one_whose_rounds_take_long_is_slow(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        ann.world.doom("due", Fate(heard_after=SLOW_ROUND - 0.1), Fate(heard_after=1.9))
        node.round()
        node.rounds_until(scene.now + BEAT)
        assert states(scene, ann) == {"ann": "up"}
        ann.world.doom("beat", Fate(heard_after=1.5))
        ann.world.doom("due", Fate(heard_after=1.5))
        scene.until(scene.now + BEAT)
        node.round()
        node.rounds_until(scene.now + BEAT)
        assert states(scene, ann) == {"ann": "slow"}

    def test_a_large_fleet_is_read_in_pages(self, scene: Scene, ann: Process) -> None:
        Node(ann).round()
        sheets = scene.server.sheets[""]
        model = sheets.kept[NODE + "ann"]
        for number in range(PAGE + 5):
            name = f"{NODE}n{number:04}"
            sheets.kept[name] = type(model)(name, 1, model.text)
        assert len(seen(scene, ann).nodes) == PAGE + 6

    def test_a_store_that_was_silent_is_told_so_when_it_is_back(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        ann.world.is_silent = True
        node.rounds_until(10)
        ann.world.is_silent = False
        node.rounds_until(15)
        act = acts(scene, FLEET)[-1]
        assert (act.act, act.by) == ("silent", "ann")
        assert act.since is not None
        assert act.until is not None
        assert EPOCH - 0.1 < act.since < EPOCH + 1
        assert EPOCH + 10 <= act.until < EPOCH + 12

    def test_one_that_has_never_heard_the_store_does_not_know_since_when(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        ann.world.is_silent = True
        node.round()
        ann.world.is_silent, node.shift.is_leaving = False, True
        node.round()
        assert (len(ann.told(StoreBack)), acts(scene, FLEET)) == (1, [])


def code(process: Process, *duties: Any) -> Node:
    node = Node(process, *duties)
    node.round()
    return node


OLD, NEW = "every 60s", "every 30s"


class TestDefinitions:
    def test_what_is_deployed_later_holds_and_everybody_is_told(self, scene: Scene, ann: Process, bob: Process) -> None:
        old = code(ann, duty(rule=OLD))
        scene.until(3)
        code(bob, duty(rule=NEW))
        assert (job(scene).rule, job(scene).version) == (NEW, 2)
        assert [(event.rule, event.node) for event in bob.told(ScheduleChanged)] == [(NEW, "bob")]
        old.rounds_until(20)
        assert (job(scene).rule, job(scene).version) == (NEW, 2), "no flapping"
        assert [(event.rule, event.holds) for event in ann.told(DefinitionOutdated)] == [(OLD, NEW)], "once"
        assert [act.act for act in acts(scene)] == ["added", "changed"]

    def test_a_node_of_the_old_version_that_starts_again_changes_nothing(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        code(ann, duty(rule=OLD))
        scene.until(3)
        code(bob, duty(rule=NEW))
        code(scene.process("anna"), duty(rule=OLD))
        assert job(scene).rule == NEW

    def test_after_a_rollback_the_old_one_holds_again(self, scene: Scene, ann: Process, bob: Process) -> None:
        old = code(ann, duty(rule=OLD))
        scene.until(3)
        new = code(bob, duty(rule=NEW))
        new.retires()
        old.rounds_until(scene.now + 2 * BEAT)
        assert (job(scene).rule, job(scene).version) == (OLD, 3)

    def test_other_terms_hold_too_and_change_no_tick(self, scene: Scene, ann: Process, bob: Process) -> None:
        code(ann, duty(retries=1))
        due = job(scene).next_due
        scene.until(3)
        code(bob, duty(retries=2))
        assert (job(scene).terms.retries, job(scene).next_due, job(scene).version) == (2, due, 1)

    def test_a_schedule_retires_when_no_live_node_defines_it(self, scene: Scene, ann: Process, bob: Process) -> None:
        old = code(ann, duty(), duty("obsolete"))
        scene.until(3)
        new = code(bob, duty())
        old.retires()
        new.rounds_until(scene.now + DOWN_AFTER - BEAT)
        assert job(scene, "obsolete").gone is None, "it may come back"
        new.rounds_until(scene.now + 3 * BEAT)
        gone = job(scene, "obsolete").gone
        assert gone is not None
        assert gone.how == "retired"
        assert [event.job for event in bob.told(ScheduleRetired)] == ["obsolete"]
        assert job(scene).gone is None
        assert seen(scene, bob).left_over == []

    def test_with_it_goes_what_is_left_of_its_backfill(self, scene: Scene, ann: Process, bob: Process) -> None:
        old = code(ann, duty(), duty("obsolete"))
        eve, order, now = scene.process("eve"), Order("backfill"), scene.store_now()
        for name in (NAME, "obsolete"):
            span = Span("every 60s", now - 600, now)
            scene.play(fill_in(eve.world, eve.desk, name, span, order=order))
        scene.until(3)
        old.retires()
        code(bob, duty()).rounds_until(scene.now + DOWN_AFTER + 3 * BEAT)
        beside = job(scene, "obsolete" + BACKFILL)
        assert (beside.gone, beside.next_due) == (job(scene, "obsolete").gone, None)
        assert [act.act for act in acts(scene, "obsolete")] == ["added", "backfill", "retired"]
        assert job(scene, NAME + BACKFILL).gone is None

    def test_one_that_comes_back_is_run_again(self, scene: Scene, ann: Process, bob: Process) -> None:
        old = code(ann, duty(), duty("obsolete"))
        scene.until(3)
        new = code(bob, duty())
        old.retires()
        new.rounds_until(scene.now + DOWN_AFTER + 3 * BEAT)
        code(scene.process("anna"), duty(), duty("obsolete"))
        again = job(scene, "obsolete")
        assert (again.gone, again.next_due) == (None, EPOCH + 80)
        assert [act.act for act in acts(scene, "obsolete")] == ["added", "retired", "added"]

    def test_old_code_that_was_silent_for_long_does_not_come_back_as_the_newest(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        old = code(ann, duty(rule=OLD), duty("obsolete"))
        scene.until(3)
        new = code(bob, duty(rule=NEW))
        new.rounds_until(scene.now + DOWN_AFTER + 3 * BEAT)
        assert job(scene, "obsolete").gone is not None, "its deployment was thrown away"
        old.rounds_until(scene.now + 2 * BEAT)
        assert (job(scene).rule, job(scene).version) == (NEW, 2)
        assert job(scene, "obsolete").gone is None

    def test_when_all_are_gone_nothing_retires_and_ticks_are_caught_up_with(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        code(ann, duty(rule="every 600s")).retires()
        due = job(scene).next_due
        assert due is not None
        scene.until(due - EPOCH + 120)
        again = code(bob, duty(rule="every 600s"))
        assert again.ticks == [due - EPOCH]

    def test_what_was_said_as_data_stays_until_code_says_something_new(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        node = code(ann, duty(rule=OLD))
        said_as_data(scene, rule="every 3600s")
        node.rounds_until(2 * BEAT)
        code(bob, duty(rule=OLD), duty("other"))
        assert (job(scene).rule, job(scene).origin) == ("every 3600s", "data")
        scene.until(scene.now + 1)
        code(scene.process("cid"), duty(rule=NEW))
        assert (job(scene).rule, job(scene).origin) == (NEW, "code")

    def test_a_store_that_has_forgotten_all_of_it_is_told_anew(self, scene: Scene, ann: Process) -> None:
        node = code(ann, duty())
        sheets = scene.server.sheets[""]
        sheets.kept.clear()
        sheets.acts_at.clear()
        sheets.life = "another"
        node.rounds_until(2 * BEAT)
        assert states(scene, ann) == {"ann": "up"}
        assert job(scene).next_due == EPOCH + 20


def said_as_data(scene: Scene, *, rule: str) -> None:
    """Somebody changes the schedule by hand."""

    def judge(_: str, found: Job | None, now: float) -> Step | None:
        return None if found is None else changed(found, replace(definition_of(found), rule=rule), Word("eve", now))

    someone = scene.process("eve")
    assert scene.play(rewrite_all(someone.world, someone.desk, [NAME], judge))
