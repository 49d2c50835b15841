"""The scheduler's thread: it goes on whatever a round meets, is woken at once, and hands back at its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any, cast

import pytest

from dibs import Dibs
from dibs.errors import StoreRefused, StoreUnreachable
from dibs.events import Stumbled
from dibs.flows.shift import Shift
from dibs.runtime import scheduler
from dibs.runtime.clock import boottime
from dibs.runtime.scheduler import Scheduler
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary

LONG = 30.0


class Rounds:
    """A shift that does as it is told, and says what was asked of it."""

    def __init__(self) -> None:
        self.is_leaving = False
        self.done = SimpleQueue[str]()
        self.faults: list[BaseException] = []
        self.last_words: list[BaseException] = []
        self.wait = 3600.0

    async def round(self) -> float:
        self.done.put("leaving" if self.is_leaving else "round")
        if self.faults:
            raise self.faults.pop(0)
        return self.wait

    async def retire(self) -> None:
        self.done.put("retire")
        if self.last_words:
            raise self.last_words.pop(0)


class Scene:
    """A scheduler with such a shift."""

    def __init__(self) -> None:
        self.diary, self.rounds, self.ended = Diary(), Rounds(), threading.Event()
        self.client = Dibs(MemoryBackend(), observers=[self.diary])
        self.scheduler = Scheduler(self.client._engine, self.ended.set)

    def start(self) -> None:
        self.scheduler.start(cast("Shift", cast("Any", self.rounds)))
        self.hears("round")

    def hears(self, word: str) -> None:
        assert self.rounds.done.get(timeout=LONG) == word

    def ends(self) -> None:
        assert self.ended.wait(LONG)
        self.scheduler.join()


@pytest.fixture
def scene() -> Iterator[Scene]:
    scene = Scene()
    with scene.client:
        yield scene


def test_a_wake_up_does_not_wait_for_the_next_round(scene: Scene) -> None:
    scene.start()
    for _ in range(3):
        scene.scheduler.wake()
        scene.hears("round")
    scene.scheduler.stop_claiming()
    scene.hears("leaving")
    scene.scheduler.end()
    scene.hears("retire")
    scene.ends()


def test_a_round_that_fails_is_told_once_and_survived(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "AFTER_A_FALL", 0.01)
    scene.rounds.faults = [KeyError("a"), KeyError("a"), SystemExit("b"), KeyError("a")]
    scene.start()
    for _ in range(4):
        scene.hears("round")
    assert [told.error for told in scene.diary.of(Stumbled)] == ["KeyError('a')", "SystemExit('b')", "KeyError('a')"]
    scene.scheduler.end()
    scene.ends()


def test_what_is_handed_back_is_said_again_for_a_while(scene: Scene) -> None:
    silence = StoreRefused("here", after=0.0)
    scene.rounds.last_words = [silence, silence]
    scene.start()
    scene.scheduler.end()
    for _ in range(3):
        scene.hears("retire")
    scene.ends()
    assert scene.diary.of(Stumbled) == []


def test_a_store_that_stays_silent_is_not_waited_for(scene: Scene) -> None:
    scene.rounds.last_words = [StoreUnreachable("here", after=2.0) for _ in range(1000)]
    scene.start()
    began = boottime()
    scene.scheduler.end()
    scene.ends()
    assert boottime() - began < 4
    [stumbled] = scene.diary.of(Stumbled)
    assert stumbled.doing == "handing back runs"


def test_a_fault_at_the_end_is_told(scene: Scene) -> None:
    scene.rounds.last_words = [KeyError("a")]
    scene.start()
    scene.scheduler.end()
    scene.ends()
    assert scene.diary.of(Stumbled) == [Stumbled("handing back runs", "KeyError('a')")]


def test_a_closed_client_ends_it(scene: Scene) -> None:
    scene.start()
    scene.client.close()
    scene.scheduler.wake()
    scene.ends()
    assert scene.rounds.done.empty()
