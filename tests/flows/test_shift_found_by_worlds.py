"""What worlds of the simulator have found about a node's rounds, each told as the shortest story that shows it."""

from __future__ import annotations

from dataclasses import replace

from dibs.flows import controlling
from dibs.flows.bearings import SETTLING
from dibs.flows.controlling import Order, Span
from dibs.flows.shift import LOOK_EVERY, RETRY
from dibs.model import control
from dibs.model.definition import Definition, changed, definition_of
from dibs.model.job import BACKFILL, Job
from tests.flows.nodes import NAME, Node, duty, job
from tests.flows.scripted import EPOCH, SILENT, Process, Scene
from tests.flows.test_shift_and_people import FIRST, done, frozen, rounds_until


def test_who_waits_for_a_store_to_settle_knows_that_all_is_frozen(scene: Scene, ann: Process) -> None:
    node = Node(ann, duty(on_outage="open"))
    node.rounds_until(FIRST - 2)
    scene.server.sheets[""].life = "another"
    node.round()
    frozen(scene)
    node.rounds_until(FIRST - 2 + SETTLING / 2)
    ann.world.is_silent = True
    node.rounds_until(FIRST + 30)
    assert node.begun == []


def test_who_could_not_look_how_a_job_stands_looks_again_in_the_next_round(scene: Scene, ann: Process) -> None:
    node = Node(ann, duty(on_outage="open"))
    node.rounds_until(1)
    done(scene, control.paused)
    scene.until(1 + LOOK_EVERY)
    ann.desk.patience = 0.1
    ann.world.doom("sheets", SILENT)
    node.round()
    scene.until(scene.now + RETRY)
    node.round()
    ann.world.is_silent = True
    node.rounds_until(FIRST + 30)
    assert node.begun == []


def test_who_could_not_remind_a_store_does_it_in_the_next_round(scene: Scene, ann: Process) -> None:
    here = Node(ann)
    here.round()
    sheets = scene.server.sheets[""]
    forgotten = dict(sheets.kept), dict(sheets.acts_at)
    scene.until(FIRST)
    here.round()
    here.ends()
    here.round()
    sheets.kept, sheets.acts_at = forgotten
    sheets.life = "another"
    ann.world.doom("amend", SILENT)
    here.round()
    assert job(scene).next_due == EPOCH + FIRST, "it did not hear"
    here.round()
    assert job(scene).next_due == EPOCH + FIRST + 60


def test_a_run_is_leased_by_the_ttl_it_was_begun_with(scene: Scene, ann: Process) -> None:
    node = Node(ann, duty(ttl=30.0))
    node.rounds_until(FIRST + 1)
    done(scene, lambda found, word: changed(found, _with_ttl(found, 6.0), word))
    node.rounds_until(FIRST + 11)
    [run] = job(scene).running
    [mine] = node.begun
    assert run.expires_at - EPOCH > FIRST + 30, "it was renewed, for as long as its node believes"
    assert not mine.forsaken


def _with_ttl(found: Job, ttl: float) -> Definition:
    said = definition_of(found)
    return replace(said, terms=replace(said.terms, ttl=ttl))


def test_a_tick_ahead_of_the_store_is_not_dealt_with_though_its_job_is_paused(
    scene: Scene, ann: Process, bob: Process
) -> None:
    hasty, node = Node(ann, duty(on_outage="open")), Node(bob, duty(on_outage="open"))
    hasty.clock, ann.world.is_silent = FIRST + 5, True
    hasty.round()
    assert hasty.ticks == [FIRST], "its own clock is all that it has"
    hasty.ends()
    node.round()
    done(scene, control.paused)
    ann.world.is_silent = False
    hasty.rounds_until(scene.now + 1)
    sheets = scene.server.sheets[""]
    sheets.kept.clear()
    sheets.acts_at.clear()
    sheets.life = "another"
    node.round()
    done(scene, lambda found, word: changed(found, replace(definition_of(found), rule="every 20s"), word))
    assert (job(scene).version, job(scene).next_due) == (2, EPOCH + FIRST), "as many changes as it had before"
    rounds_until(FIRST + 1, hasty, node)
    assert [*hasty.ticks[1:], *node.ticks] == [FIRST]


def test_what_a_node_knows_of_a_backfill_does_not_count_for_another(scene: Scene, ann: Process, bob: Process) -> None:
    node, other = Node(ann), Node(bob)
    node.rounds_until(FIRST + 1)
    sheets = scene.server.sheets[""]
    before = dict(sheets.kept), dict(sheets.acts_at)
    fill_in(scene, FIRST - 120, FIRST - 60)
    node.rounds_until(scene.now + LOOK_EVERY)
    node.ends()
    node.rounds_until(scene.now + LOOK_EVERY)
    sheets.kept, sheets.acts_at = before
    sheets.life = "another"
    node.rounds_until(scene.now + LOOK_EVERY)
    fill_in(scene, FIRST - 240, FIRST - 60)
    node.begun.clear()
    other.round()
    assert len(job(scene, NAME + BACKFILL).waiting) == 2
    sheets.life = "a third"
    rounds_until(scene.now + 2 * SETTLING, node, other)
    other.ends()
    rounds_until(scene.now + 1, node, other)
    assert sorted([*node.ticks, *other.ticks]) == [FIRST - 240, FIRST - 180, FIRST - 120, FIRST - 60]


def fill_in(scene: Scene, since: float, until: float) -> None:
    eve = scene.process("eve")
    span = Span(job(scene).rule, EPOCH + since, EPOCH + until, parallel=3)
    scene.play(controlling.fill_in(eve.world, eve.desk, NAME, span, order=Order("fill in")))
