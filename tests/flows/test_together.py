"""Several locks, all or none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dibs.errors import ClientClosed, LeaseLost, SelfDeadlock, StoreRefused, StoreUnreachable
from dibs.events import Acquired, FoundBusy, JoinedQueue, Lost, Released
from dibs.flows.hold import EVICTED, FORGOTTEN, RAN_OUT, Hold, Watchers
from dibs.flows.keeping import settle
from dibs.flows.locking import acquire, release
from dibs.flows.together import Hindered, acquire_all, release_all
from dibs.model.asks import Evict, Leave
from dibs.model.request import PATIENCE, Request
from tests.flows.scripted import REFUSED, SILENT, UNHEARD, Cancelled, Fate, Process, Scene, Task

NAMES = ("a", "b", "c")


def wishes(
    *names: str, wait: float | None = None, ttl: float = 30.0, at_least: float = 0.0
) -> list[tuple[Request, object]]:
    return [(Request(name, ttl, wait=wait, at_least=at_least), None) for name in names]


def starts(
    process: Process,
    *names: str,
    wait: float | None = None,
    ttl: float = 30.0,
    at_least: float = 0.0,
    watchers: Watchers = (),
) -> Task[Sequence[Hold] | Hindered]:
    wanted = wishes(*names, wait=wait, ttl=ttl, at_least=at_least)
    return process.scene.spawn(acquire_all(process.world, process.desk, wanted, watchers=watchers))


def takes(
    process: Process,
    *names: str,
    wait: float | None = None,
    ttl: float = 30.0,
    at_least: float = 0.0,
    watchers: Watchers = (),
) -> Sequence[Hold]:
    """The leases, got in the end."""
    task = starts(process, *names, wait=wait, ttl=ttl, at_least=at_least, watchers=watchers)
    taken = process.scene.finish(task)
    assert not isinstance(taken, Hindered)
    return taken


def holders(scene: Scene, name: str) -> list[str]:
    lock = scene.server.locks.get(name)
    return [] if lock is None else [holder.owner for holder in lock.holders]


class TestAtOnce:
    def test_free_locks_are_taken_in_one_step(self, scene: Scene, ann: Process) -> None:
        holds = takes(ann, *NAMES)
        assert [hold.name for hold in holds] == list(NAMES)
        assert [hold.fence for hold in holds] == sorted({hold.fence for hold in holds})
        assert [kind for _, kind, _ in ann.world.sent] == ["time", "all"]
        assert len({hold.owner for hold in holds}) == 3
        assert set(ann.desk.holds.values()) == set(holds)
        assert [event.name for event in ann.told(Acquired)] == list(NAMES)
        assert ann.desk.inboxes == {}

    def test_the_store_s_time_is_asked_for_only_if_it_is_not_known(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        takes(ann, *NAMES)
        assert [kind for _, kind, _ in ann.world.sent] == ["all"]

    def test_trust_counts_from_the_ask(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("all", Fate(0.5, 0.5))
        holds = takes(ann, *NAMES)
        assert {hold.tenure.asked_at for hold in holds} == {0.0}
        assert scene.now == 1.0

    def test_each_is_known_by_its_bearer(self, scene: Scene, ann: Process) -> None:
        class Bearer:
            pass

        bearer = Bearer()
        taking = acquire_all(ann.world, ann.desk, [(Request(name, 30.0), bearer) for name in NAMES])
        holds = scene.play(taking)
        assert not isinstance(holds, Hindered)
        del bearer
        assert all(hold.is_forsaken() for hold in holds)

    def test_watchers_are_told_of_each_loss(self, scene: Scene, ann: Process) -> None:
        told: list[LeaseLost] = []
        takes(ann, *NAMES, watchers=[told.append])
        ann.start_keeper()
        ann.world.is_silent = True
        scene.until(28.0)
        assert sorted(loss.name for loss in told) == list(NAMES)

    @pytest.mark.parametrize("wait", [None, 0.0, 1.0])
    def test_silence_is_told_in_time_and_whatever_was_taken_is_owed(
        self, scene: Scene, ann: Process, wait: float | None
    ) -> None:
        ann.world.know_the_time()
        ann.world.doom("all", UNHEARD)
        ann.world.doom("leave", *[SILENT] * 3)
        task = starts(ann, *NAMES, wait=wait)
        with pytest.raises(StoreUnreachable):
            scene.finish(task)
        assert scene.now == (wait or PATIENCE)
        assert len(ann.desk.debts) == 3
        assert all(debt.leave.bar_until for debt in ann.desk.debts.values()), "should it land once more, it is barred"
        ann.start_keeper()
        scene.until(10.0)
        assert [holders(scene, name) for name in NAMES] == [[], [], []]
        assert (ann.desk.debts, ann.desk.inboxes) == ({}, {})

    def test_a_silence_that_ends_within_the_wait_is_borne(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.start_keeper()
        ann.world.is_silent = True
        task = starts(ann, *NAMES, wait=10.0)
        scene.until(4.0)
        assert not task.is_done
        ann.world.is_silent = False
        taken = scene.finish(task)
        assert not isinstance(taken, Hindered)
        assert scene.now < 10.0
        assert [holders(scene, name) for name in NAMES] == [[hold.owner] for hold in taken]

    def test_a_silence_before_the_store_s_time_is_known_ends_in_time_too(self, scene: Scene, ann: Process) -> None:
        ann.world.is_silent = True
        task = starts(ann, *NAMES, wait=0.5)
        with pytest.raises(StoreUnreachable):
            scene.finish(task)
        assert (scene.now, ann.desk.debts) == (0.5, {})

    @pytest.mark.parametrize("wait", [None, 0.0, 5.0])
    def test_a_store_that_only_refuses_for_a_moment_is_asked_again(
        self, scene: Scene, ann: Process, wait: float | None
    ) -> None:
        ann.world.know_the_time()
        ann.world.doom("all", REFUSED)
        ann.world.doom("acquire", REFUSED)
        holds = takes(ann, *NAMES, wait=wait)
        assert [hold.name for hold in holds] == list(NAMES)
        assert ann.world.asks("leave") == [], "surely not done: there was nothing to take back"
        assert ann.desk.debts == {}

    def test_a_store_that_always_refuses_is_told_when_patience_is_over(self, scene: Scene, ann: Process) -> None:
        ann.world.doom("time", *[REFUSED] * 50)
        task = starts(ann, *NAMES)
        with pytest.raises(StoreRefused):
            scene.finish(task)
        assert PATIENCE / 2 < scene.now <= PATIENCE
        assert ann.desk.debts == {}

    def test_an_answer_too_old_to_trust_gives_nothing_and_leaves_nothing(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("all", Fate(0.0, 0.95))
        ann.start_keeper()
        task = starts(ann, *NAMES, ttl=1.0)
        with pytest.raises(StoreUnreachable, match="too far away"):
            scene.finish(task)
        scene.until(5.0)
        assert [holders(scene, name) for name in NAMES] == [[], [], []]
        assert (ann.desk.holds, ann.desk.debts) == ({}, {})

    def test_one_step_that_comes_too_late_is_taken_back_and_done_one_by_one(self, scene: Scene, ann: Process) -> None:
        """It may have been granted before, if the network has doubled it: then nobody would know of that grant."""
        ann.world.know_the_time()
        ann.world.skew = -5.0
        ann.world.doom("all", Fate(0.1, 0.1))
        task = starts(ann, *NAMES)
        ann.world.skew = 0.0
        holds = scene.finish(task)
        assert not isinstance(holds, Hindered)
        assert [holders(scene, name) for name in NAMES] == [[hold.owner] for hold in holds]
        first = [asked.owner for _, asked in ann.world.asks("all")[0]]
        assert [leave.owner for leave in ann.world.asks("leave")] == first

    @pytest.mark.parametrize("at", [0.05, 0.15, 0.25])
    def test_who_is_cancelled_has_left_at_every_await(self, scene: Scene, ann: Process, at: float) -> None:
        ann.world.doom("time", Fate(0.05, 0.05))
        ann.world.doom("all", Fate(0.1, 0.1))
        task = starts(ann, *NAMES)
        scene.until(at)
        task.cancel()
        with pytest.raises(Cancelled):
            task.outcome()
        ann.start_keeper()
        scene.until(5.0)
        assert [holders(scene, name) for name in NAMES] == [[], [], []]
        assert (ann.desk.holds, ann.desk.debts, ann.desk.inboxes) == ({}, {}, {})

    def test_who_is_thrown_away_talks_to_nobody_and_owes_it(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("all", Fate(0.1, 0.1))
        task = starts(ann, *NAMES)
        scene.until(0.15)
        task.drop()
        assert ann.world.asks("leave") == []
        assert len(ann.desk.debts) == 3
        ann.start_keeper()
        scene.until(1.0)
        assert [holders(scene, name) for name in NAMES] == [[], [], []]

    def test_a_client_that_is_closed_meanwhile_keeps_none(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("all", Fate(0.1, 0.1))
        task = starts(ann, *NAMES)
        scene.until(0.15)
        ann.desk.is_closed = True
        with pytest.raises(ClientClosed):
            scene.finish(task)
        assert ann.desk.holds == {}
        assert [holders(scene, name) for name in NAMES] == [[], [], []]

    def test_who_is_inside_one_of_them_is_told_at_once(self, scene: Scene, ann: Process) -> None:
        mine = ann.holds(Request("b", 30.0))
        with pytest.raises(SelfDeadlock, match="'b'"):
            scene.play(acquire_all(ann.world, ann.desk, wishes(*NAMES), inside=[mine]))
        assert ann.world.asks("all") == []

    def test_who_is_inside_one_and_does_not_wait_is_told_that_it_is_busy(self, scene: Scene, ann: Process) -> None:
        mine = ann.holds(Request("b", 30.0))
        hindered = scene.play(acquire_all(ann.world, ann.desk, wishes(*NAMES, wait=0.0), inside=[mine]))
        assert isinstance(hindered, Hindered)
        assert (hindered.name, hindered.denied.held.fence) == ("b", mine.fence)


class TestOneByOne:
    def test_who_does_not_wait_is_told_which_lock_is_busy_by_the_one_step_that_took_none(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        theirs = bob.holds(Request("b", 30.0))
        hindered = scene.finish(starts(ann, *NAMES, wait=0.0))
        assert isinstance(hindered, Hindered)
        assert (hindered.name, hindered.denied.held.fence, hindered.denied.waited) == ("b", theirs.fence, 0.0)
        assert [kind for _, kind, _ in ann.world.sent] == ["time", "all"]
        assert [event.name for event in ann.told(FoundBusy)] == ["b"]
        assert (holders(scene, "a"), holders(scene, "c")) == ([], [])
        assert (ann.desk.holds, ann.desk.debts) == ({}, {})

    def test_the_locks_are_waited_for_in_the_order_of_their_names(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        theirs = {name: bob.holds(Request(name, 30.0)) for name in ("a", "c")}
        task = starts(ann, *NAMES)
        scene.until(1.0)
        assert [event.name for event in ann.told(JoinedQueue)] == ["a"]
        assert holders(scene, "b") == [], "nothing is taken before its turn"
        scene.play(release(bob.world, bob.desk, theirs["a"]))
        scene.until(2.0)
        assert holders(scene, "b") != []
        assert [event.name for event in ann.told(JoinedQueue)] == ["a", "c"]
        scene.play(release(bob.world, bob.desk, theirs["c"]))
        taken = scene.finish(task)
        assert not isinstance(taken, Hindered)
        assert [hold.name for hold in taken] == list(NAMES)

    def test_who_waits_in_vain_keeps_none_and_says_how_long_it_was(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first, second = bob.holds(Request("a", 30.0)), bob.holds(Request("c", 30.0))
        task = starts(ann, *NAMES, wait=5.0)
        scene.until(3.0)
        scene.play(release(bob.world, bob.desk, first))
        hindered = scene.finish(task)
        assert isinstance(hindered, Hindered)
        assert (hindered.name, hindered.denied.held.fence) == ("c", second.fence)
        assert (hindered.denied.waited, scene.now) == (5.0, 5.0), "all the waits together, and not one for each"
        assert (holders(scene, "a"), holders(scene, "b")) == ([], [])
        assert (ann.desk.holds, ann.desk.debts, ann.desk.tickets) == ({}, {}, {})

    def test_a_silence_after_the_wait_is_not_borne_once_more(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = bob.holds(Request("a", 30.0))
        task = starts(ann, *NAMES, wait=5.0)
        scene.until(4.95)
        ann.hears_pushes = False
        scene.play(release(bob.world, bob.desk, first))
        ann.world.doom("acquire", Fate(0.0, 0.09), SILENT)
        ann.desk.ask_again()
        with pytest.raises(StoreUnreachable):
            scene.finish(task)
        assert 5.04 < scene.now <= 5.25, "the first was ours when the time was over"
        assert ann.desk.holds == {}

    def test_who_is_silenced_on_the_way_leaves_the_rest_to_the_keeper(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        """Each farewell to a silent store would take its time: the caller's is over."""
        bob.holds(Request("c", 30.0))
        task = starts(ann, *NAMES, wait=5.0)
        scene.until(1.0)
        ann.world.is_silent = True
        ann.desk.ask_again()
        with pytest.raises(StoreUnreachable):
            scene.finish(task)
        assert len(ann.world.asks("leave")) == 1, "of the lock that it waited for"
        assert sorted(debt.name for debt in ann.desk.debts.values()) == list(NAMES)

    def test_who_is_cancelled_while_it_waits_keeps_none(self, scene: Scene, ann: Process, bob: Process) -> None:
        bob.holds(Request("c", 30.0))
        task = starts(ann, *NAMES)
        scene.until(1.0)
        task.cancel()
        with pytest.raises(Cancelled):
            task.outcome()
        assert (holders(scene, "a"), holders(scene, "b")) == ([], [])
        assert scene.server.locks["c"].queue == ()
        assert (ann.desk.holds, ann.desk.debts) == ({}, {})

    def test_who_is_thrown_away_while_it_waits_owes_all_of_it(self, scene: Scene, ann: Process, bob: Process) -> None:
        bob.holds(Request("c", 30.0))
        task = starts(ann, *NAMES)
        scene.until(1.0)
        task.drop()
        assert ann.world.asks("leave") == []
        assert sorted(debt.name for debt in ann.desk.debts.values()) == list(NAMES)
        assert ann.desk.holds == {}

    def test_what_nobody_has_used_does_not_stay_taken_for_its_at_least(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        bob.holds(Request("b", 30.0))
        assert isinstance(scene.finish(starts(ann, *NAMES, wait=1.0, at_least=60.0)), Hindered)
        assert holders(scene, "a") == []

    @pytest.mark.parametrize("lost", [EVICTED, FORGOTTEN])
    def test_a_lease_that_is_lost_while_the_next_is_waited_for_is_taken_again(
        self, scene: Scene, ann: Process, bob: Process, lost: str
    ) -> None:
        told: list[LeaseLost] = []
        theirs = bob.holds(Request("b", 30.0))
        task = starts(ann, "a", "b", watchers=[told.append])
        scene.until(1.0)
        first = next(iter(ann.desk.holds.values()))
        if lost is EVICTED:
            scene.execute(("ask", "a", Evict(first.fence)))
        else:
            scene.server.locks.pop("a")
            ann.start_keeper()
            scene.until(11.0)
        assert first.lost_because == lost
        scene.play(release(bob.world, bob.desk, theirs))
        taken = scene.finish(task)
        assert not isinstance(taken, Hindered)
        assert taken[0].fence > first.fence
        assert [holders(scene, name) for name in ("a", "b")] == [[hold.owner] for hold in taken]
        assert [event.fence for event in ann.told(Lost)] == [first.fence]
        assert told == [], "nobody worked under it: nobody is to stop"
        assert list(ann.desk.holds.values()) == list(taken)
        scene.execute(("ask", "b", Evict(taken[1].fence)))
        ann.start_keeper()
        scene.until(scene.now + 1.0)
        assert [loss.fence for loss in told] == [taken[1].fence], "of those that it has got, it is told"

    def test_a_lease_that_ran_out_on_the_way_is_not_given_to_the_caller(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        """As when its renewals were lost: our own clock has the last word."""
        theirs = bob.holds(Request("b", 30.0))
        ann.world.doom("keep", *[SILENT] * 50)
        task = starts(ann, "a", "b", ttl=10.0, wait=25.0)
        scene.until(9.5)
        scene.play(release(bob.world, bob.desk, theirs))
        taken = scene.finish(task)
        assert not isinstance(taken, Hindered)
        assert all(hold.lost_because is None for hold in taken)
        [lost] = ann.told(Lost)
        assert (lost.name, lost.reason) == ("a", RAN_OUT)

    def test_two_who_want_the_same_locks_are_served_in_turn(self, scene: Scene, ann: Process, bob: Process) -> None:
        holds = takes(ann, *NAMES)
        task = starts(bob, *NAMES)
        scene.until(1.0)
        scene.play(release_all(ann.world, ann.desk, holds))
        taken = scene.finish(task)
        assert not isinstance(taken, Hindered)
        assert min(hold.fence for hold in taken) > max(hold.fence for hold in holds)


class TestReleaseAll:
    def test_all_are_free_and_told(self, scene: Scene, ann: Process) -> None:
        holds = takes(ann, *NAMES)
        assert scene.play(release_all(ann.world, ann.desk, holds)) is None
        assert scene.server.locks == {}
        assert [event.name for event in ann.told(Released)] == list(NAMES)
        assert (ann.desk.holds, ann.desk.debts) == ({}, {})

    def test_again_is_harmless(self, scene: Scene, ann: Process) -> None:
        holds = takes(ann, *NAMES)
        scene.play(release_all(ann.world, ann.desk, holds))
        assert scene.play(release_all(ann.world, ann.desk, holds)) is None
        assert len(ann.world.asks("leave")) == 3

    def test_the_first_loss_is_given_and_the_others_are_given_back(self, scene: Scene, ann: Process) -> None:
        holds = takes(ann, *NAMES)
        for name in ("b", "c"):
            scene.server.locks.pop(name)
        loss = scene.play(release_all(ann.world, ann.desk, holds))
        assert loss is not None
        assert (loss.name, loss.reason) == ("b", FORGOTTEN)
        assert scene.server.locks == {}
        assert [event.name for event in ann.told(Lost)] == ["b", "c"]

    @pytest.mark.parametrize("is_dropped", [False, True])
    def test_whatever_interrupts_it_nothing_is_kept(self, scene: Scene, ann: Process, is_dropped: bool) -> None:
        holds = takes(ann, *NAMES)
        ann.world.doom("leave", Fate(1.0))
        task = scene.spawn(release_all(ann.world, ann.desk, holds))
        scene.until(0.5)
        if is_dropped:
            task.drop()
        else:
            task.cancel()
        ann.start_keeper()
        scene.until(3.0)
        assert [holders(scene, name) for name in NAMES] == [[], [], []]
        assert (ann.desk.holds, ann.desk.debts) == ({}, {})
        assert all(hold.is_over for hold in holds)

    def test_what_was_given_back_by_itself_before_is_left_alone(self, scene: Scene, ann: Process) -> None:
        holds = takes(ann, *NAMES)
        scene.play(release(ann.world, ann.desk, holds[2]))
        ann.world.doom("leave", Fate(1.0))
        task = scene.spawn(release_all(ann.world, ann.desk, holds))
        scene.until(0.5)
        task.cancel()
        scene.until(2.0)
        assert [leave.owner for leave in ann.world.asks("leave")].count(holds[2].owner) == 1
        assert scene.server.locks == {}

    def test_a_silent_store_is_told_once_and_all_is_owed(self, scene: Scene, ann: Process) -> None:
        holds = takes(ann, *NAMES)
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(release_all(ann.world, ann.desk, holds))
        assert scene.now == PATIENCE
        assert sorted(debt.name for debt in ann.desk.debts.values()) == list(NAMES)

    def test_what_was_lost_is_told_also_if_the_release_is_interrupted(self, scene: Scene, ann: Process) -> None:
        told: list[LeaseLost] = []
        holds = takes(ann, *NAMES, watchers=[told.append])
        holds[2].lose(EVICTED)
        ann.world.doom("leave", Fate(1.0))
        task = scene.spawn(release_all(ann.world, ann.desk, holds))
        task.cancel()
        assert [loss.name for loss in told] == ["c"]

    def test_what_was_used_stays_taken_for_its_at_least_also_if_the_release_is_interrupted(
        self, scene: Scene, ann: Process
    ) -> None:
        holds = takes(ann, *NAMES, at_least=10.0)
        ann.world.doom("keep", Fate(1.0))
        task = scene.spawn(release_all(ann.world, ann.desk, holds))
        scene.until(0.5)
        task.cancel()
        ann.start_keeper()
        scene.until(9.5)
        assert all(holders(scene, name) for name in NAMES)
        scene.until(11.0)
        assert [holders(scene, name) for name in NAMES] == [[], [], []]

    def test_a_last_word_does_not_cut_short_what_is_to_stay_taken(self, scene: Scene, ann: Process) -> None:
        holds = takes(ann, *NAMES, at_least=10.0)
        scene.play(release_all(ann.world, ann.desk, holds))
        scene.play(settle(ann.world, ann.desk))
        assert all(holders(scene, name) for name in NAMES)
        assert [ask for ask in ann.world.asks("leave") if isinstance(ask, Leave)] == []


def test_one_who_wants_a_single_lock_of_them_takes_its_turn(scene: Scene, ann: Process, bob: Process) -> None:
    """What is taken together is held like any other."""
    holds = takes(ann, *NAMES)
    waiter = scene.spawn(acquire(bob.world, bob.desk, Request("b", 30.0)))
    scene.until(1.0)
    scene.play(release_all(ann.world, ann.desk, holds))
    hold = scene.finish(waiter)
    assert isinstance(hold, Hold)
    assert hold.fence > holds[1].fence
