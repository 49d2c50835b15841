"""Going into a lock once more that is held already, and who is told how often it was entered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dibs.errors import LeaseLost, SelfDeadlock
from dibs.events import Lost, Released
from dibs.flows.hold import EVICTED, FORGOTTEN, LEFT, RAN_OUT, Hold
from dibs.flows.locking import reenter, release
from dibs.model.asks import CROWD, Evict, Leave, Renew
from dibs.model.request import Request
from dibs.model.tenure import Tenure
from tests.flows.scripted import EPOCH, SILENT, Cancelled, Fate, Process, Scene

COUNTED = Request("a", 30.0, is_counted=True)
READ = Request("a", 30.0, is_counted=True, room=CROWD)
PERMIT = Request("a", 30.0, is_counted=True, room=2)


def depth(scene: Scene) -> int:
    """As others see it."""
    return scene.server.locks["a"].holders[0].depth


def enters(process: Process, hold: Hold, watchers: Any = ()) -> int:
    return process.scene.play(reenter(process.world, process.desk, hold, watchers=watchers))


def leaves(process: Process, hold: Hold, entry: int = 0) -> LeaseLost | None:
    return process.scene.play(release(process.world, process.desk, hold, entry=entry))


class TestEntering:
    def test_the_first_entry_is_counted(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        assert (hold.depth, depth(scene)) == (1, 1)

    def test_a_plain_lock_counts_nothing(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0))
        assert (hold.depth, depth(scene)) == (0, 0)

    def test_each_entry_has_a_number_of_its_own_and_the_store_knows_how_many_there_are(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(COUNTED)
        entries = [enters(ann, hold), enters(ann, hold)]
        assert len({0, *entries}) == 3
        assert (hold.depth, depth(scene)) == (3, 3)

    def test_nothing_is_waited_for(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        ann.world.doom("keep", SILENT)
        enters(ann, hold)
        assert scene.now == 0.0

    def test_to_go_in_again_renews_the_lease_by_the_way(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        scene.until(5.0)
        enters(ann, hold)
        assert hold.tenure == Tenure(30.0, 5.0)
        assert ann.world.asks("keep") == [[("a", Renew("ann-1", hold.fence, 30.0, 2))]]

    def test_what_is_not_to_be_renewed_is_not(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, is_counted=True, renew=False))
        scene.until(5.0)
        enters(ann, hold)
        assert depth(scene) == 2
        assert ann.world.asks("keep") == [[("a", Renew("ann-1", hold.fence, 25.0, 2))]]
        assert scene.server.locks["a"].holders[0].expires_at == EPOCH + 30.0

    def test_max_hold_is_not_exceeded_by_it(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, is_counted=True, max_hold=30.0))
        scene.until(5.0)
        enters(ann, hold)
        assert scene.server.locks["a"].holders[0].expires_at == scene.store_now() + 25.0

    def test_a_number_that_was_not_heard_is_said_again_with_the_next_renewal(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        ann.start_keeper()
        ann.world.doom("keep", SILENT)
        enters(ann, hold)
        assert depth(scene) == 1
        scene.until(10.0)
        assert depth(scene) == 2

    def test_who_has_lost_the_lock_is_told_instead_of_going_in(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        hold.lose(EVICTED)
        with pytest.raises(LeaseLost, match="by force"):
            enters(ann, hold)
        assert hold.depth == 1
        assert ann.told(Lost) == [Lost("a", hold.fence, EVICTED)]

    def test_who_hears_from_the_store_that_it_is_gone_is_told_soon(self, scene: Scene, ann: Process) -> None:
        told: list[LeaseLost] = []
        hold = ann.holds(COUNTED, watchers=[told.append])
        ann.start_keeper()
        scene.server.locks.clear()
        scene.until(1.0)
        with pytest.raises(LeaseLost, match="no longer knows"):
            enters(ann, hold)
        scene.until(1.0)
        assert [loss.reason for loss in told] == [FORGOTTEN]

    def test_who_hears_of_it_later_is_told_when_it_does(self, scene: Scene, ann: Process) -> None:
        """And not only when the next renewal is due."""
        told: list[LeaseLost] = []
        hold = ann.holds(COUNTED, watchers=[told.append])
        ann.start_keeper()
        scene.server.locks.clear()
        ann.world.doom("keep", Fate(0.5, 0.5))
        enters(ann, hold)
        scene.until(1.0)
        assert [loss.reason for loss in told] == [FORGOTTEN]

    def test_all_who_are_in_are_told_of_a_loss_and_who_has_left_is_not(self, scene: Scene, ann: Process) -> None:
        told: list[str] = []

        def teller(name: str) -> Callable[[LeaseLost], object]:
            return lambda _: told.append(name)

        hold = ann.holds(COUNTED, watchers=[teller("first")])
        ann.start_keeper()
        entry = enters(ann, hold, [teller("second")])
        enters(ann, hold, [teller("third")])
        leaves(ann, hold, entry)
        scene.execute(("ask", "a", Evict(hold.fence)))
        scene.until(1.0)
        assert told == ["first", "third"]


class TestLeaving:
    def test_the_lock_is_held_until_the_last_entry_is_left_in_whatever_order(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        entry = enters(ann, hold)
        assert leaves(ann, hold) is None
        assert (hold.is_over, hold.depth, depth(scene)) == (False, 1, 1)
        assert ann.told(Released) == []
        assert leaves(ann, hold, entry) is None
        assert scene.server.locks == {}
        assert ann.told(Released) == [Released("a", hold.fence, 0.0)]

    def test_an_entry_is_left_once(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        entry = enters(ann, hold)
        leaves(ann, hold, entry)
        sent = len(ann.world.sent)
        assert leaves(ann, hold, entry) is None
        assert (hold.depth, hold.is_over, len(ann.world.sent)) == (1, False, sent)

    def test_again_is_harmless_when_all_have_left(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        leaves(ann, hold)
        assert leaves(ann, hold) is None
        assert len(ann.world.asks("leave")) == 1

    def test_each_who_leaves_is_told_of_a_loss_and_each_once(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        entry = enters(ann, hold)
        hold.lose(EVICTED)
        losses = [leaves(ann, hold, which) for which in (entry, entry, 0, 0)]
        assert [loss.reason if loss else None for loss in losses] == [EVICTED, None, EVICTED, None]
        assert len(ann.told(Lost)) == 1

    @pytest.mark.parametrize("which", ["inner", "only"])
    def test_who_finds_on_leaving_that_it_ran_out_has_its_watchers_told(
        self, scene: Scene, ann: Process, which: str
    ) -> None:
        told: list[str] = []
        hold = ann.holds(COUNTED, watchers=[lambda loss: told.append(loss.reason)])
        entry = enters(ann, hold) if which == "inner" else 0
        scene.until(27.0)
        loss = leaves(ann, hold, entry)
        assert loss is not None
        assert (loss.reason, told) == (RAN_OUT, [RAN_OUT])

    def test_who_finds_on_leaving_that_it_is_forgotten_has_its_watchers_told(self, scene: Scene, ann: Process) -> None:
        told: list[str] = []
        hold = ann.holds(COUNTED, watchers=[lambda loss: told.append(loss.reason)])
        scene.server.locks.clear()
        leaves(ann, hold)
        assert told == [FORGOTTEN]

    def test_a_number_that_comes_late_does_not_bring_the_lock_back(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        ann.world.doom("keep", Fate(1.0))
        entry = enters(ann, hold)
        leaves(ann, hold, entry)
        leaves(ann, hold)
        scene.until(2.0)
        assert scene.server.locks == {}
        assert hold.loss() is None

    def test_the_last_who_is_interrupted_owes_the_leave(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        ann.world.doom("leave", SILENT)
        task = scene.spawn(release(ann.world, ann.desk, hold))
        scene.until(0.5)
        task.cancel()
        with pytest.raises(Cancelled):
            task.outcome()
        assert [type(ask) for ask in ann.world.asks("leave")] == [Leave, Leave]
        scene.until(1.0)
        assert (scene.server.locks, ann.desk.debts) == ({}, {})


class Meanwhile(dict[int, Any]):
    """The entries of a hold, to which another thread does something right after the next one is left."""

    def __init__(self, entries: dict[int, Any], act: Callable[[], object]) -> None:
        super().__init__(entries)
        self._acts = [act]

    def pop(self, *args: Any) -> Any:
        popped = super().pop(*args)
        if self._acts:
            self._acts.pop()()
        return popped


class TestThreadsThatMeetInTheDoor:
    def test_who_comes_in_just_before_the_last_could_see_it_keeps_the_lock(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        entries: list[int] = []
        hold._entries = Meanwhile({0: ()}, lambda: entries.append(enters(ann, hold)))
        assert leaves(ann, hold) is None
        assert (hold.is_over, hold.is_left, depth(scene)) == (False, False, 1)
        assert leaves(ann, hold, entries[0]) is None
        assert scene.server.locks == {}

    def test_who_comes_in_when_the_last_has_left_is_told_so(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        hold.leave(0)
        with pytest.raises(LeaseLost) as refused:
            enters(ann, hold)
        assert refused.value.reason == LEFT
        assert scene.server.locks == {}, "whoever is the last of the two gives it back"
        assert (hold.is_over, ann.desk.holds) == (True, {})

    def test_who_comes_in_when_the_lock_was_given_back_is_told_so(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        leaves(ann, hold)
        sent = len(ann.world.sent)
        with pytest.raises(LeaseLost) as refused:
            enters(ann, hold)
        assert refused.value.reason == LEFT
        assert (len(ann.told(Released)), len(ann.world.sent)) == (1, sent)


class TestWhoIsAdmitted:
    @pytest.mark.parametrize(
        ("held", "wanted", "is_admitted"),
        [
            (COUNTED, COUNTED, True),
            (READ, READ, True),
            (COUNTED, READ, True),
            (READ, COUNTED, False),
            (Request("a", 30.0), COUNTED, False),
            (COUNTED, Request("a", 30.0), False),
        ],
        ids=["again", "reads twice", "writes and reads", "reads and wants to write", "plain", "plain inside"],
    )
    def test_a_grant_is_good_for_whoever_wants_no_more_than_it_gives(
        self, scene: Scene, ann: Process, held: Request, wanted: Request, is_admitted: bool
    ) -> None:
        assert ann.holds(held).admits(wanted, scene.now) is is_admitted

    def test_a_grant_that_is_lost_or_over_admits_nobody(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(COUNTED)
        assert not hold.admits(COUNTED, 27.0)
        other = ann.holds(Request("b", 30.0, is_counted=True))
        leaves(ann, other)
        assert not other.admits(COUNTED, scene.now)

    def test_who_reads_and_waits_to_write_is_told_at_once(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(READ)
        with pytest.raises(SelfDeadlock) as told:
            ann.holds(COUNTED, inside=[hold])
        assert told.value.fence == hold.fence
        assert ann.world.asks("acquire")[1:] == []

    def test_who_has_all_permits_and_waits_for_another_is_told_at_once(self, scene: Scene, ann: Process) -> None:
        one = ann.holds(PERMIT)
        two = ann.holds(PERMIT, inside=[one])
        with pytest.raises(SelfDeadlock):
            ann.holds(PERMIT, inside=[one, two])

    def test_who_has_a_permit_and_wants_the_lock_alone_is_told_at_once(self, scene: Scene, ann: Process) -> None:
        permit = ann.holds(PERMIT)
        with pytest.raises(SelfDeadlock):
            ann.holds(COUNTED, inside=[permit])

    def test_permits_that_were_lost_keep_nobody_waiting(self, scene: Scene, ann: Process) -> None:
        one, two = ann.holds(PERMIT), ann.holds(PERMIT)
        scene.server.locks.clear()
        one.lose(EVICTED)
        ann.holds(PERMIT, inside=[one, two])
