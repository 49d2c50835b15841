"""Who does what a node has claimed: so many at once, each stopped when it is to be, none begun after the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from dibs import Dibs
from dibs.events import Stumbled
from dibs.flows.duty import TIMEOUT, Underway
from dibs.model.job import Run, Terms
from dibs.model.rota import SHUT_DOWN, Ending
from dibs.model.tenure import Tenure
from dibs.runtime.clock import boottime
from dibs.runtime.crew import Crew, Part, Station, stopped
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage

LONG = 30.0


def underway(job: str = "job", **facts: Any) -> Underway:
    now = boottime()
    return Underway(job, Run(1.0), Terms(timeout=5.0), Tenure(30.0, now), begun_at=now, **facts)


class Scene:
    """A crew on a loop, and a way to wait for what it does."""

    def __init__(self, parts: dict[str, Part], *, workers: int = 2) -> None:
        self.changed, self._loop = asyncio.Event(), asyncio.get_running_loop()
        self.diary, self.outage = Diary(), Outage(MemoryBackend())
        self.client = Dibs(self.outage, observers=[self.diary])
        self.crew = Crew(self.client._engine, parts, Station(workers, grace=30.0), changed=self._note)

    def _note(self) -> None:
        with suppress(RuntimeError):  # the scene is over
            self._loop.call_soon_threadsafe(self.changed.set)

    async def idle(self) -> None:
        await self.until(lambda: self.crew.is_idle)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(LONG):
            while not is_so():
                self.changed.clear()
                await self.changed.wait()


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


OK = Ending("ok")


def test_a_thread_or_a_task_does_it_and_says_how_it_ended() -> None:
    async def aperform(mine: Underway) -> Ending:
        return Ending("ok", threading.current_thread().name)

    async def main() -> None:
        here = threading.current_thread().name
        parts = {
            "plain": Part(lambda mine: Ending("ok", threading.current_thread().name)),
            "later": Part(None, aperform),
        }
        scene, runs = Scene(parts), [underway("plain"), underway("later")]
        assert scene.crew.room() == 2
        for mine in runs:
            scene.crew.begin(mine)
        await scene.idle()
        assert [mine.ending for mine in runs] == [Ending("ok", "dibs-run-plain"), Ending("ok", here)]
        assert all(mine.has_begun for mine in runs)
        assert scene.crew.room() == 2

    play(main())


def test_what_there_is_no_room_for_waits() -> None:
    async def main() -> None:
        may_end, at_work = threading.Event(), list[str]()

        def perform(mine: Underway) -> Ending:
            at_work.append(mine.job)
            may_end.wait(LONG)
            return OK

        scene = Scene({name: Part(perform) for name in "abc"})
        runs = [underway(name) for name in "abc"]
        for mine in runs:
            scene.crew.begin(mine)
        assert scene.crew.room() == 0
        assert not runs[2].has_begun
        may_end.set()
        await scene.idle()
        assert sorted(at_work) == ["a", "b", "c"]
        assert [mine.ending for mine in runs] == [OK, OK, OK]

    play(main())


class Hanging:
    """A crew each of whose runs hangs until it may end."""

    def __init__(self, *, workers: int) -> None:
        self.may_end, self._at_work = threading.Event(), threading.Semaphore(0)
        self.scene = Scene({"job": Part(self._perform)}, workers=workers)
        self.crew = self.scene.crew

    def _perform(self, mine: Underway) -> Ending:
        self._at_work.release()
        self.may_end.wait(LONG)
        return OK

    async def begins(self) -> Underway:
        mine = underway()
        self.crew.begin(mine)
        await self.is_at_work()
        return mine

    async def is_at_work(self) -> None:
        assert await asyncio.to_thread(self._at_work.acquire, timeout=LONG), "nobody does it"

    async def ends(self) -> None:
        self.may_end.set()
        await self.scene.idle()


def test_what_was_left_behind_takes_nobody_s_room_but_only_so_many_of_them() -> None:
    async def main() -> None:
        hanging = Hanging(workers=2)
        crew, rooms, runs = hanging.crew, list[int](), list[Underway]()
        for _ in range(4):
            runs.append(await hanging.begins())
            runs[-1].is_left_behind = True
            rooms.append(crew.room())
        assert rooms == [2, 2, 1, 0], "at most twice as many threads as there are workers"
        assert crew.is_idle, "nobody waits for them"
        hanging.may_end.set()
        await hanging.scene.until(lambda: all(mine.ending == OK for mine in runs))
        assert crew.room() == 2

    play(main())


def test_what_waits_is_begun_when_another_is_left_behind() -> None:
    async def main() -> None:
        hanging = Hanging(workers=1)
        stuck, waiting = await hanging.begins(), underway()
        hanging.crew.begin(waiting)
        assert (hanging.crew.room(), waiting.has_begun) == (0, False)
        stuck.is_left_behind = True
        assert hanging.crew.room() == 0
        await hanging.is_at_work()
        assert waiting.has_begun
        await hanging.ends()
        assert waiting.ending == OK

    play(main())


def test_a_task_is_stopped_whether_it_has_begun_or_not() -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def aperform(mine: Underway) -> Ending | None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return stopped(mine)
            return OK

        scene = Scene({"job": Part(None, aperform)}, workers=3)
        late, early = underway(), underway()
        scene.crew.begin(late)
        await begun.wait()
        late.ask_to_stop(TIMEOUT)
        scene.crew.begin(early)
        early.ask_to_stop("another tick came")
        early.ask_to_stop("and again")
        await scene.idle()
        assert late.ending == Ending("timeout", "it took longer than 5s")
        assert early.ending == Ending("cancelled", "another tick came")
        assert not early.has_begun

    play(main())


def test_once_it_is_dismissed_nothing_begins() -> None:
    async def main() -> None:
        may_end, listens = threading.Event(), threading.Event()

        def perform(mine: Underway) -> Ending | None:
            listens.set()
            may_end.wait(LONG)
            return stopped(mine)

        scene = Scene({"job": Part(perform)}, workers=1)
        at_work, waiting, late = underway(), underway(), underway()
        scene.crew.begin(at_work)
        scene.crew.begin(waiting)
        await asyncio.to_thread(listens.wait, LONG)
        scene.crew.dismiss()
        scene.crew.begin(late)
        assert at_work.asked_to_stop == SHUT_DOWN
        scene.crew.leave_behind()
        assert at_work.forsaken == SHUT_DOWN
        at_work.forsaken = ""
        may_end.set()
        await scene.idle()
        assert (at_work.ending, late.ending, late.has_begun) == (None, None, False)
        assert waiting.ending == Ending("cancelled", SHUT_DOWN)

    play(main())


def test_without_a_thread_the_run_fails_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def main() -> None:
        scene, mine = Scene({"job": Part(lambda mine: OK)}), underway()
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            scene.crew.begin(mine)
        await scene.idle()
        assert mine.ending == Ending("failed", "it could not be begun: can't start new thread")

    play(main())


def test_a_fault_of_our_own_ends_the_run_as_well() -> None:
    def perform(mine: Underway) -> Ending:
        raise MemoryError

    async def aperform(mine: Underway) -> Ending:
        raise MemoryError

    async def main() -> None:
        scene = Scene({"plain": Part(perform), "later": Part(None, aperform)})
        runs = [underway("plain"), underway("later")]
        for mine in runs:
            scene.crew.begin(mine)
        await scene.idle()
        assert [mine.ending for mine in runs] == [Ending("failed", "dibs itself failed: MemoryError")] * 2

    play(main())


@pytest.mark.parametrize(
    ("why", "forsaken", "ending"),
    [
        (SHUT_DOWN, "", None),
        (TIMEOUT, "", Ending("timeout", "it took longer than 5s")),
        (TIMEOUT, "it was taken", Ending("lost", "it was taken")),
        ("the tick came", "", Ending("cancelled", "the tick came")),
    ],
)
def test_one_that_stopped_is_noted_for_what_it_was_stopped_for(why: str, forsaken: str, ending: Ending | None) -> None:
    assert stopped(underway(asked_to_stop=why, forsaken=forsaken)) == ending


def test_of_all_nodes_on_a_machine_one_has_a_tick() -> None:
    async def main() -> None:
        first, second = Scene({}), Scene({})
        local = MemoryBackend()
        for scene in (first, second):
            detours = scene.client._engine.detours
            detours._local = scene.client._engine.beside(local)
        assert first.crew.node != second.crew.node
        assert [await scene.crew.first_here("job", 60.0) for scene in (first, second)] == [True, False]
        assert [await scene.crew.first_here("job", 120.0) for scene in (second, first)] == [True, False]
        assert await first.crew.first_here("other", 60.0)
        assert abs(first.crew.wall() - 1.8e9) < 1e9

    play(main())


def test_a_machine_whose_own_store_is_silent_runs_nothing() -> None:
    async def main() -> None:
        scene, silent = Scene({}), Outage(MemoryBackend())
        silent.trouble = "says no"
        engine = scene.client._engine
        engine.detours._local = engine.beside(silent)
        assert not await scene.crew.first_here("job", 60.0)
        [stumbled] = scene.diary.of(Stumbled)
        assert "for a tick of 'job'" in stumbled.doing

    play(main())
