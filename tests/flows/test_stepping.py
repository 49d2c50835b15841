"""Steps on nodes: begun once each, retried and resumed by whoever has the lock for it, and never lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dibs.errors import ActRefused, NoSuchJob
from dibs.events import Acted, RunBuried, RunEnded, RunForsaken
from dibs.flows import defining, inquiry, journal, stepping
from dibs.flows.controlling import NEWER, Order
from dibs.flows.duty import TAKEN
from dibs.flows.shift import LOOK_EVERY
from dibs.model.definition import Definition
from dibs.model.job import LEEWAY, Gone, Job, Terms
from dibs.model.rota import Ending
from dibs.model.sheet import Question, Sheet
from dibs.model.steps import Submission, sheet_of, state
from tests.flows.nodes import Node, duty, history, job
from tests.flows.scripted import SILENT, UNHEARD, Process, Scene

FAILED = Ending("failed", error="ValueError: no")
ORDER = Order("submit step 'one' of", "alice", "the shop")
SHEET = sheet_of("charge", "one")


def charge(**terms: Any) -> Any:
    return duty("charge", rule="", **{"retries": 2, "retry_delay": 4.0, "max_attempts": 3, "ttl": 6.0, **terms})


def submits(process: Process, step: str = "one", arguments: str = '{"order":1}', **terms: Any) -> Job:
    said = Submission("charge", step, charge(**terms).terms, arguments)
    return process.scene.play(stepping.submit(process.world, process.desk, said, order=ORDER))


def finds(process: Process, step: str = "one") -> Job | None:
    return process.scene.play(stepping.find(process.world, process.desk, "charge", step))


def lists(process: Process, *, after: str = "", limit: int = 100) -> Sequence[str]:
    flow = stepping.listed(process.world, process.desk, "charge", after=after, limit=limit)
    return [each.name.removeprefix("charge~step:") for each in process.scene.play(flow)]


def outcomes(scene: Scene, sheet: str = SHEET) -> list[tuple[int, str, str]]:
    return [(each.attempt, each.outcome, each.node) for each in history(scene, sheet)]


class TestSubmitting:
    def test_it_is_done_once_with_its_arguments_and_says_what_came_of_it(self, scene: Scene, ann: Process) -> None:
        there, node = submits(ann), Node(ann, charge())
        node.round()
        [mine] = node.begun
        assert (mine.job, mine.done_by, mine.arguments, mine.run.source) == (SHEET, "charge", '{"order":1}', "step")
        assert mine.run.fence == job(scene, SHEET).runs[0].fence
        node.ends(Ending("ok", result="1"))
        node.round()
        found = finds(ann)
        assert found is not None
        assert (there.name, state(there), state(found), found.runs) == (SHEET, "due", "ok", ())
        assert found.last is not None
        assert (found.last.result, node.locks) == ("1", []), "nothing of that takes a lock"
        node.rounds_until(scene.now + 20)
        assert len(node.begun) == 1

    def test_the_same_again_is_the_same_step(self, scene: Scene, ann: Process) -> None:
        submits(ann)
        before = job(scene, SHEET)
        assert submits(ann) == before == job(scene, SHEET)
        assert ann.told(Acted) == [Acted("charge", "submitted", "alice", "the shop")]

    def test_whoever_was_not_answered_submits_it_again(self, scene: Scene, ann: Process) -> None:
        ann.world.doom("amend", UNHEARD)
        with pytest.raises(Exception, match="no word"):
            submits(ann)
        assert (submits(ann).name, len(job(scene, SHEET).runs)) == (SHEET, 1)

    def test_other_arguments_for_the_same_id_are_refused(self, ann: Process) -> None:
        submits(ann)
        with pytest.raises(ActRefused, match="cannot submit step 'one' of 'charge': it is there with other arguments"):
            submits(ann, arguments="{}")

    def test_nobody_knows_one_that_was_not_submitted_nor_what_a_newer_dibs_wrote(
        self, scene: Scene, ann: Process
    ) -> None:
        assert finds(ann) is None
        submits(ann)
        scene.server.sheets[""].kept[SHEET] = Sheet(SHEET, 99, '{"format": 2}')
        with pytest.raises(ActRefused, match="cannot show step 'one' of 'charge': only a newer dibs"):
            finds(ann)
        assert NEWER.startswith("only a newer dibs")

    def test_they_are_listed_by_id_and_page_by_page(self, ann: Process, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stepping, "PAGE", 2)
        for step in ("b", "c", "a", "e", "d"):
            submits(ann, step)
        assert lists(ann) == ["a", "b", "c", "d", "e"]
        assert (lists(ann, limit=3), lists(ann, after="c"), lists(ann, limit=1)) == (["a", "b", "c"], ["d", "e"], ["a"])


class TestChores:
    def test_what_failed_is_retried_under_the_lock_of_that(self, scene: Scene, ann: Process) -> None:
        submits(ann)
        node = Node(ann, charge())
        node.round()
        node.ends(FAILED)
        node.rounds_until(scene.now + 3.9)
        assert (len(node.begun), node.locks) == (1, [])
        node.rounds_until(scene.now + 0.2)
        assert ([mine.run.attempt for mine in node.begun], node.locks) == ([1, 2], ["retry-scheduler"])
        assert node.begun[1].run.fence > node.begun[0].run.fence

    def test_what_failed_is_not_put_off_by_all_that_is_new(self, scene: Scene, ann: Process) -> None:
        submits(ann)
        node = Node(ann, charge(), room=1)
        node.round()
        for step in "abcdefgh":
            submits(ann, step)
        node.ends(FAILED)
        node.round()
        assert len(node.begun) == 2, "there is room for one of those that are new"
        scene.until(scene.now + 4)
        node.ends()
        node.round()
        assert [(mine.job, mine.run.attempt) for mine in node.begun[2:]] == [(SHEET, 2)]

    def test_who_does_not_get_the_lock_leaves_it_and_looks_again(self, scene: Scene, ann: Process) -> None:
        submits(ann)
        node = Node(ann, charge())
        node.round()
        node.ends(FAILED)
        node.is_locked_out = True
        node.rounds_until(scene.now + 5)
        assert (len(node.begun), set(node.locks)) == (1, {"retry-scheduler"})
        assert node.round() == LOOK_EVERY, "no faster, though it is due"
        node.is_locked_out = False
        assert (node.round(), len(node.begun)) == (0.0, 2)

    def test_the_run_of_a_dead_node_is_resumed_by_another(self, scene: Scene, ann: Process, bob: Process) -> None:
        submits(ann)
        Node(ann, charge()).round()
        other = Node(bob, charge())
        other.rounds_until(scene.now + 7)
        assert ([mine.run.attempt for mine in other.begun], other.locks) == ([2], ["resume-scheduler"])
        assert outcomes(scene) == [(1, "lost", "ann")]
        assert [(each.job, each.node) for each in bob.told(RunBuried)] == [(SHEET, "ann")]

    def test_one_that_its_node_does_not_stop_is_taken_away_from_it(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        submits(ann, timeout=2.0)
        slow, other = Node(ann, charge()), Node(bob, charge())
        slow.round()
        other.round()
        for _ in range(12):
            scene.until(scene.now + 0.5)
            slow.round() if scene.now < 2 + LEEWAY - 0.5 else None
            other.round()
        assert ("timeout-scheduler" in other.locks, slow.stops) == (True, ["timeout"])
        assert outcomes(scene) == [(1, "timeout", "ann")]
        assert [each.outcome for each in bob.told(RunEnded)] == ["timeout"]
        slow.round()
        assert [each.reason for each in ann.told(RunForsaken)] == [TAKEN]
        slow.ends()
        slow.rounds_until(scene.now + 1)
        assert state(job(scene, SHEET)) == "due", "what it says now does not count"

    def test_before_it_can_be_taken_away_its_body_knows_that_it_may_be(self, scene: Scene, ann: Process) -> None:
        submits(ann, timeout=2.0)
        node = Node(ann, charge(ttl=60.0))
        began = scene.now
        node.round()
        [mine] = node.begun
        assert mine.is_relied_on(began + 2)
        assert not mine.is_relied_on(began + 2 + LEEWAY / 2)
        mine.forsake(TAKEN)
        assert not mine.is_relied_on(began)

    def test_one_that_is_full_takes_it_away_all_the_same_but_begins_nothing(self, scene: Scene, ann: Process) -> None:
        submits(ann, timeout=2.0, retry_delay=0.0)
        node = Node(ann, charge(), room=1)
        node.rounds_until(scene.now + 2 + LEEWAY + 1)
        assert (outcomes(scene), len(node.begun)) == ([(1, "timeout", "ann")], 1)
        assert node.locks == ["timeout-scheduler"]
        node.ends()
        node.rounds_until(scene.now + 1)
        assert [mine.run.attempt for mine in node.begun] == [1, 2]

    def test_what_was_kept_for_long_enough_is_thrown_away_with_its_history(self, scene: Scene, ann: Process) -> None:
        submits(ann, keep_for=30.0)
        node = Node(ann, charge())
        node.round()
        node.ends()
        node.rounds_until(scene.now + 25)
        assert (job(scene, SHEET).gone is not None, outcomes(scene)) == (True, [(1, "ok", "ann")])
        node.rounds_until(scene.now + 10)
        assert (finds(ann), outcomes(scene), node.locks) == (None, [], ["cleanup-scheduler"])
        assert SHEET not in scene.server.sheets[""].acts_at

    def test_who_cannot_do_it_takes_no_lock_while_others_can(self, scene: Scene, ann: Process, bob: Process) -> None:
        submits(ann)
        able, other = Node(ann, charge()), Node(bob, duty())
        able.round()
        other.round()
        able.ends(FAILED)
        able.round()
        able.shift.is_leaving = True
        other.rounds_until(scene.now + 5)
        assert (other.begun, other.locks) == ([], [])

    def test_what_nobody_can_do_any_more_waits_but_is_lost_if_its_node_is(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        submits(ann, max_attempts=1)
        Node(ann, charge()).round()
        other = Node(bob, duty())
        other.rounds_until(scene.now + 60)
        assert (state(job(scene, SHEET)), set(other.locks)) == ("lost", {"resume-scheduler"})

    def test_a_store_that_cannot_be_gone_by_is_left_alone_under_the_lock_too(self, scene: Scene, ann: Process) -> None:
        submits(ann)
        node = Node(ann, charge())
        node.round()
        node.ends(FAILED)
        node.rounds_until(scene.now + 3.9)
        scene.until(scene.now + 1)
        sheets = scene.server.sheets[""]
        was_under = node.under

        async def under(lock: str, act: Any) -> bool:
            sheets.life = "another"
            return await was_under(lock, act)

        node.under = under  # type: ignore[method-assign]
        node.round()
        assert len(node.begun) == 1

    def test_a_silent_store_costs_no_step(self, scene: Scene, ann: Process) -> None:
        submits(ann)
        node = Node(ann, charge())
        node.round()
        node.ends(FAILED)
        node.round()
        scene.until(scene.now + 4)
        ann.world.doom("amend", SILENT)
        node.rounds_until(scene.now + 8)
        assert [mine.run.attempt for mine in node.begun] == [1, 2]


def test_hundreds_that_are_due_at_once_are_each_begun_once_and_shared_by_the_nodes(
    scene: Scene, ann: Process, bob: Process
) -> None:
    for number in range(300):
        submits(ann, f"{number:04}")
    nodes = [Node(ann, charge(), room=40), Node(bob, charge(), room=40)]
    for _ in range(20):
        for node in nodes:
            node.round()
            node.ends()
        scene.until(scene.now + 0.1)
    begun = [mine.job for node in nodes for mine in node.begun]
    assert (len(begun), len(set(begun))) == (300, 300)
    assert min(len(node.begun) for node in nodes) > 50


class TestBesideSchedules:
    @pytest.fixture
    def node(self, ann: Process) -> Node:
        node = Node(ann, duty("charge", rule="every 60s"))
        node.round()
        submits(ann)
        node.round()
        node.ends()
        node.round()
        return node

    def test_schedules_are_listed_without_them(
        self, scene: Scene, ann: Process, node: Node, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(defining, "PAGE", 2)
        for step in range(9):
            submits(ann, str(step))
        said = Definition("zoo", "every 60s", Terms(), "charge")
        scene.play(defining.add(ann.world, ann.desk, said, order=ORDER))
        asked = []
        named = scene.server.sheets[""].named

        def noted_named(*args: Any) -> Any:
            asked.append(args)
            return named(*args)

        monkeypatch.setattr(type(scene.server.sheets[""]), "named", lambda _, *args: noted_named(*args))
        found = scene.play(defining.listed(ann.world, ann.desk, prefix="", after="", limit=10))
        assert [each.job.name for each in found] == ["charge", "zoo"]
        assert len(asked) < 6, "it does not go through all steps"

    def test_their_runs_are_among_those_of_the_job(self, scene: Scene, ann: Process, node: Node) -> None:
        lines = scene.play(journal.runs(ann.world, ann.desk, Question("charge")))
        assert [(name, record.source) for name, record in lines] == [(SHEET, "step")]

    def test_why_a_tick_was_run_has_nothing_to_do_with_them(self, scene: Scene, ann: Process, node: Node) -> None:
        node.rounds_until(25.0)
        node.ends()
        node.round()
        submits(ann, "two")
        node.round()
        node.ends()
        node.round()
        facts = scene.play(inquiry.facts(ann.world, ann.desk, "charge", scene.store_now()))
        assert [record.source for record in (*facts.records, *facts.earlier)] == ["schedule"]
        assert "submitted" not in {act.act for act in facts.acts}

    def test_of_one_that_has_only_steps_there_is_no_tick_to_tell_of(self, scene: Scene, ann: Process) -> None:
        submits(ann)
        with pytest.raises(NoSuchJob):
            scene.play(inquiry.facts(ann.world, ann.desk, "charge", scene.store_now()))


def test_it_is_gone_for_its_sheet_alone(scene: Scene, ann: Process) -> None:
    submits(ann)
    node = Node(ann, charge())
    node.round()
    node.ends()
    node.round()
    gone = job(scene, SHEET).gone
    assert isinstance(gone, Gone)
    assert (gone.how, job(scene, "charge").gone) == ("ended", None)
