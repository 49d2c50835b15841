"""What a node does about what people have said: freezes, triggers, backfills, labels."""

from __future__ import annotations

from collections.abc import Callable

from dibs.flows.muster import Muster
from dibs.flows.sheets import amend, look, rework, rewrite_all
from dibs.flows.shift import LOOK_EVERY
from dibs.model import control, fleet
from dibs.model.control import Word
from dibs.model.definition import Definition, added
from dibs.model.fleet import FLEET
from dibs.model.job import Job, Terms
from dibs.model.rota import Step
from dibs.model.sheet import Change, Sheet
from tests.flows.nodes import NAME, OK, Node, duty, history, job, outcomes
from tests.flows.scripted import EPOCH, Process, Scene

FIRST = 20.0


def done(scene: Scene, what: Callable[[Job, Word], Step], name: str = NAME) -> None:
    """Eve does something to a job."""
    eve = scene.process("eve")

    def judge(_: str, found: Job | None, now: float) -> Step | None:
        return None if found is None else what(found, Word("eve", now))

    assert scene.play(rewrite_all(eve.world, eve.desk, [name], judge))


def added_as_data(scene: Scene, said: Definition) -> None:
    eve = scene.process("eve")
    word = Word("eve", scene.store_now())
    assert scene.play(rewrite_all(eve.world, eve.desk, [said.name], lambda _, found, now: added(found, said, word)))


def frozen(scene: Scene, until: float | None = None) -> None:
    eve = scene.process("eve")

    def judge(found: Sheet | None, now: float) -> Change:
        return fleet.frozen(found, Word("eve", now, "the database moves"), until=until)

    assert scene.play(rework(eve.world, eve.desk, FLEET, judge))


def rounds_until(moment: float, *nodes: Node) -> None:
    """All of them, side by side."""
    scene = nodes[0].scene
    while scene.now < moment:
        for node in nodes:
            node.round()
        scene.until(min(scene.now + LOOK_EVERY, moment))


class TestFreezing:
    def test_nobody_claims_while_the_fleet_is_frozen(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        frozen(scene)
        node.rounds_until(FIRST + 200)
        assert node.begun == []
        eve = scene.process("eve")
        scene.play(rework(eve.world, eve.desk, FLEET, lambda found, now: fleet.thawed(found, Word("eve", now))))
        node.rounds_until(FIRST + 201)
        assert node.ticks == [FIRST + 180], "the latest, as ever"

    def test_a_claim_that_was_under_way_when_it_froze_is_refused(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        scene.until(FIRST)
        reading = scene.play(look(ann.world, ann.desk, ann.desk.store.due(0, 10)))
        frozen(scene)
        assert scene.play(amend(ann.world, ann.desk, reading, [Step(job(scene))], unless_due=FLEET)) == []
        assert scene.play(amend(ann.world, ann.desk, reading, [Step(job(scene))]))

    def test_it_melts_when_its_time_is_over(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        frozen(scene, until=EPOCH + FIRST + 30)
        node.rounds_until(FIRST + 30)
        assert node.begun == []
        node.rounds_until(FIRST + 31)
        assert node.ticks == [FIRST]
        assert FLEET not in scene.server.sheets[""].acts_at

    def test_what_is_frozen_is_not_run_without_the_store_either(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(on_outage="open"))
        node.round()
        frozen(scene, until=EPOCH + FIRST + 30)
        node.round()
        ann.world.is_silent = True
        node.rounds_until(FIRST + 29)
        assert node.begun == []
        node.rounds_until(FIRST + 33)
        assert node.ticks == [FIRST]


class TestPeople:
    def test_a_paused_job_is_not_run_without_the_store_either(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(on_outage="open"))
        node.round()
        done(scene, lambda found, word: control.paused(found, word, until=EPOCH + FIRST + 70))
        node.rounds_until(1)
        ann.world.is_silent = True
        node.rounds_until(FIRST + 110)
        assert node.begun == []
        node.rounds_until(FIRST + 123)
        assert node.ticks == [FIRST + 120]

    def test_nor_one_that_is_paused_for_good(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(on_outage="open"))
        node.round()
        done(scene, control.paused)
        node.rounds_until(1)
        ann.world.is_silent = True
        node.rounds_until(FIRST + 110)
        assert node.begun == []

    def test_nor_the_one_tick_that_is_to_be_skipped(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(on_outage="open"))
        node.round()
        done(scene, control.without_next)
        node.rounds_until(1)
        ann.world.is_silent = True
        node.rounds_until(FIRST + 63)
        assert node.ticks == [FIRST + 60]

    def test_a_run_that_is_asked_for_begins_soon_with_its_arguments(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        due = job(scene).next_due
        done(scene, lambda found, word: control.triggered(found, word, arguments='{"dry":true}'))
        node.rounds_until(LOOK_EVERY)
        [mine] = node.begun
        assert (mine.run.source, mine.arguments, mine.done_by) == ("trigger", '{"dry":true}', NAME)
        node.ends(OK)
        node.round()
        assert job(scene).next_due == due, "its ticks are as they were"
        [record] = history(scene)
        assert (record.source, record.outcome) == ("trigger", "ok")
        node.rounds_until(FIRST + 1)
        assert node.ticks[1:] == [FIRST]

    def test_a_store_that_forgot_it_is_told_of_it_and_not_that_a_tick_of_another_node_s_was_missed(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        node, other = Node(ann, duty(overlap="allow")), Node(bob, duty(overlap="allow"))
        node.round()
        other.round()
        sheets = scene.server.sheets[""]
        before = dict(sheets.kept), dict(sheets.acts_at)
        other.rounds_until(FIRST + 0.5)
        assert other.ticks == [FIRST]
        done(scene, control.triggered)
        node.round()
        [mine] = node.begun
        assert mine.run.source == "trigger"
        sheets.kept, sheets.acts_at = before
        sheets.life = "another"
        node.round()
        node.round()
        rounds_until(FIRST + 2, node, other)
        assert outcomes(scene) == []
        assert {run.node for run in job(scene).runs} == {"ann", "bob"}

    def test_a_store_that_forgot_it_does_not_cost_the_tick_that_is_due(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(overlap="allow"))
        node.round()
        scene.until(FIRST + 0.1)
        done(scene, control.triggered)
        node.most = 1
        node.round()
        scene.server.sheets[""].life = "another"
        node.most = 10
        node.rounds_until(FIRST + 10)
        assert sorted(mine.run.source for mine in node.begun) == ["schedule", "trigger"]

    def test_a_backfill_is_run_so_many_at_once_and_each_tick_once(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        nodes = [Node(ann), Node(bob)]
        nodes[0].round()
        eve, now = scene.process("eve"), scene.store_now()
        word = Word("eve", now, "the ledger was wrong")
        step = control.filled_in(job(scene), None, word, since=now - 600, until=now, parallel=2)
        reading = scene.play(look(eve.world, eve.desk, eve.desk.store.sheets([NAME])))
        assert scene.play(amend(eve.world, eve.desk, reading, [step]))
        ticks = control.ticks_between(job(scene), now - 600, now, most=100)
        for _ in range(40):
            for node in nodes:
                node.round()
                assert sum(mine.ending is None for each in nodes for mine in each.begun) <= 2
                node.ends()
        filled = [mine for node in nodes for mine in node.begun if mine.run.source == "backfill"]
        assert sorted(mine.run.tick for mine in filled) == ticks
        assert {mine.done_by for mine in filled} == {NAME}
        assert sorted(record.tick for record in history(scene) if record.source == "backfill") == ticks
        assert job(scene, NAME + "~backfill").acts_at() is None

    def test_what_was_removed_is_thrown_away_when_its_history_is_over(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        added_as_data(scene, Definition("acme", "every 60s", Terms(keep_for=300.0), NAME))
        node.rounds_until(FIRST + 1)
        node.ends()
        node.round()
        done(scene, control.removed, "acme")
        node.rounds_until(FIRST + 290)
        assert "acme" in scene.server.sheets[""].kept
        node.rounds_until(FIRST + 310)
        assert "acme" not in scene.server.sheets[""].kept


class TestWhoCan:
    def test_a_schedule_is_run_by_a_node_that_knows_its_function(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        node, other = Node(ann, duty("other")), Node(bob, duty(rule=""))
        added_as_data(scene, Definition("acme", "every 60s", Terms(), NAME, '{"customer":"acme"}'))
        rounds_until(FIRST + 1, node, other)
        assert [mine.job for mine in node.begun] == ["other"]
        [mine] = other.begun
        assert (mine.job, mine.done_by, mine.arguments) == ("acme", NAME, '{"customer":"acme"}')

    def test_it_is_run_only_where_all_its_labels_are(self, scene: Scene, ann: Process, bob: Process) -> None:
        plain, able = Node(ann, duty(labels=("gpu",))), Node(bob, duty(labels=("gpu",)), labels=("eu", "gpu"))
        rounds_until(FIRST + 1, plain, able)
        assert (plain.begun, able.ticks) == ([], [FIRST])

    def test_a_tick_that_nobody_can_run_is_missed_when_its_grace_is_over(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(labels=("gpu",), grace=30.0))
        node.rounds_until(FIRST + 29)
        assert outcomes(scene) == []
        node.rounds_until(FIRST + 31)
        [record] = history(scene)
        assert (record.tick - EPOCH, record.outcome) == (FIRST, "missed")
        assert record.reason == "no live node that can do it has the label gpu"
        added_as_data(scene, Definition("acme", "every 60s", Terms(grace=30.0), "nobody knows"))
        node.rounds_until(FIRST + 95)
        assert history(scene, "acme")[0].reason == "no live node can do 'nobody knows'"


def test_a_muster_knows_nobody_before_its_first_beat(ann: Process) -> None:
    assert Muster(ann.world, ann.desk, {}, Node(ann)).fleet.nodes == ()
