"""Waiting for a lock that several may hold: whom a push that comes late may still let in."""

from __future__ import annotations

import pytest

from dibs.flows.hold import Hold
from dibs.flows.locking import release
from dibs.model.asks import CROWD
from dibs.model.request import Request
from dibs.model.tenure import Tenure
from tests.flows.scripted import Process, Scene


def reads(ttl: float) -> Request:
    return Request("a", ttl, is_counted=True, room=CROWD)


def writes(ttl: float) -> Request:
    return Request("a", ttl, is_counted=True)


class TestAHandOverThatComesLate:
    """A reader is let in and not told; its grant runs out; then it is told."""

    @pytest.fixture
    def reader(self, scene: Scene) -> Process:
        process = scene.process("reader")
        process.push_delay = 4.5
        return process

    def test_a_reader_that_has_asked_since_is_not_in_by_a_grant_from_before_its_ask(
        self, scene: Scene, ann: Process, bob: Process, reader: Process
    ) -> None:
        other = ann.holds(reads(30.0))
        writer = scene.spawn(bob.acquires(writes(5.0)))
        waiter = scene.spawn(reader.acquires(reads(3.0)))
        scene.until(1.0)
        writer.cancel()
        assert [holder.channel for holder in scene.server.locks["a"].holders] == ["ann", "reader"]
        scene.spawn(bob.acquires(writes(60.0)))
        scene.until(5.2)
        assert len(reader.world.asks("acquire")) == 2, "it has asked again, and was told to wait for the other reader"
        assert [holder.fence for holder in scene.server.locks["a"].holders] == [other.fence]
        scene.until(5.6)
        assert not waiter.is_done, "what it was told of at last is over"
        assert reader.desk.holds == {}

    def test_a_reader_that_is_told_in_time_trusts_it_from_what_was_answered_before_the_push(
        self, scene: Scene, ann: Process, reader: Process
    ) -> None:
        writer = ann.holds(writes(30.0))
        waiter = scene.spawn(reader.acquires(reads(30.0)))
        scene.until(1.0)
        scene.play(release(ann.world, ann.desk, writer))
        hold = scene.finish(waiter)
        assert isinstance(hold, Hold)
        assert (scene.now, hold.tenure) == (5.5, Tenure(30.0, 0.0))
        assert [holder.fence for holder in scene.server.locks["a"].holders] == [hold.fence]
