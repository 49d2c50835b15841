"""Asking for what either gets an answer or was not done."""

from __future__ import annotations

from itertools import accumulate

import pytest

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.flows.asking import ask
from dibs.model.backoff import FIRST, LONGEST_PAUSE
from tests.flows.scripted import ANSWERED, EPOCH, REFUSED, SILENT, Fate, Process, Scene


def test_an_answer_is_given_as_it_comes(scene: Scene, ann: Process) -> None:
    ann.world.doom("time", Fate(0.5, 0.25))
    assert scene.play(ask(ann.world, ann.desk.store.time(), 2.0)) == EPOCH + 0.5
    assert (scene.now, [kind for _, kind, _ in ann.world.sent]) == (0.75, ["time"])


def test_silence_may_mean_that_it_was_done_so_it_is_not_asked_again(scene: Scene, ann: Process) -> None:
    ann.world.doom("time", SILENT, ANSWERED)
    with pytest.raises(StoreUnreachable) as raised:
        scene.play(ask(ann.world, ann.desk.store.time(), 2.0))
    assert not isinstance(raised.value, StoreRefused)
    assert (scene.now, len(ann.world.asks("time"))) == (2.0, 1)


def test_a_refusal_is_asked_again_after_a_growing_pause(scene: Scene, ann: Process) -> None:
    ann.world.doom("time", *[REFUSED] * 4)
    answer = scene.play(ask(ann.world, ann.desk.store.time(), 2.0))
    pauses = ann.world.asks("pause")
    assert ann.world.moments("time") == pytest.approx([0.0, *accumulate(pauses)])
    assert answer == EPOCH + scene.now
    assert (len(pauses), pauses) == (4, sorted(pauses))
    assert FIRST / 2 <= pauses[0] < pauses[-1] < LONGEST_PAUSE


def test_a_store_that_always_refuses_is_given_up_before_the_time_is_over(scene: Scene, ann: Process) -> None:
    ann.world.doom("time", *[REFUSED] * 100)
    with pytest.raises(StoreRefused, match="it is loading"):
        scene.play(ask(ann.world, ann.desk.store.time(), 2.0))
    assert 2.0 - LONGEST_PAUSE < scene.now < 2.0
    assert len(ann.world.asks("time")) == len(ann.world.asks("pause")) + 1


def test_silence_after_a_refusal_is_borne_only_for_the_time_that_is_left(scene: Scene, ann: Process) -> None:
    ann.world.doom("time", Fate(1.0, is_refused=True), SILENT)
    with pytest.raises(StoreUnreachable):
        scene.play(ask(ann.world, ann.desk.store.time(), 2.0))
    assert (scene.now, len(ann.world.asks("time"))) == (2.0, 2)


def test_who_has_no_time_at_all_asks_once(scene: Scene, ann: Process) -> None:
    ann.world.doom("time", REFUSED)
    with pytest.raises(StoreUnreachable):
        scene.play(ask(ann.world, ann.desk.store.time(), 0.0))
    assert (scene.now, len(ann.world.asks("time"))) == (0.0, 1)


def test_who_is_refused_at_the_same_moment_does_not_ask_again_at_the_same_moment(
    scene: Scene, ann: Process, bob: Process
) -> None:
    for process in (ann, bob):
        process.world.doom("time", *[REFUSED] * 3)
        scene.spawn(ask(process.world, process.desk.store.time(), 2.0))
    scene.until(2.0)
    moments = [process.world.moments("time") for process in (ann, bob)]
    assert [len(each) for each in moments] == [4, 4]
    assert set(moments[0]) & set(moments[1]) == {0.0}
