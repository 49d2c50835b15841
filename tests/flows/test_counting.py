"""What is counted, when it is reported to the store, and what becomes of it when that fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import Any

import pytest

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.flows.counting import BATCH, EVERY, MOST_SLIPS, Tally, report, totals
from dibs.flows.desk import owe
from dibs.flows.electing import step_down
from dibs.flows.hold import Hold
from dibs.flows.keeping import LAST_WORD, settle
from dibs.flows.locking import give_back, prolong, release
from dibs.flows.outage import Outage, Policy
from dibs.flows.overseeing import evict
from dibs.flows.shadowing import Shadow
from dibs.model.asks import Leave
from dibs.model.counts import MOST_NAMES, OTHERS, Count
from dibs.model.request import PATIENCE, Request
from dibs.ports.world import AskAgain
from tests.flows.scripted import EPOCH, REFUSED, SILENT, UNHEARD, Process, Scene

REQUEST = Request("a", 30.0)
AT_ONCE = Request("a", 30.0, wait=0.0)


@pytest.fixture
def tally() -> Tally:
    return Tally()


@pytest.fixture
def ann(ann: Process) -> Process:
    ann.desk.tally = Tally()
    return ann


@pytest.fixture
def bob(bob: Process) -> Process:
    bob.desk.tally = Tally()
    return bob


def counted(process: Process, name: str = "a") -> dict[str, int]:
    """What a process has counted of a lock, by now."""
    assert process.desk.tally is not None
    return dict(process.desk.tally.counted().get(name, Counter()))


def stored(scene: Scene) -> dict[tuple[str, str], int]:
    """What the store has added up."""
    return dict(scene.server.counts[""])


class TestTally:
    def test_what_happens_is_counted_by_name(self, tally: Tally) -> None:
        for name, what in (("a", "lost"), ("b", "lost"), ("a", "lost"), ("a", "refused")):
            tally.note(name, what)
        assert tally.counted() == {"a": Counter(lost=2, refused=1), "b": Counter(lost=1)}

    def test_nothing_has_happened_at_first(self, tally: Tally) -> None:
        assert tally.counted() == {}
        assert tally.take() == []
        assert not tally.is_new

    def test_times_are_counted_in_whole_milliseconds_of_which_none_is_lost(self, tally: Tally) -> None:
        for _ in range(3):
            tally.note("a", "held", 0.0004)
        assert tally.take() == [[Count("a", "held", 3), Count("a", "held_ms", 1)]]
        for _ in range(2):
            tally.note("a", "held", 0.0004)
        assert tally.take() == [[Count("a", "held", 2), Count("a", "held_ms", 1)]]
        assert tally.counted() == {"a": Counter(held=5, held_ms=2)}

    def test_only_the_first_news_are_told(self, tally: Tally) -> None:
        assert tally.note("a", "lost")
        assert not tally.note("a", "lost")
        tally.take()
        assert tally.note("b", "lost")

    def test_what_was_taken_is_not_taken_again(self, tally: Tally) -> None:
        tally.note("a", "lost")
        tally.take()
        assert tally.take() == []
        tally.note("a", "lost")
        tally.note("b", "lost")
        assert tally.take() == [[Count("a", "lost", 1), Count("b", "lost", 1)]]

    def test_what_is_put_back_is_added_to_the_next(self, tally: Tally) -> None:
        tally.note("a", "lost")
        [batch] = tally.take()
        tally.put_back(batch)
        assert tally.is_new
        assert not tally.note("a", "lost")
        assert tally.take() == [[Count("a", "lost", 2)]]

    def test_ten_thousand_names_take_no_more_room_than_a_thousand(self, tally: Tally) -> None:
        for number in range(10_000):
            tally.note(f"lock-{number}", "lost")
        known = tally.counted()
        assert len(known) == MOST_NAMES + 1
        assert known["lock-0"] == Counter(lost=1)
        assert known[OTHERS] == Counter(lost=10_000 - MOST_NAMES)

    def test_it_is_taken_in_batches_that_a_command_can_bear(self, tally: Tally) -> None:
        for number in range(MOST_NAMES):
            tally.note(f"lock-{number}", "held", 1.0)
        first, second = tally.take()
        assert (len(first), len(second)) == (BATCH, 2 * MOST_NAMES - BATCH)
        assert sum(count.by for count in (*first, *second)) == MOST_NAMES * 1_001

    def test_one_thing_that_happened_to_ever_so_many_locks_is_told_by_one_command(self, tally: Tally) -> None:
        for number in range(3 * MOST_NAMES):
            tally.note(f"lock-{number}", "renewed")
        assert len(tally.take()) == 1

    def test_slips_are_added_up_before_they_are_many(self, tally: Tally) -> None:
        for _ in range(MOST_SLIPS * 3 + 1):
            tally.note("a", "lost")
        assert len(tally._slips) < MOST_SLIPS
        assert tally.counted()["a"]["lost"] == MOST_SLIPS * 3 + 1

    def test_one_who_adds_up_may_be_interrupted_by_another(self, tally: Tally) -> None:
        class Interrupted(str):
            """As by a signal's handler."""

            __slots__ = ()
            __hash__ = str.__hash__

            def __eq__(self, other: object) -> bool:
                tally._add_up()
                return str.__eq__(self, other)

        tally.note("a", "lost")
        tally.counted()
        for name in (Interrupted("a"), "a", "b"):
            tally.note(name, "lost")
        assert tally.counted() == {"a": Counter(lost=3), "b": Counter(lost=1)}

    def test_threads_are_kept_apart_by_the_guard(self) -> None:
        class Guard:
            entered = 0

            def __enter__(self) -> None:
                self.entered += 1

            def __exit__(self, *_: object) -> None:
                pass

        guard = Guard()
        tally = Tally(guard)
        tally.note("a", "lost")
        assert guard.entered == 0, "who only counts waits for nobody"
        tally.put_back(tally.take()[0])
        tally.counted()
        assert guard.entered == 5


class TestWhatIsCounted:
    def test_a_lock_that_is_had_at_once_was_not_waited_for(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        assert counted(ann) == {"acquired": 1}
        scene.until(2.5)
        scene.play(release(ann.world, ann.desk, hold))
        assert counted(ann) == {"acquired": 1, "held": 1, "held_ms": 2_500}

    def test_one_who_does_not_wait_is_refused(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(REQUEST)
        scene.play(bob.acquires(AT_ONCE))
        assert counted(bob) == {"refused": 1}

    def test_one_who_gives_up_has_waited_and_was_refused(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.start_keeper()
        ann.holds(REQUEST)
        scene.play(bob.acquires(Request("a", 30.0, wait=3.0)))
        assert counted(bob) == {"refused": 1, "waited": 1, "waited_ms": 3_000}

    def test_one_who_is_handed_the_lock_has_waited(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(REQUEST)
        waiting = scene.spawn(bob.acquires(REQUEST))
        scene.until(4.0)
        scene.play(release(ann.world, ann.desk, hold))
        assert isinstance(scene.finish(waiting), Hold)
        assert counted(bob) == {"acquired": 1, "waited": 1, "waited_ms": 4_000}

    def test_each_renewal_counts_and_one_that_is_asked_for_too(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(25.0)
        assert counted(ann)["renewed"] == 2
        scene.play(prolong(ann.world, ann.desk, hold))
        assert counted(ann)["renewed"] == 3

    def test_a_renewal_that_comes_too_late_does_not(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.play(evict(bob.world, bob.desk, "a", fence=hold.fence, reason=""))
        scene.play(prolong(ann.world, ann.desk, hold))
        assert counted(ann) == {"acquired": 1, "lost": 1}

    def test_a_loss_is_one_for_its_holder_and_a_break_for_who_forced_it(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        scene.play(evict(bob.world, bob.desk, "a", fence=hold.fence, reason="stuck"))
        scene.play(release(ann.world, ann.desk, hold))
        assert counted(bob) == {"broken": 1}
        assert counted(ann) == {"acquired": 1, "lost": 1}

    def test_a_force_that_finds_nobody_breaks_nothing(self, scene: Scene, bob: Process) -> None:
        scene.play(evict(bob.world, bob.desk, "a", fence=1, reason=""))
        assert counted(bob) == {}

    def test_a_release_that_the_store_does_not_answer_is_the_end_of_a_hold(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.until(1.0)
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(release(ann.world, ann.desk, hold))
        assert counted(ann) == {"acquired": 1, "held": 1, "held_ms": 1_000}

    def test_a_loss_that_only_the_store_knows_of_is_no_hold(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.hears_pushes = False
        scene.play(evict(bob.world, bob.desk, "a", fence=hold.fence, reason=""))
        assert scene.play(release(ann.world, ann.desk, hold)) is not None
        assert counted(ann) == {"acquired": 1, "lost": 1}

    def test_a_loss_that_cannot_be_told_to_the_end_is_no_hold(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.play(evict(bob.world, bob.desk, "a", fence=hold.fence, reason=""))
        ann.world.faults.append(RuntimeError("a bug"))
        with pytest.raises(RuntimeError):
            scene.play(release(ann.world, ann.desk, hold))
        assert counted(ann) == {"acquired": 1, "lost": 1}

    def test_a_lease_that_was_dropped_was_held_until_that_is_noticed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(2.0)
        ann.desk.abandon(hold)
        scene.until(2.0)
        assert counted(ann) == {"acquired": 1, "held": 1, "held_ms": 2_000}

    def test_a_term_that_is_resigned_and_a_lease_that_ends_with_its_program_were_held(
        self, scene: Scene, ann: Process
    ) -> None:
        hold, other = ann.holds(REQUEST), ann.holds(Request("b", 30.0))
        scene.until(3.0)
        step_down(ann.world, ann.desk, hold)
        scene.play(give_back(ann.world, ann.desk, other, reason="the end"))
        assert counted(ann) == counted(ann, "b") == {"acquired": 1, "held": 1, "held_ms": 3_000}

    def test_a_lock_that_is_only_watched_counts_as_the_store_has_it(self, scene: Scene, ann: Process) -> None:
        def watch() -> Any:
            return Shadow(ann.world, ann.desk, Outage(), must_have_store=True).acquire(REQUEST, take=ann.acquires)

        hold = scene.play(watch())
        scene.play(watch())
        scene.until(1.0)
        hold.end()
        assert counted(ann) == {"acquired": 1, "refused": 1, "held": 1, "held_ms": 1_000}

    def test_a_lock_that_is_done_without_is_the_use_of_a_policy(self, scene: Scene, ann: Process) -> None:
        async def silence(_: Sequence[Request]) -> None:
            raise StoreUnreachable("nowhere", after=2.0)

        async def instead(_: Sequence[Request]) -> None:
            pass

        policy = Policy(ann.world, ann.desk, Outage(), "open")
        scene.play(policy.acquire([REQUEST, Request("b", 30.0)], take=silence, instead=instead))
        assert counted(ann) == counted(ann, "b") == {"policy_uses": 1}


class TestReporting:
    def test_the_keeper_reports_what_is_new_after_a_while(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        scene.until(1.0)
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        scene.until(1.0 + EVERY - 0.1)
        assert stored(scene) == {}
        scene.until(1.0 + EVERY)
        assert stored(scene) == {("a", "acquired"): 1, ("a", "held"): 1}

    def test_a_keeper_that_is_woken_before_does_not_report_sooner(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        ann.desk.count("a", "refused")
        scene.until(3.0)
        ann.bell.put(AskAgain())
        scene.until(EVERY - 0.1)
        assert stored(scene) == {}

    def test_nothing_is_sent_while_nothing_is_new(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        ann.desk.count("a", "refused")
        scene.until(1_000.0)
        assert ann.world.moments("count") == [EVERY]

    def test_the_first_news_wake_the_keeper_and_no_others_do(self, scene: Scene, ann: Process) -> None:
        ann.desk.count("a", "refused")
        assert ann.nudges == 1
        ann.desk.count("a", "refused")
        assert ann.nudges == 1

    def test_a_keeper_that_sleeps_for_long_is_awake_in_time(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 3_600.0))
        ann.start_keeper()
        scene.until(100.0)
        scene.play(release(ann.world, ann.desk, hold))
        scene.until(100.0 + EVERY)
        assert stored(scene)["a", "held_ms"] == 100_000

    def test_a_keeper_stays_until_it_has_reported(self, scene: Scene, ann: Process) -> None:
        keeper = ann.start_keeper(idle=5.0)
        ann.desk.count("a", "refused")
        scene.finish(keeper)
        assert stored(scene) == {("a", "refused"): 1}
        assert scene.now == EVERY + 5.0

    def test_what_two_processes_report_is_added(self, scene: Scene, ann: Process, bob: Process) -> None:
        for process in (ann, bob):
            process.start_keeper()
            process.desk.count("a", "refused")
        scene.until(EVERY)
        assert stored(scene) == {("a", "refused"): 2}

    def test_what_was_refused_is_kept_and_added_to_the_next(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        ann.desk.count("a", "refused")
        ann.world.doom("count", REFUSED, REFUSED)
        scene.until(EVERY * 1.5)
        ann.desk.count("a", "refused")
        scene.until(EVERY * 4)
        assert ann.world.moments("count") == [EVERY, 2 * EVERY, 3 * EVERY]
        assert stored(scene) == {("a", "refused"): 2}

    @pytest.mark.parametrize(("fate", "added"), [(SILENT, 1), (UNHEARD, 2)])
    def test_what_is_not_answered_is_never_sent_again(self, scene: Scene, ann: Process, fate: Any, added: int) -> None:
        ann.start_keeper()
        ann.desk.count("a", "refused")
        ann.world.doom("count", fate)
        scene.until(EVERY * 3)
        ann.desk.count("a", "refused")
        scene.until(EVERY * 6)
        assert len(ann.world.asks("count")) == 2
        assert stored(scene) == {("a", "refused"): added}

    def test_a_process_that_does_not_count_reports_nothing(self, scene: Scene, ann: Process) -> None:
        ann.desk.tally = None
        ann.start_keeper()
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        scene.play(report(ann.world, ann.desk, PATIENCE))
        scene.until(60.0)
        assert ann.world.asks("count") == []

    def test_a_desk_without_a_tally_wakes_nobody(self, ann: Process) -> None:
        ann.desk.tally = None
        ann.desk.count("a", "lost")
        assert ann.nudges == 0


class TestReportingAtOnce:
    def _many(self, process: Process) -> None:
        for number in range(MOST_NAMES):
            process.desk.count(f"lock-{number}", "waited", 1.0)

    def test_it_is_added_when_the_report_is_over(self, scene: Scene, ann: Process) -> None:
        self._many(ann)
        scene.play(report(ann.world, ann.desk, PATIENCE))
        assert len(ann.world.asks("count")) == 2
        assert sum(stored(scene).values()) == MOST_NAMES * 1_001

    def test_nothing_is_asked_when_there_is_nothing_to_report(self, scene: Scene, ann: Process) -> None:
        scene.play(report(ann.world, ann.desk, PATIENCE))
        assert ann.world.sent == []

    def test_a_store_that_refuses_to_the_end_costs_nothing(self, scene: Scene, ann: Process) -> None:
        self._many(ann)
        ann.world.doom("count", *[REFUSED] * 50)
        with pytest.raises(StoreRefused):
            scene.play(report(ann.world, ann.desk, 0.5))
        ann.world._fates.clear()
        scene.play(report(ann.world, ann.desk, PATIENCE))
        assert sum(stored(scene).values()) == MOST_NAMES * 1_001

    def test_a_batch_that_is_not_answered_is_given_up_and_the_others_are_kept(self, scene: Scene, ann: Process) -> None:
        self._many(ann)
        ann.world.doom("count", UNHEARD)
        with pytest.raises(StoreUnreachable):
            scene.play(report(ann.world, ann.desk, PATIENCE))
        scene.play(report(ann.world, ann.desk, PATIENCE))
        assert len(ann.world.asks("count")) == 2
        assert sum(stored(scene).values()) == MOST_NAMES * 1_001, "each was added once"

    def test_one_who_is_cancelled_keeps_what_was_not_sent(self, scene: Scene, ann: Process) -> None:
        self._many(ann)
        ann.world.doom("count", SILENT)
        task = scene.spawn(report(ann.world, ann.desk, PATIENCE))
        task.cancel()
        scene.play(report(ann.world, ann.desk, PATIENCE))
        assert len(stored(scene)) == 2 * MOST_NAMES - BATCH

    def test_what_was_kept_is_reported_by_the_keeper(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        ann.desk.count("a", "refused")
        ann.world.doom("count", *[REFUSED] * 50)
        with pytest.raises(StoreRefused):
            scene.play(report(ann.world, ann.desk, 0.5))
        ann.world._fates.clear()
        scene.until(scene.now + EVERY)
        assert stored(scene) == {("a", "refused"): 1}

    def test_the_totals_are_those_of_all_and_of_now(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.desk.count("a", "refused")
        scene.play(report(ann.world, ann.desk, PATIENCE))
        scene.until(5.0)
        bob.desk.count("a", "refused")
        assert scene.play(totals(bob.world, bob.desk)) == ([Count("a", "refused", 2)], EPOCH + 5.0)


class TestSettling:
    def test_one_who_hangs_up_reports_what_it_has_counted(self, scene: Scene, ann: Process) -> None:
        ann.desk.count("a", "refused")
        scene.play(settle(ann.world, ann.desk))
        assert stored(scene) == {("a", "refused"): 1}

    def test_nobody_waits_for_long_to_hang_up(self, scene: Scene, ann: Process) -> None:
        ann.desk.count("a", "refused")
        ann.world.is_silent = True
        scene.play(settle(ann.world, ann.desk))
        assert scene.now == LAST_WORD

    def test_a_store_that_does_not_take_back_a_debt_is_not_told_of_counts(self, scene: Scene, ann: Process) -> None:
        ann.world.is_silent = True
        owe(ann.world, ann.desk, "a", Leave("ann-1"), ttl=30.0)
        ann.desk.count("a", "refused")
        scene.play(settle(ann.world, ann.desk))
        assert ann.world.asks("count") == []

    def test_a_keeper_that_has_reported_has_nothing_due(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        ann.desk.count("a", "refused")
        scene.until(EVERY)
        assert ann.desk.tally is not None
        assert (ann.desk.tally.due_at, ann.desk.wakes_at) == (inf, inf)
