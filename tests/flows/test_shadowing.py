"""A lock that is only watched: whatever becomes of the true one, the watched run goes on."""

from __future__ import annotations

from dibs.errors import SelfDeadlock
from dibs.events import WouldHaveFailed
from dibs.flows.hold import Hold
from dibs.flows.outage import Outage
from dibs.flows.shadowing import Shadow
from dibs.model.request import Request
from tests.flows.scripted import Process, Scene

REQUEST = Request("a", 30.0)


def test_what_the_true_lock_would_have_refused_is_told_and_stops_nobody(scene: Scene, ann: Process) -> None:
    async def take(request: Request) -> Hold:
        raise SelfDeadlock(request.name, fence=7)

    shadow = Shadow(ann.world, ann.desk, Outage(), must_have_store=False)
    hold = scene.play(shadow.acquire(REQUEST, take=take))
    assert hold.unfenced_by == "mode='shadow'"
    assert shadow.fate == "failed"
    [told] = ann.told(WouldHaveFailed)
    assert told.name == "a"


def test_a_true_lock_that_was_given_back_already_is_not_given_back_again(scene: Scene, ann: Process) -> None:
    truly = ann.holds(REQUEST)

    async def take(request: Request) -> Hold:
        return truly

    hold = scene.play(Shadow(ann.world, ann.desk, Outage(), must_have_store=True).acquire(REQUEST, take=take))
    assert hold.fence == truly.fence
    assert truly.end()
    assert hold.end()
    assert ann.desk.debts == {}
