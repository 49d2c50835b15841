"""One node's part in running jobs: what it claims, tells and remembers, whatever becomes of its messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dibs.events import ClaimingPaused, RunBegun, RunBuried, RunEnded, RunForsaken, StoreBack, StoreSilent, TickPassed
from dibs.flows.bearings import ANEW, SETTLING
from dibs.flows.duty import NOT_RENEWED, TAKEN
from dibs.flows.shift import LOOK_EVERY, RETRY
from dibs.model.job import Run
from dibs.model.rota import Ending
from dibs.stores.memory.sheets import Sheets
from tests.flows.nodes import NAME, OK, Node, duty, history, job, outcomes
from tests.flows.scripted import EPOCH, REFUSED, SILENT, UNHEARD, Fate, Process, Scene

FIRST = 20.0
"""The first tick of the minute's job: the scene begins forty seconds past a minute."""
assert (EPOCH + FIRST) % 60 == 0


class TestClaiming:
    def test_a_job_that_is_new_starts_with_its_next_tick(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        assert node.round() == LOOK_EVERY
        assert (job(scene).next_due, job(scene).version, node.begun) == (EPOCH + FIRST, 1, [])

    def test_a_tick_is_begun_when_it_comes_and_its_end_is_noted(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST + 0.5)
        assert node.ticks == [FIRST]
        [mine] = node.begun
        assert mine.run.fence == job(scene).runs[0].fence == job(scene).revision
        node.ends(Ending("ok", result="42", log=("a line",)))
        node.round()
        [record] = history(scene)
        assert (record.outcome, record.result, record.log, record.node) == ("ok", "42", ("a line",), "ann")
        assert (job(scene).runs, node.shift.charge.underway) == ((), {})
        [begun], [ended] = ann.told(RunBegun), ann.told(RunEnded)
        assert (begun.job, begun.fence, begun.attempt, ended.outcome) == (NAME, mine.run.fence, 1, "ok")

    def test_it_looks_again_when_the_next_is_due_and_each_second_at_least(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        scene.until(FIRST - 0.3)
        assert node.round() == pytest.approx(0.3)
        scene.until(FIRST)
        assert node.round() == 0.0, "there may be more"
        assert node.round() == LOOK_EVERY

    def test_of_several_nodes_one_begins_each_tick(self, scene: Scene, ann: Process, bob: Process) -> None:
        nodes = [Node(ann), Node(bob)]
        for second in range(1, 200):
            for node in nodes:
                node.round()
                node.ends()
            scene.until(float(second))
        assert sorted(nodes[0].ticks + nodes[1].ticks) == [FIRST, FIRST + 60, FIRST + 120]

    def test_who_was_faster_has_it(self, scene: Scene, ann: Process, bob: Process) -> None:
        here, there = Node(ann), Node(bob)
        here.round()
        there.round()
        scene.until(FIRST)
        ann.world.doom("amend", Fate(lands_after=0.1))
        slow = here.starts_round()
        there.round()
        assert scene.finish(slow) == 0.0
        assert (here.ticks, there.ticks) == ([], [FIRST])

    def test_the_next_round_comes_in_time_for_the_lease_of_what_it_runs(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(ttl=0.6))
        node.rounds_until(FIRST + 0.01)
        assert node.ticks == [FIRST]
        assert node.round() <= 0.2 < LOOK_EVERY
        node.rounds_until(FIRST + 10)
        assert ann.told(RunForsaken) == []

    def test_the_clock_of_its_machine_does_not_matter(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.clock = 10_000.0
        node.rounds_until(FIRST - 0.1)
        assert node.begun == []

    def test_who_has_no_room_leaves_it_to_others(self, scene: Scene, ann: Process, bob: Process) -> None:
        full, free = Node(ann, room=0), Node(bob)
        full.round()
        scene.until(FIRST + 1)
        assert full.round() == LOOK_EVERY
        free.round()
        assert (full.ticks, free.ticks) == ([], [FIRST])

    def test_it_begins_no_more_at_once_than_it_has_room_for(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, *(duty(f"job {number}") for number in range(5)), room=2)
        node.rounds_until(FIRST + 0.5)
        assert len(node.begun) == 2
        node.ends()
        node.round()
        assert len(node.begun) == 4

    def test_jobs_of_others_do_not_stand_in_the_way(self, scene: Scene, ann: Process, bob: Process) -> None:
        others = Node(bob, *(duty(f"theirs {number}") for number in range(500)))
        others.round()
        node = Node(ann)
        node.rounds_until(FIRST + 0.5)
        assert node.ticks == [FIRST]

    def test_a_sheet_that_it_cannot_read_is_left_alone(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(), duty("newer"))
        node.round()
        sheets = scene.server.sheets[""]
        sheets.kept["newer"] = type(sheets.kept["newer"])("newer", 1, '{"format": 2}')
        scene.until(FIRST)
        node.round()
        assert [mine.job for mine in node.begun] == [NAME]

    def test_what_nobody_was_there_for_is_noted_and_told(self, scene: Scene, ann: Process, bob: Process) -> None:
        Node(bob).round()
        scene.until(FIRST + 125)
        node = Node(ann)
        node.round()
        assert node.ticks == [FIRST + 120]
        assert outcomes(scene) == [(FIRST, "missed"), (FIRST + 60, "missed")]
        assert [(event.tick - EPOCH, event.outcome) for event in ann.told(TickPassed)] == outcomes(scene)

    def test_what_waits_behind_another_is_begun_when_that_has_ended(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(overlap="queue"))
        node.rounds_until(FIRST + 61)
        assert node.ticks == [FIRST]
        node.ends()
        node.round()
        assert node.ticks == [FIRST, FIRST + 60]

    def test_another_rule_holds_from_now_on(self, scene: Scene, ann: Process, bob: Process) -> None:
        Node(bob).round()
        scene.until(1)
        node = Node(ann, duty(rule="every 3600s"))
        node.round()
        assert (job(scene).version, job(scene).rule) == (2, "every 3600s")

    def test_a_node_goes_by_the_rule_that_the_store_has(self, scene: Scene, ann: Process, bob: Process) -> None:
        old, new = Node(ann), Node(bob, duty(rule="every 3600s"))
        old.round()
        scene.until(1)
        new.round()
        scene.until(FIRST + 1)
        old.round()
        assert (old.begun, job(scene).rule) == ([], "every 3600s")


class TestUnanswered:
    def test_a_claim_that_was_made_unheard_is_given_back_and_taken_again(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        scene.until(FIRST)
        ann.world.doom("amend", UNHEARD)
        assert node.round() == RETRY
        assert len(job(scene).running) == 1, "it has landed"
        assert node.begun == [], "but nobody knows"
        node.round()
        assert node.ticks == [FIRST]
        assert (node.begun[0].run.attempt, job(scene).running[0].owner) == (1, node.begun[0].owner)

    def test_one_that_may_still_land_is_looked_after_until_it_cannot(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        scene.until(FIRST)
        ann.world.doom("amend", Fate(lands_after=3.0, heard_after=None))
        node.round()
        node.round()  # it has taken the tick by another claim, so that the first finds another revision
        assert node.ticks == [FIRST]
        node.rounds_until(FIRST + 10)
        assert node.ticks == [FIRST]
        assert [run.owner for run in job(scene).runs] == [node.begun[0].owner]

    def test_one_that_lands_late_is_given_back(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        scene.until(FIRST)
        ann.world.doom("amend", Fate(lands_after=3.0, heard_after=None))
        node.round()
        node.most = 0  # so that it does not claim again
        node.rounds_until(FIRST + 4)
        assert (job(scene).running, len(job(scene).waiting)) == ((), 1)
        node.most = 1
        node.round()
        assert node.ticks == [FIRST]

    def test_one_that_was_surely_not_made_is_made_again(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        scene.until(FIRST)
        ann.world.doom("amend", REFUSED)
        node.round()
        node.round()
        assert node.ticks == [FIRST]

    def test_an_answer_too_late_to_begin_by_begins_nothing(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(ttl=1.0))
        node.round()
        scene.until(FIRST)
        ann.world.doom("amend", Fate(heard_after=1.5))
        node.round()
        assert node.begun == []
        assert [event.reason for event in ann.told(RunForsaken)] == ["it could not be renewed in time"]
        node.rounds_until(scene.now + 1)
        assert node.ticks == [FIRST]

    def test_an_end_that_was_told_unheard_is_not_told_again(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST + 0.5)
        node.ends()
        ann.world.doom("amend", UNHEARD)
        node.round()
        node.round()
        assert outcomes(scene) == [(FIRST, "ok")]
        assert (node.shift.charge.underway, ann.told(RunForsaken)) == ({}, [])

    def test_an_end_that_was_not_heard_is_told_again(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST + 0.5)
        node.ends()
        ann.world.doom("amend", SILENT)
        node.round()
        assert outcomes(scene) == []
        node.round()
        assert outcomes(scene) == [(FIRST, "ok")]

    def test_of_several_jobs_each_is_settled(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty("a"), duty("b"), duty("c"))
        node.round()
        scene.until(FIRST)
        ann.world.doom("amend", UNHEARD)
        node.round()
        node.rounds_until(FIRST + 10)
        assert sorted((mine.job, mine.run.attempt) for mine in node.begun) == [("a", 1), ("b", 1), ("c", 1)]
        assert len({run.owner for name in "abc" for run in job(scene, name).runs}) == 3

    def test_where_another_is_faster_it_is_told_again(self, scene: Scene, ann: Process, bob: Process) -> None:
        node, other = Node(ann), Node(bob, duty(retries=5))
        node.rounds_until(FIRST + 0.5)
        node.ends()
        ann.world.doom("amend", Fate(lands_after=0.5))
        slow = node.starts_round()
        other.round()  # it makes its own terms known
        scene.finish(slow)
        assert (outcomes(scene), job(scene).terms.retries) == ([(FIRST, "ok")], 5)

    def test_where_others_are_always_faster_it_is_told_in_the_next_round(
        self, scene: Scene, ann: Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = Node(ann)
        node.rounds_until(FIRST + 0.5)
        node.ends()
        amend = Sheets.amend
        monkeypatch.setattr(Sheets, "amend", lambda *_: False)
        node.round()
        assert outcomes(scene) == []
        monkeypatch.setattr(Sheets, "amend", amend)
        node.round()
        assert outcomes(scene) == [(FIRST, "ok")]


class TestSilence:
    def test_it_is_told_once_and_outlasted(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        ann.world.is_silent = True
        node.rounds_until(FIRST + 10)
        assert len(ann.told(StoreSilent)) == 1
        ann.world.is_silent = False
        node.rounds_until(FIRST + 15)
        assert node.ticks == [FIRST]
        [back] = ann.told(StoreBack)
        assert back.after > 20

    def test_who_starts_while_it_is_silent_enrols_when_it_is_back(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        ann.world.is_silent = True
        node.rounds_until(5.0)
        ann.world.is_silent = False
        node.rounds_until(FIRST + 1)
        assert node.ticks == [FIRST]

    def test_nothing_is_run_without_it_unless_that_is_wanted(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        ann.world.is_silent = True
        node.rounds_until(FIRST + 65)
        assert node.begun == []


class TestForgetting:
    def test_a_store_that_was_started_anew_is_reminded_before_anything_is_claimed(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        here, there = Node(ann), Node(bob)
        here.round()
        there.round()
        sheets = scene.server.sheets[""]
        forgotten = dict(sheets.kept), dict(sheets.acts_at)
        scene.until(FIRST)
        here.round()
        here.ends()
        here.round()
        assert here.ticks == [FIRST]
        sheets.kept, sheets.acts_at = forgotten
        sheets.life = "another"
        assert job(scene).next_due == EPOCH + FIRST, "it has forgotten the claim"
        there.rounds_until(FIRST + 1)
        assert there.begun == [], "it might be another's"
        [paused] = bob.told(ClaimingPaused)
        assert (paused.why, paused.lasts) == (ANEW, SETTLING)
        here.round()
        assert job(scene).next_due == EPOCH + FIRST + 60
        there.rounds_until(FIRST + 10)
        assert there.begun == []

    def test_a_store_that_has_forgotten_all_is_told_which_jobs_there_are(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        scene.server.sheets.clear()
        scene.server.sheets[""].life = "another"
        node.rounds_until(FIRST + 0.5)
        assert node.ticks == [FIRST]

    def test_what_it_has_dealt_with_itself_it_never_claims_again(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        before = dict(scene.server.sheets[""].kept), dict(scene.server.sheets[""].acts_at)
        node.rounds_until(FIRST + 0.5)
        scene.server.sheets[""].kept, scene.server.sheets[""].acts_at = before
        node.rounds_until(FIRST + 10)
        assert node.ticks == [FIRST]

    def test_an_end_that_was_told_unheard_and_forgotten_is_told_again(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST - 1)
        sheets = scene.server.sheets[""]
        before = dict(sheets.kept), dict(sheets.acts_at)
        node.rounds_until(FIRST + 0.5)
        node.ends()
        ann.world.doom("amend", UNHEARD)
        node.round()
        assert outcomes(scene) == [(FIRST, "ok")], "it has landed"
        sheets.kept, sheets.acts_at = before
        sheets.histories.clear()
        sheets.life = "another"
        node.rounds_until(FIRST + 10)
        assert (node.ticks, outcomes(scene)) == ([FIRST], [(FIRST, "ok")])
        assert (node.shift.charge.underway, ann.told(RunForsaken)) == ({}, [])

    def test_one_that_was_given_up_meanwhile_does_not_count(self, scene: Scene, ann: Process, bob: Process) -> None:
        node, other = Node(ann, duty(ttl=2.0)), Node(bob, duty(ttl=2.0))
        node.rounds_until(FIRST + 0.5)
        node.ends()
        ann.world.doom("amend", SILENT)
        node.round()
        other.rounds_until(scene.now + 1)
        assert outcomes(scene) == [(FIRST, "lost")]
        node.round()
        assert (node.shift.charge.underway, len(ann.told(RunForsaken))) == ({}, 1)

    def test_one_that_nobody_can_have_noted_and_that_ran_out_is_given_up(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(ttl=2.0))
        node.rounds_until(FIRST + 0.5)
        node.ends()
        ann.world.doom("amend", SILENT)
        node.round()
        scene.server.sheets[""].kept.clear()
        scene.server.sheets[""].acts_at.clear()
        node.round()
        assert (node.shift.charge.underway, len(ann.told(RunForsaken))) == ({}, 1)

    def test_what_is_under_way_is_told_anew_to_a_store_that_forgot_it(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST - 1)
        sheets = scene.server.sheets[""]
        before = dict(sheets.kept), dict(sheets.acts_at)
        node.rounds_until(FIRST + 0.5)
        sheets.kept, sheets.acts_at = before
        sheets.life = "another"
        node.rounds_until(FIRST + 10)
        assert ([run.owner for run in job(scene).runs], node.stops) == ([node.begun[0].owner], [])
        node.ends()
        node.round()
        assert (node.ticks, outcomes(scene)) == ([FIRST], [(FIRST, "ok")])

    def test_unless_another_node_was_given_it_meanwhile(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST + 0.5)
        sheets, known = scene.server.sheets[""], job(scene)
        now = scene.store_now()
        theirs = Run(EPOCH + FIRST, 2, owner="bob-1", node="bob", started_at=now, expires_at=now + 30)
        sheets.kept[NAME] = replace(sheets.kept[NAME], text=replace(known, runs=(theirs,)).text())
        sheets.life = "another"
        node.rounds_until(FIRST + 5)
        assert ([run.owner for run in job(scene).runs], node.stops) == (["bob-1"], [TAKEN])

    def test_unless_its_lease_was_over_before_that_could_be_told(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(ttl=2.0))
        node.rounds_until(FIRST - 1)
        sheets = scene.server.sheets[""]
        before = dict(sheets.kept), dict(sheets.acts_at)
        node.rounds_until(FIRST + 0.1)
        sheets.kept, sheets.acts_at = before
        sheets.life = "another"
        ann.world.doom("amend", *[SILENT] * 3)
        node.rounds_until(FIRST + 15)
        assert ([mine.forsaken for mine in node.begun], node.ticks) == ([NOT_RENEWED], [FIRST])
        assert job(scene).runs == ()

    @pytest.mark.parametrize("by", [7.0, -7.0])
    def test_while_the_store_s_clock_jumps_nothing_is_claimed_for_a_heartbeat(
        self, scene: Scene, ann: Process, monkeypatch: pytest.MonkeyPatch, by: float
    ) -> None:
        node = Node(ann)
        node.rounds_until(FIRST - 3)
        monkeypatch.setattr(scene, "store_now", lambda: EPOCH + scene.now + by)
        node.rounds_until(FIRST + 5)
        assert node.begun == []
        [paused] = ann.told(ClaimingPaused)
        assert paused.why == f"its clock has jumped {'forward' if by > 0 else 'back'} by 7s"
        node.rounds_until(FIRST + 8)
        assert node.ticks == [FIRST]

    def test_a_node_that_stood_still_between_two_looks_does_not_take_it_for_a_jump(
        self, scene: Scene, ann: Process
    ) -> None:
        node = Node(ann)
        node.round()
        ann.world.doom("due", Fate(heard_after=1.9))
        scene.until(100)
        node.round()
        assert ann.told(ClaimingPaused) == []


class TestTakingOver:
    def test_the_run_of_a_node_that_died_is_begun_again_after_its_ttl(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        dead, heir = Node(ann, duty(max_attempts=2)), Node(bob, duty(max_attempts=2))
        dead.rounds_until(FIRST + 0.5)
        heir.rounds_until(FIRST + 29)
        assert heir.begun == []
        heir.rounds_until(FIRST + 31)
        assert heir.ticks == [FIRST]
        assert (heir.begun[0].run.attempt, heir.begun[0].run.fence > dead.begun[0].run.fence) == (2, True)
        [buried] = bob.told(RunBuried)
        assert (buried.node, buried.is_last) == ("ann", False)

    def test_and_what_it_says_of_it_later_does_not_count(self, scene: Scene, ann: Process, bob: Process) -> None:
        dead, heir = Node(ann, duty(max_attempts=2)), Node(bob, duty(max_attempts=2))
        dead.rounds_until(FIRST + 0.5)
        heir.rounds_until(FIRST + 31)
        dead.ends()
        dead.round()
        assert outcomes(scene) == [(FIRST, "lost")]
        assert (dead.shift.charge.underway, len(ann.told(RunForsaken))) == ({}, 1)
        heir.ends()
        heir.round()
        assert outcomes(scene) == [(FIRST, "lost"), (FIRST, "ok")]

    def test_one_that_may_not_be_begun_again_is_lost_and_says_whose_it_was(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        Node(ann).rounds_until(FIRST + 0.5)
        heir = Node(bob)
        heir.rounds_until(FIRST + 31)
        assert (heir.begun, outcomes(scene), history(scene)[0].node) == ([], [(FIRST, "lost")], "ann")

    def test_what_is_renewed_is_not_taken(self, scene: Scene, ann: Process, bob: Process) -> None:
        node, other = Node(ann, duty(rule="every 3600s", ttl=9.0)), Node(bob, duty(rule="every 3600s", ttl=9.0))
        first = 3600 - EPOCH % 3600
        for second in range(int(first), int(first) + 60):
            node.rounds_until(second)
            other.rounds_until(second)
        assert len(node.begun) + len(other.begun) == 1
        [mine] = node.begun + other.begun
        assert mine.forsaken == ""


class TestLeaving:
    def test_who_leaves_claims_nothing_more_and_still_tells_what_has_ended(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST + 0.5)
        node.shift.is_leaving = True
        node.rounds_until(FIRST + 61)
        assert node.ticks == [FIRST]
        node.ends()
        node.round()
        assert outcomes(scene) == [(FIRST, "ok")]

    def test_what_it_had_not_begun_another_goes_on_with_at_once(self, scene: Scene, ann: Process, bob: Process) -> None:
        node, other = Node(ann), Node(bob)
        node.rounds_until(FIRST + 0.5)
        node.begun[0].has_begun = False
        node.retires()
        other.round()
        assert (other.ticks, other.begun[0].run.attempt, node.shift.charge.underway) == ([FIRST], 1, {})

    @pytest.mark.parametrize("max_attempts", [1, 2])
    def test_what_it_had_begun_is_lost_or_begun_again(
        self, scene: Scene, ann: Process, bob: Process, max_attempts: int
    ) -> None:
        node, other = Node(ann, duty(max_attempts=max_attempts)), Node(bob, duty(max_attempts=max_attempts))
        node.rounds_until(FIRST + 0.5)
        node.retires()
        other.round()
        assert outcomes(scene) == [(FIRST, "lost")]
        assert history(scene)[0].reason == "its node was shut down"
        assert [mine.run.attempt for mine in other.begun] == [2] * (max_attempts - 1)

    def test_what_has_ended_just_then_is_told_as_it_ended(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST + 0.5)
        node.ends(OK)
        node.retires()
        assert outcomes(scene) == [(FIRST, "ok")]
