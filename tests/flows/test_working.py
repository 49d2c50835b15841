"""Workers in a round: one tries, the others watch, and take over when it fails or dies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dibs.errors import ConfigError, StoreUnreachable
from dibs.events import RunBegun, RunBuried, RunEnded
from dibs.flows.locking import Denied
from dibs.flows.working import DONE, GONE
from dibs.model import rounds
from dibs.model.asks import Held
from dibs.model.request import PATIENCE
from tests.flows.hands import FAILED, OK, TTL, Hand, its, records, sheet
from tests.flows.scripted import SILENT, UNHEARD, Cancelled, Fate, Process, Scene

FULL = Denied(Held("bob", "", 1.0, 2.0, 3.0, 4), 5, 0.0)


@pytest.fixture
def cat(scene: Scene) -> Process:
    return scene.process("cat")


def reacquired(made: int) -> list[str]:
    return [
        f"Work was not completed, trying to reacquire lock for attempt #{made}",
        "+Trying to reacquire lock",
        f"+Current attempt count: {made}",
        f"This is attempt #{made + 1}",
    ]


def checking(attempt: int) -> str:
    return f"+Checking status of work from attempt #{attempt}"


def is_free(scene: Scene) -> bool:
    lock = scene.server.locks.get("mylock")
    return lock is None or not lock.holders


class TestTrying:
    def test_the_first_gets_the_first_attempt_and_is_told_nothing(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        turn = hand.turn()
        assert (turn.round, turn.attempt, turn.is_last, hand.said) == (1, 1, False, [])
        assert sheet(scene).runs[0].fence == turn.hold.fence
        [event] = ann.told(RunBegun)
        assert (event.job, event.attempt, event.fence) == ("mylock", 1, turn.hold.fence)

    def test_what_was_done_is_noted_before_the_lock_is_given_back(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first, second = Hand(ann), Hand(bob)
        turn = first.turn()
        task = second.waits()
        scene.until(2.0)
        assert second.said == ["locked"]
        assert first.ends(turn, OK)
        assert scene.finish(task) == "completed"
        assert second.said == ["locked", checking(1), DONE]
        [record] = records(bob)
        assert (record.outcome, record.attempt, record.is_last, record.version) == ("ok", 1, True, 1)
        assert (record.duration, record.fence, record.source) == (2.0, turn.hold.fence, "worker")
        assert is_free(scene)
        [ended] = ann.told(RunEnded)
        assert (ended.job, ended.outcome, ended.is_last) == ("mylock", "ok", True)

    def test_a_failed_attempt_is_followed_at_once(self, scene: Scene, ann: Process, bob: Process) -> None:
        first, second = Hand(ann), Hand(bob)
        turn, task = first.turn(), second.waits()
        scene.until(1.0)
        assert first.ends(turn, FAILED)
        following = its(scene, task)
        assert (following.attempt, scene.now) == (2, 1.0)
        assert following.hold.fence > turn.hold.fence
        assert second.said == ["locked", checking(1), *reacquired(1)]

    def test_who_comes_third_hears_of_the_second(self, scene: Scene, ann: Process, bob: Process, cat: Process) -> None:
        first, second, third = Hand(ann), Hand(bob), Hand(cat)
        turn, task, last = first.turn(), second.waits(), third.waits()
        scene.until(1.0)
        first.ends(turn, FAILED)
        second.ends(its(scene, task), FAILED)
        assert its(scene, last).attempt == 3
        incremented = "+Attempt count has been incremented (expected 1, but it's 2), someone else got the lock"
        assert third.said == ["locked", checking(1), incremented, checking(2), *reacquired(2)]

    def test_who_failed_stands_behind_the_others_and_watches_on(self, scene: Scene, ann: Process, bob: Process) -> None:
        first, second = Hand(ann), Hand(bob)
        turn, task = first.turn(), second.waits()
        scene.until(1.0)
        first.ends(turn, FAILED)
        again = first.waits()
        scene.until(2.0)
        second.ends(its(scene, task), OK)
        assert scene.finish(again) == "completed"
        assert first.said == ["locked", checking(1), DONE]

    def test_an_open_round_that_nobody_is_at_is_gone_on_with(self, scene: Scene, ann: Process, bob: Process) -> None:
        first, second = Hand(ann), Hand(bob)
        first.ends(first.turn(), FAILED)
        turn = second.turn()
        assert (turn.round, turn.attempt) == (1, 2)
        assert second.said == [checking(1), *reacquired(1)]

    def test_a_queue_that_is_full_is_asked_again(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        hand.refusals = [FULL]
        assert hand.turn().attempt == 1
        assert scene.now > 0


class TestDying:
    def test_a_dead_one_is_taken_over_from_when_its_lease_is_over(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        turn, second = Hand(ann).turn(), Hand(bob)
        task = second.waits()
        bob.start_keeper()
        following = its(scene, task)
        assert following.attempt == 2
        assert scene.now == pytest.approx(TTL, abs=0.5)
        [record] = records(bob)
        assert (record.outcome, record.node, record.attempt, record.is_last) == ("lost", "ann", 1, False)
        [event] = bob.told(RunBuried)
        assert (event.job, event.attempt, event.node) == ("mylock", 1, "ann")
        assert second.said == ["locked", checking(1), *reacquired(1)]
        assert following.hold.fence > turn.hold.fence

    def test_a_slow_one_that_lives_is_not_overtaken(self, scene: Scene, ann: Process, bob: Process) -> None:
        first, second = Hand(ann), Hand(bob)
        ann.start_keeper()
        bob.start_keeper()
        turn, task = first.turn(), second.waits()
        scene.until(10 * TTL)
        assert not task.is_done
        assert first.ends(turn, OK)
        assert scene.finish(task) == "completed"

    def test_what_a_late_one_says_does_not_count(self, scene: Scene, ann: Process, bob: Process) -> None:
        first, second = Hand(ann), Hand(bob)
        turn, task = first.turn(), second.waits()
        bob.start_keeper()
        following = its(scene, task)
        assert not first.ends(turn, OK)
        assert second.ends(following, FAILED)
        assert [record.outcome for record in records(bob)] == ["lost", "failed"]

    def test_a_late_one_counts_if_nobody_has_begun_after_it(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        turn = hand.turn()
        scene.until(2 * TTL)
        assert hand.ends(turn, OK)
        assert [record.outcome for record in records(ann)] == ["ok"]

    def test_a_late_one_that_is_heard_in_the_last_moment_ends_the_round(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first, second = Hand(ann), Hand(bob)
        turn, task = first.turn(), second.waits()
        bob.world.doom("beat", Fate(lands_after=1.0))
        scene.until(TTL + 0.5)
        assert first.ends(turn, OK)
        assert scene.finish(task) == "completed"
        assert bob.told(RunBuried) == []

    def test_one_that_is_overtaken_while_it_speaks_does_not_count(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first, second = Hand(ann), Hand(bob)
        turn, task = first.turn(), second.waits()
        scene.until(TTL - 0.5)
        ann.world.doom("beat", Fate(lands_after=1.5))
        says = scene.spawn(first.settles(turn, OK))
        assert its(scene, task).attempt == 2
        assert scene.finish(says) is False


class TestGivingUp:
    def test_after_the_last_attempt_it_is_over_for_all(self, scene: Scene, ann: Process, bob: Process) -> None:
        first, second = Hand(ann, most=1), Hand(bob, most=1)
        turn, task = first.turn(), second.waits()
        assert turn.is_last
        scene.until(1.0)
        assert first.ends(turn, FAILED)
        assert scene.finish(task) == "max-attempts"
        assert second.said == ["locked", checking(1), "Work was not completed in 1 attempts, giving up"]
        assert records(bob)[-1].is_last
        assert is_free(scene)

    def test_the_last_attempt_may_be_lost_too(self, scene: Scene, ann: Process, bob: Process) -> None:
        first, second = Hand(ann, most=2), Hand(bob, most=2)
        first.ends(first.turn(), FAILED)
        assert first.turn().is_last
        task = second.waits()
        assert scene.finish(task) == "max-attempts"
        assert second.said[-1] == "Work was not completed in 2 attempts, giving up"
        assert [record.outcome for record in records(bob)] == ["failed", "lost"]
        assert is_free(scene)

    def test_the_next_round_is_a_new_one(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann, most=1)
        hand.ends(hand.turn(), FAILED)
        again = Hand(ann, most=1)
        assert (again.turn().round, again.said) == (2, [])


class TestWatching:
    def test_the_first_to_see_it_says_so_and_the_others_find_it_gone(
        self, scene: Scene, ann: Process, bob: Process, cat: Process
    ) -> None:
        first, others = Hand(ann), [Hand(bob), Hand(cat)]
        turn, tasks = first.turn(), [each.waits() for each in others]
        scene.until(1.0)
        first.ends(turn, OK)
        assert [scene.finish(task) for task in tasks] == ["completed", "completed"]
        assert [each.said[-1] for each in others] == [DONE, GONE]

    def test_who_sees_it_at_the_same_moment_as_another_finds_it_gone(
        self, scene: Scene, ann: Process, bob: Process, cat: Process
    ) -> None:
        first, second, third = Hand(ann), Hand(bob), Hand(cat)
        turn, task = first.turn(), second.waits()
        scene.until(1.0)
        bob.world.doom("beat", Fate(lands_after=1.0))
        first.ends(turn, OK)
        scene.until(1.5)
        reading, job = scene.play(third.watch._read())
        assert job is not None
        assert scene.play(third.watch._taken(reading, rounds.seen(job, now=reading.look.now)))
        assert scene.finish(task) == "completed"
        assert second.said[-1] == GONE

    @pytest.mark.parametrize(
        ("ending", "finish"), [(OK, "completed"), (FAILED, "max-attempts"), (None, "completed")], ids=str
    )
    def test_who_missed_a_whole_round_is_told_how_it_ended_as_far_as_is_known(
        self, scene: Scene, ann: Process, bob: Process, ending: object, finish: str
    ) -> None:
        hand, second = Hand(ann, most=1), Hand(bob, most=1)
        second.refusals = [FULL] * 3  # and so it is late
        turn, task = hand.turn(), second.waits()
        scene.until(0.0)
        hand.ends(turn, FAILED if ending is FAILED else OK)
        again = Hand(ann, most=1)
        again.ends(again.turn(), OK)
        if ending is None:
            scene.server.sheets[""].histories.clear()
        assert scene.finish(task) == finish

    def test_it_is_told_once_that_another_one_has_the_lock(self, scene: Scene, ann: Process, bob: Process) -> None:
        first, second = Hand(ann), Hand(bob)
        ann.start_keeper()
        first.turn()
        second.waits()
        scene.until(20 * TTL)
        assert len(bob.world.asks("acquire")) > 1
        assert second.said == ["locked"]


class TestSilence:
    def test_an_attempt_whose_beginning_was_not_answered_is_begun_once(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        ann.world.doom("beat", UNHEARD)
        ann.start_keeper()
        turn = hand.turn()
        assert (turn.attempt, scene.now) == (1, PATIENCE)
        assert hand.ends(turn, OK)
        assert [record.attempt for record in records(ann)] == [1]

    def test_who_cannot_begin_while_its_lease_lasts_gives_the_lock_back(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        ann.world.doom("beat", *[SILENT] * 9)
        with pytest.raises(StoreUnreachable):
            scene.finish(hand.waits())
        assert is_free(scene)

    def test_an_end_that_was_not_answered_counts_once(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        ann.start_keeper()
        turn = hand.turn()
        ann.world.doom("beat", UNHEARD)
        assert hand.ends(turn, OK)
        assert [record.outcome for record in records(ann)] == ["ok"]
        assert len(ann.told(RunEnded)) == 1

    def test_what_was_done_is_told_until_the_store_hears_it(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        ann.start_keeper()
        turn = hand.turn()
        ann.world.doom("sheets", SILENT)
        assert hand.ends(turn, OK)
        assert PATIENCE < scene.now < TTL

    def test_with_the_lease_ends_the_insistence(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        turn = hand.turn()
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            hand.ends(turn, OK)
        assert scene.now + PATIENCE >= TTL
        assert turn.hold.is_over

    def test_a_store_that_has_forgotten_the_round_heard_nothing(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        turn = hand.turn()
        scene.server.sheets.clear()
        assert not hand.ends(turn, OK)


class TestLeaving:
    def test_who_is_cancelled_on_the_way_gives_the_lock_back(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        ann.world.doom("beat", SILENT)
        task = hand.waits()
        scene.until(1.0)
        assert not is_free(scene)
        task.cancel()
        with pytest.raises(Cancelled):
            scene.finish(task)
        assert is_free(scene)

    def test_who_is_thrown_away_says_nothing_there(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        ann.world.doom("beat", SILENT)
        task = hand.waits()
        scene.until(1.0)
        task.drop()
        assert ann.world.asks("leave") == []

    def test_a_sheet_that_cannot_be_read_is_left_alone(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        hand.ends(hand.turn(), FAILED)
        kept = scene.server.sheets[""].kept
        kept["~worker:mylock"] = replace(kept["~worker:mylock"], text='{"format":99}')
        with pytest.raises(ConfigError, match=r"'mylock' cannot be read.*format 99; upgrade dibs"):
            hand.turn()
        assert is_free(scene)
        assert kept["~worker:mylock"].text == '{"format":99}'

    def test_who_is_thrown_away_while_it_tells_the_end_says_nothing_there(self, scene: Scene, ann: Process) -> None:
        hand = Hand(ann)
        turn = hand.turn()
        ann.world.doom("beat", SILENT)
        task = scene.spawn(hand.settles(turn, OK))
        scene.until(1.0)
        task.drop()
        assert ann.world.asks("leave") == []
