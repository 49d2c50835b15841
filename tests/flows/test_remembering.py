"""Coming to work that may be done already."""

from __future__ import annotations

import pytest

from dibs.errors import StoreUnreachable
from dibs.events import Released
from dibs.flows.hold import Hold
from dibs.flows.locking import Denied, acquire, release
from dibs.flows.remembering import Claim, Place, Sight, arrive
from dibs.model.asks import Leave, Memo, Recalled
from dibs.model.request import PATIENCE, Request
from tests.flows.scripted import EPOCH, REFUSED, SILENT, Cancelled, Fate, Process, Scene, Task

REQUEST = Request("a", 30.0)


class ScriptedDoor:
    """A lock, and where to look before and behind it."""

    name = "a"
    hold: Hold | None = None

    def __init__(self, process: Process, request: Request = REQUEST) -> None:
        self.process, self._request = process, request
        self.places: list[Place | None] = [Place(process.world, process.desk, PATIENCE)] * 2
        self.is_bold = False
        self.left: list[BaseException | None] = []

    def outside(self) -> Place | None:
        return self.places[0]

    def bears(self, silence: StoreUnreachable) -> bool:
        return self.is_bold

    async def enter(self) -> Denied | None:
        taken = await acquire(self.process.world, self.process.desk, self._request)
        if isinstance(taken, Denied):
            return taken
        self.hold = taken
        return None

    def inside(self) -> Place | None:
        return self.places[1]

    async def leave(self, error: BaseException | None) -> None:
        assert self.hold is not None
        self.left.append(error)
        await release(self.process.world, self.process.desk, self.hold)

    async def work(self, text: str, *, kept_for: float = 3600.0) -> None:
        """Give the lock back, and leave that behind."""
        assert self.hold is not None
        self.hold.memo = Memo(text, EPOCH + self.process.scene.now + kept_for)
        assert await release(self.process.world, self.process.desk, self.hold) is None


def once(seen: Recalled, before: Recalled | None) -> str | None:
    return seen.text


def since_we_came(seen: Recalled, before: Recalled | None) -> str | None:
    return seen.text if before is not None and before.text != seen.text else None


def goes(scene: Scene, door: ScriptedDoor) -> Task[Claim | str | Denied]:
    return scene.spawn(arrive(door, once))


def done_by(scene: Scene, process: Process, text: str, *, kept_for: float = 3600.0) -> None:
    door = ScriptedDoor(process)
    assert isinstance(scene.finish(goes(scene, door)), Claim)
    scene.play(door.work(text, kept_for=kept_for))


def test_who_comes_first_may_work_and_knows_since_when(scene: Scene, ann: Process) -> None:
    scene.until(7.0)
    ann.world.doom("recall", Fate(), Fate(0.5, 0.25))
    door = ScriptedDoor(ann)
    claim = scene.finish(goes(scene, door))
    assert isinstance(claim, Claim)
    assert claim.sight == Sight(Recalled(EPOCH + 7.5), 7.0, ann.desk)
    assert door.left == []
    assert list(scene.server.locks) == ["a"]


def test_time_passes_by_the_worker_s_own_clock_from_before_it_asked(scene: Scene, ann: Process) -> None:
    claim = Claim(Sight(Recalled(EPOCH + 7.5), 7.0, ann.desk))
    assert claim.moments(17.0) == (EPOCH + 7.5, EPOCH + 17.5)
    assert Claim(None).moments(17.0) == (0.0, 0.0)


def test_what_is_done_is_found_without_taking_the_lock(scene: Scene, ann: Process, bob: Process) -> None:
    done_by(scene, ann, "by ann")
    assert scene.finish(goes(scene, ScriptedDoor(bob))) == "by ann"
    assert [kind for _, kind, _ in bob.world.sent] == ["recall"]


def test_what_is_forgotten_is_done_again(scene: Scene, ann: Process, bob: Process) -> None:
    done_by(scene, ann, "by ann", kept_for=60.0)
    scene.until(60.0)
    assert isinstance(scene.finish(goes(scene, ScriptedDoor(bob))), Claim)


def test_what_was_done_while_one_waited_is_found_inside_and_the_lock_is_free_again(
    scene: Scene, ann: Process, bob: Process
) -> None:
    first, second = ScriptedDoor(ann), ScriptedDoor(bob)
    assert isinstance(scene.finish(goes(scene, first)), Claim)
    waiter = goes(scene, second)
    scene.until(5.0)
    assert not waiter.is_done
    scene.play(first.work("by ann"))
    assert scene.finish(waiter) == "by ann"
    assert second.left == [None]
    assert scene.server.locks == {}
    assert len(bob.told(Released)) == 1


def test_who_waited_for_one_that_failed_may_work(scene: Scene, ann: Process, bob: Process) -> None:
    first, second = ScriptedDoor(ann), ScriptedDoor(bob)
    scene.finish(goes(scene, first))
    waiter = goes(scene, second)
    scene.until(5.0)
    scene.play(first.leave(ValueError()))
    claim = scene.finish(waiter)
    assert isinstance(claim, Claim)
    assert claim.sight is not None
    assert claim.sight.seen == Recalled(EPOCH + 5.0)


def test_who_is_not_let_in_is_told_so(scene: Scene, ann: Process, bob: Process) -> None:
    scene.finish(goes(scene, ScriptedDoor(ann)))
    denied = scene.finish(goes(scene, ScriptedDoor(bob, Request("a", 30.0, wait=0.0))))
    assert isinstance(denied, Denied)
    assert bob.world.asks("recall") == ["a"], "there is nothing to look at inside"


# --- who comes for what is done meanwhile -----------------------------------------------------------------------


def test_what_was_there_already_is_told_from_what_was_done_since(scene: Scene, ann: Process, bob: Process) -> None:
    done_by(scene, ann, "earlier")
    door = ScriptedDoor(bob)
    assert isinstance(scene.play(arrive(door, since_we_came)), Claim)
    early, late = scene.spawn(arrive(ScriptedDoor(ann), since_we_came)), ScriptedDoor(ann)
    scene.until(5.0)
    scene.play(door.work("while ann waited"))
    assert scene.finish(early) == "while ann waited"
    assert isinstance(scene.play(arrive(late, since_we_came)), Claim)


def test_what_was_seen_in_another_store_is_not_compared(scene: Scene, ann: Process, bob: Process) -> None:
    done_by(scene, ann, "in the other store")
    door = ScriptedDoor(ann)
    door.places[0] = Place(bob.world, bob.desk, PATIENCE)
    scene.server.memos.clear()
    ann.world.doom("recall", Fate(1.0))
    coming = scene.spawn(arrive(door, since_we_came))
    scene.until(0.5)
    scene.server.memos["a"] = Memo("since", EPOCH + 3600.0), EPOCH
    assert isinstance(scene.finish(coming), Claim)


# --- where nothing is remembered --------------------------------------------------------------------------------


def test_where_nobody_is_asked_the_work_is_done(scene: Scene, ann: Process) -> None:
    door = ScriptedDoor(ann)
    door.places = [None, None]
    assert scene.finish(goes(scene, door)) == Claim(None)
    assert ann.world.asks("recall") == []


def test_where_nothing_is_remembered_inside_what_was_seen_before_counts(scene: Scene, ann: Process) -> None:
    door = ScriptedDoor(ann)
    door.places[1] = None
    assert scene.finish(goes(scene, door)) == Claim(Sight(Recalled(EPOCH), 0.0, ann.desk))


def test_where_one_does_not_look_before_one_looks_inside(scene: Scene, ann: Process, bob: Process) -> None:
    done_by(scene, ann, "by ann")
    door = ScriptedDoor(bob)
    door.places[0] = None
    assert scene.finish(goes(scene, door)) == "by ann"
    assert door.left == [None]


# --- a store that does not answer -------------------------------------------------------------------------------


def test_a_store_that_refuses_at_first_is_asked_again(scene: Scene, ann: Process) -> None:
    ann.world.doom("recall", REFUSED)
    assert isinstance(scene.finish(goes(scene, ScriptedDoor(ann))), Claim)
    assert len(ann.world.asks("recall")) == 3


def test_who_must_look_first_is_told_of_a_silent_store_and_takes_no_lock(scene: Scene, ann: Process) -> None:
    ann.world.doom("recall", SILENT)
    with pytest.raises(StoreUnreachable):
        scene.finish(goes(scene, ScriptedDoor(ann)))
    assert scene.now == PATIENCE
    assert ann.world.asks("acquire") == []


def test_who_may_do_without_goes_in_without_having_looked(scene: Scene, ann: Process) -> None:
    ann.world.doom("recall", SILENT)
    door = ScriptedDoor(ann)
    door.is_bold = True
    claim = scene.finish(goes(scene, door))
    assert claim == Claim(Sight(Recalled(EPOCH + PATIENCE), PATIENCE, ann.desk))


def test_a_store_that_falls_silent_inside_is_told_and_the_lock_is_given_back(scene: Scene, ann: Process) -> None:
    ann.world.doom("recall", Fate(), SILENT)
    door = ScriptedDoor(ann)
    with pytest.raises(StoreUnreachable):
        scene.finish(goes(scene, door))
    assert [type(error) for error in door.left] == [StoreUnreachable]
    assert (scene.server.locks, ann.desk.holds) == ({}, {})


def test_who_is_cancelled_inside_gives_the_lock_back(scene: Scene, ann: Process) -> None:
    ann.world.doom("recall", Fate(), Fate(5.0))
    door = ScriptedDoor(ann)
    coming = goes(scene, door)
    scene.until(1.0)
    coming.cancel()
    with pytest.raises(Cancelled):
        scene.finish(coming)
    assert [type(error) for error in door.left] == [Cancelled]
    assert scene.server.locks == {}


# --- what is left behind ----------------------------------------------------------------------------------------


def test_a_lost_lease_leaves_nothing_behind_though_the_store_has_it_still(scene: Scene, ann: Process) -> None:
    hold = ann.holds(REQUEST)
    hold.memo = Memo("done", EPOCH + 3600.0)
    scene.until(28.0)
    loss = scene.play(release(ann.world, ann.desk, hold))
    assert loss is not None
    assert (scene.server.locks, scene.server.memos) == ({}, {})
    assert ann.world.asks("leave") == [Leave("ann-1", None)]


def test_what_was_not_answered_is_left_behind_later(scene: Scene, ann: Process) -> None:
    hold = ann.holds(REQUEST)
    hold.memo = Memo("done", EPOCH + 3600.0)
    ann.world.doom("leave", SILENT, SILENT)
    with pytest.raises(StoreUnreachable):
        scene.play(release(ann.world, ann.desk, hold))
    assert scene.server.memos == {}
    ann.start_keeper()
    scene.until(3.0)
    assert scene.server.memos["a"][0].text == "done"
