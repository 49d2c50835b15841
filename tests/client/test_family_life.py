"""How leases that are shared, nested or several end: lost, dropped, closed over, forked."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from dibs import Dibs, LeaseLost, LockBusy, StoreUnreachable
from dibs.events import Abandoned, ClosedWhileHolding, JoinedQueue, Lost
from dibs.ports.wire import Backend
from dibs.runtime.clock import boottime
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage, Trouble
from tests.client.test_life import python

TTL = 0.3

Make = Callable[..., Any]
MAKERS: dict[str, Make] = {
    "rlock": lambda d, **options: d.rlock("a", **options),
    "read": lambda d, **options: d.rwlock("a", **options).read(),
    "write": lambda d, **options: d.rwlock("a", **options).write(),
    "semaphore": lambda d, **options: d.semaphore("a", 2, **options),
    "lock_all": lambda d, **options: d.lock_all("a", "b", **options),
}
every_kind = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
reentrant_kinds = pytest.mark.parametrize("make", [MAKERS[kind] for kind in ("rlock", "read", "write")])


@pytest.fixture
def other(outage: Outage) -> Iterator[Dibs]:
    """A client of another process, as far as the store can tell."""
    with Dibs(outage) as client:
        yield client


def evict(d: Dibs, name: str = "a") -> None:
    held = d.inspect(name).held
    assert held is not None
    assert d.force_release(name, fence=held.fence)


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 30))


class TestLoss:
    @every_kind
    def test_the_loss_of_one_of_several_cancels_an_async_body(self, d: Dibs, make: Make) -> None:
        async def main() -> None:
            with pytest.raises(LeaseLost, match="by force"):
                async with make(d):
                    evict(d)
                    await asyncio.Event().wait()
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
            await asyncio.to_thread(int)  # it can await again

        play(main())

    @every_kind
    def test_the_loss_is_told_by_on_lost_and_when_the_block_ends(self, d: Dibs, make: Make) -> None:
        told, losses = threading.Event(), list[LeaseLost]()

        def note(loss: LeaseLost) -> None:
            losses.append(loss)
            told.set()

        with pytest.raises(LeaseLost, match="by force"), make(d, on_lost=note) as leases:
            evict(d)
            assert told.wait(10)
            assert leases.lost
            with pytest.raises(LeaseLost):
                leases.ensure()
        assert [loss.name for loss in losses] == ["a"]
        d.lock_all("a", "b", wait=10).acquire().release()

    def test_the_other_holder_of_a_shared_lock_goes_on(self, d: Dibs, other: Dibs) -> None:
        theirs = other.semaphore("a", 2).acquire()
        with pytest.raises(LeaseLost), d.semaphore("a", 2) as mine:
            assert d.force_release("a", fence=mine.fence)
        theirs.ensure()
        theirs.release()

    @reentrant_kinds
    def test_an_async_block_within_a_lease_that_was_taken_without_one_is_cancelled_too(
        self, d: Dibs, make: Make
    ) -> None:
        async def main() -> None:
            lease = await make(d).aacquire()
            with pytest.raises(LeaseLost, match="by force"):
                async with make(d):
                    evict(d)
                    await asyncio.Event().wait()
            with pytest.raises(LeaseLost):
                await lease.arelease()

        play(main())

    def test_a_task_that_went_in_by_another_s_lease_is_cancelled_too(self, d: Dibs) -> None:
        async def main() -> None:
            is_in = asyncio.Event()
            told = threading.Event()

            async def work() -> None:
                async with d.rlock("a", within=lease, on_lost=lambda _: told.set()):
                    is_in.set()
                    await asyncio.Event().wait()

            lease = await d.rlock("a").aacquire()
            worker = asyncio.create_task(work())
            await is_in.wait()
            evict(d)
            with pytest.raises(LeaseLost, match="by force"):
                await worker
            assert await asyncio.to_thread(told.wait, 10)

        play(main())

    def test_a_block_that_was_left_is_not_told_any_more(self, d: Dibs, diary: Diary) -> None:
        told: list[LeaseLost] = []
        outer = d.rlock("a").acquire()
        with d.rlock("a", on_lost=told.append):
            pass
        evict(d)
        diary.wait_for(Lost, 1)
        assert told == []
        with pytest.raises(LeaseLost):
            outer.release()

    def test_blocks_within_blocks_of_one_task_end_in_one_loss(self, d: Dibs, diary: Diary) -> None:
        async def main() -> None:
            with pytest.raises(LeaseLost) as lost:
                async with d.rlock("a"), d.rlock("a"):
                    evict(d)
                    await asyncio.Event().wait()
            assert not getattr(lost.value, "__notes__", [])
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0

        play(main())
        assert len(diary.of(Lost)) == 1

    def test_who_goes_in_again_after_the_loss_takes_the_lock_anew(self, d: Dibs) -> None:
        with pytest.raises(LeaseLost) as outer, d.rlock("a"):
            evict(d)
            with d.rlock("a", wait=10) as anew:
                anew.ensure()
        assert outer.value.fence < anew.fence


class TestWaitingForSeveral:
    """While one of several locks is waited for, those before it may be lost: nobody works under them yet."""

    def test_a_task_is_not_cancelled_for_a_lease_it_has_not_got(self, d: Dibs, other: Dibs, diary: Diary) -> None:
        told: list[LeaseLost] = []

        async def main() -> None:
            theirs = await other.lock("b").aacquire()

            async def work() -> None:
                async with d.lock_all("a", "b", wait=20, on_lost=told.append) as leases:
                    leases.ensure()
                    held = (await d.ainspect("a")).held
                    assert held is not None
                    assert leases["a"].fence == held.fence

            worker = asyncio.create_task(work())
            await asyncio.to_thread(diary.wait_for, JoinedQueue, 1)
            await asyncio.to_thread(evict, other)
            await asyncio.to_thread(diary.wait_for, Lost, 1)
            await theirs.arelease()
            await worker

        play(main())
        assert told == []
        assert not list(d.locks())

    def test_a_thread_gets_all_of_them_in_the_end(self, d: Dibs, other: Dibs, diary: Diary) -> None:
        theirs = other.lock("b").acquire()
        got: list[int] = []

        def work() -> None:
            with d.lock_all("a", "b", wait=20) as leases:
                leases.ensure()
                got.append(leases["a"].fence)

        worker = threading.Thread(target=work)
        worker.start()
        diary.wait_for(JoinedQueue, 1)
        evict(other)
        [lost] = diary.wait_for(Lost, 1)
        theirs.release()
        worker.join(20)
        [fence] = got
        assert fence > lost.fence

    @pytest.mark.parametrize("trouble", ["refused", "asks lost", "answers lost"])
    def test_a_wait_ends_in_time_if_the_store_is_silent(self, d: Dibs, outage: Outage, trouble: Trouble) -> None:
        d.inspect("a")
        outage.trouble = trouble
        began = boottime()
        with pytest.raises(StoreUnreachable):
            d.lock_all("a", "b", "c", "d", "e", wait=0.3).acquire()
        assert 0.29 <= boottime() - began <= 0.3 + 0.25
        outage.trouble = "none"
        d.lock_all("a", "b", "c", "d", "e", wait=20).acquire().release()

    @pytest.mark.parametrize("trouble", ["refused", "asks lost", "answers lost"])
    def test_an_async_wait_ends_in_time_too(self, d: Dibs, outage: Outage, trouble: Trouble) -> None:
        async def main() -> None:
            await d.ainspect("a")
            outage.trouble = trouble
            began = boottime()
            with pytest.raises(StoreUnreachable):
                await d.lock_all("a", "b", "c", wait=0.3).aacquire()
            assert 0.29 <= boottime() - began <= 0.3 + 0.25
            outage.trouble = "none"
            await (await d.lock_all("a", "b", "c", wait=20).aacquire()).arelease()

        play(main())

    def test_a_silence_shorter_than_the_wait_is_borne(self, d: Dibs, outage: Outage) -> None:
        d.inspect("a")
        outage.trouble = "asks lost"

        def mend() -> None:
            outage.wait_for_asks(2)  # the one step for all, and the first that is asked for by itself
            outage.trouble = "none"

        mender = threading.Thread(target=mend)
        mender.start()
        d.lock_all("a", "b", wait=20).acquire().release()
        mender.join(20)


class TestDropped:
    @every_kind
    def test_what_is_dropped_is_given_back(self, d: Dibs, diary: Diary, make: Make) -> None:
        count = 2 if make is MAKERS["lock_all"] else 1
        make(d).acquire()
        gc.collect()
        assert sorted(event.name for event in diary.wait_for(Abandoned, count)) == ["a", "b"][:count]
        d.lock_all("a", "b", wait=10).acquire().release()

    def test_one_lease_of_several_keeps_all_of_them(self, d: Dibs) -> None:
        lease = d.lock_all("a", "b").acquire()["a"]
        gc.collect()
        with pytest.raises(LockBusy):
            d.lock("b", wait=0).acquire()
        lease.release()

    def test_an_inner_lease_keeps_the_lock(self, d: Dibs) -> None:
        outer = d.rlock("a").acquire()
        inner = d.rlock("a").acquire()
        del outer
        gc.collect()
        inner.ensure()
        with pytest.raises(LockBusy):
            d.semaphore("a", 2, wait=0).acquire()
        inner.release()


class TestClosing:
    @every_kind
    def test_closing_ends_what_is_in_use_and_leaves_it_to_its_ttl(self, make: Make) -> None:
        backend, diary = MemoryBackend(), Diary()
        d, other = Dibs(backend, observers=[diary]), Dibs(backend)
        leases = make(d, ttl=TTL).acquire()
        d.close()
        assert leases.lost
        with pytest.raises(LeaseLost, match="client was closed"):
            leases.release()
        leases.release()
        [closed] = diary.of(ClosedWhileHolding)
        assert len(diary.of(Lost)) == len(closed.names)
        for name in closed.names:
            assert other.try_lock(name).acquire() is None
        other.lock_all("a", "b", wait=10).acquire().release()
        other.close()

    @every_kind
    def test_closing_stops_an_async_body(self, make: Make) -> None:
        async def main() -> None:
            async with Dibs(MemoryBackend()) as d:
                with pytest.raises(LeaseLost, match="client was closed"):
                    async with make(d):
                        await d.aclose()
                        await asyncio.Event().wait()

        play(main())

    def test_nested_leases_are_over_together(self, d: Dibs) -> None:
        outer, inner = d.rlock("a").acquire(), d.rlock("a").acquire()
        d.close()
        assert outer.lost
        assert inner.lost

    @every_kind
    def test_both_colours_give_back_in_the_other(self, d: Dibs, make: Make) -> None:
        async def take() -> Any:
            return await make(d).aacquire()

        asyncio.run(take()).release()
        leases = make(d).acquire()

        async def give_back() -> None:
            await leases.arelease()

        asyncio.run(give_back())
        assert not list(d.locks())


FORK = """
import os, dibs
d = dibs.connect("{url}", quiet=True)
shared = d.semaphore("gpu", 2, ttl=5).acquire()
outer = d.rlock("a", ttl=5).acquire()
together = d.lock_all("b", "c", ttl=5).acquire()
with d.rlock("a") as inner, d.rwlock("config").read():
    pid = os.fork()
    if pid == 0:
        try:
            for lease in (shared, outer, inner, together):
                assert lease.lost and "forked" in repr(lease), lease
                try:
                    lease.release()
                except dibs.LeaseLost as lost:
                    assert "forked" in str(lost)
                else:
                    assert lease is inner, "the same hold as the one before"
            try:
                d.rlock("a", wait=0).acquire()
            except dibs.LockBusy:
                pass  # it is not inside: its parent is
            else:
                raise AssertionError("a child went in by its parent's lease")
            with d.semaphore("gpu", 2, ttl=1) as mine, d.lock_all("d", "e"):
                mine.ensure()
            code = 0
        except BaseException as error:
            print("child:", repr(error), flush=True)
            code = 1
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    for lease in (shared, outer, inner, together):
        lease.ensure()
for lease in (shared, outer, together):
    lease.release()
print(len(d.locks()), "well")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_forked_child_is_in_none_of_its_parent_s_locks(store: str, tmp_path: os.PathLike[str]) -> None:
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path}/locks.sqlite"
    assert python(FORK.format(url=url)) == "0 well\n"


EXIT = """
import dibs
from dibs.events import Released
class Tell:
    def on(self, event):
        if isinstance(event, Released):
            print("released", event.name, flush=True)
d = dibs.connect("memory://", observers=[Tell()], quiet=True)
outer, inner = d.rlock("a").acquire(), d.rlock("a").acquire()
permits = [d.semaphore("gpu", 2).acquire() for _ in range(2)]
together = d.lock_all("b", "c").acquire()
"""


def test_whatever_is_still_held_when_the_program_ends_is_given_back() -> None:
    assert python(EXIT).split("\n") == ["released a", "released gpu", "released gpu", "released b", "released c", ""]


def test_a_store_of_several_processes_shows_who_shares(backend: Backend) -> None:
    with Dibs(backend) as one, Dibs(backend) as two:
        leases = [one.semaphore("gpu", 3, purpose="train").acquire(), two.semaphore("gpu", 3).acquire()]
        seen = two.inspect("gpu")
        assert [(held.purpose, held.room, held.fence) for held in seen.holders] == [
            ("train", 3, leases[0].fence),
            ("", 3, leases[1].fence),
        ]
        for lease in leases:
            lease.release()
