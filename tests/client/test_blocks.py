"""`with` and `async with`: who holds, who is told, and which error wins."""

from __future__ import annotations

import asyncio
import copy
import gc
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

import dibs
from dibs import Dibs, LeaseLost, LockBusy, SelfDeadlock
from dibs.events import Acquired, JoinedQueue, Lost, Stumbled
from dibs.testing.contract import Diary

TTL = 0.3


def evict(d: Dibs, name: str) -> None:
    held = d.inspect(name).held
    assert held is not None
    assert d.force_release(name, fence=held.fence)


async def task_inside(d: Dibs, name: str) -> asyncio.Task[None]:
    """A task that has entered the block and stays there."""
    inside = asyncio.Event()

    async def work() -> None:
        async with d.lock(name):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    return task


def test_a_block_holds_the_lock_and_gives_it_back(d: Dibs) -> None:
    with d.lock("a", ttl="30s") as lease:
        assert d.inspect("a").state == "held"
        assert lease.fence > 0
        assert 26 < lease.remaining <= 27
    assert d.inspect("a").state == "free"


def test_an_async_block_holds_the_lock_and_gives_it_back(d: Dibs) -> None:
    async def main() -> None:
        async with d.lock("a") as lease:
            assert (await d.ainspect("a")).state == "held"
            lease.ensure()
        assert (await d.ainspect("a")).state == "free"

    asyncio.run(main())


def test_a_tried_lock_is_none_when_somebody_has_it(d: Dibs) -> None:
    with d.try_lock("a") as mine:
        assert mine is not None
        with d.try_lock("a") as again:
            assert again is None
        mine.ensure()
    assert d.inspect("a").state == "free"

    async def main() -> None:
        async with d.try_lock("a") as mine, d.try_lock("a") as again:
            assert mine is not None
            assert again is None

    asyncio.run(main())


def test_the_body_s_exception_passes_through_and_the_lock_is_free(d: Dibs) -> None:
    with pytest.raises(KeyError), d.lock("a"):
        raise KeyError("mine")
    assert d.inspect("a").state == "free"


def test_a_lost_lease_is_told_when_the_block_ends(d: Dibs) -> None:
    with pytest.raises(LeaseLost, match="by force") as lost, d.lock("a") as lease:
        evict(d, "a")
        assert lease.lost
    assert (lost.value.name, lost.value.fence) == ("a", lease.fence)


def test_the_body_s_exception_wins_over_a_lost_lease(d: Dibs) -> None:
    with pytest.raises(KeyError) as raised, d.lock("a"):
        evict(d, "a")
        raise KeyError("mine")
    assert "by force" in raised.value.__notes__[0]


def test_what_ensure_raised_is_not_told_twice(d: Dibs) -> None:
    with pytest.raises(LeaseLost) as lost, d.lock("a") as lease:
        evict(d, "a")
        lease.ensure()
    assert not hasattr(lost.value, "__notes__")


def test_an_async_body_is_cancelled_once_when_its_lease_is_lost(d: Dibs) -> None:
    async def main() -> None:
        with pytest.raises(LeaseLost):
            async with d.lock("a"):
                evict(d, "a")
                await asyncio.Event().wait()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        async with asyncio.timeout(5):
            await asyncio.to_thread(int)  # the task can await again

    asyncio.run(main())


def test_a_body_that_swallows_its_cancellation_still_ends_in_lease_lost(d: Dibs) -> None:
    async def main() -> None:
        swallowed = False
        with pytest.raises(LeaseLost):
            async with d.lock("a"):
                evict(d, "a")
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    swallowed = True
        assert swallowed
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(main())


def test_an_async_body_s_own_exception_wins_over_the_loss(d: Dibs) -> None:
    async def main() -> None:
        with pytest.raises(KeyError) as raised:
            async with d.lock("a"):
                evict(d, "a")
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    raise KeyError("mine") from None
        assert "by force" in raised.value.__notes__[0]

    asyncio.run(main())


def test_somebody_else_s_cancellation_is_not_turned_into_a_loss(d: Dibs) -> None:
    async def main() -> None:
        task = await task_inside(d, "a")
        evict(d, "a")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())


def test_a_cancelled_body_gives_the_lock_back(d: Dibs) -> None:
    async def main() -> None:
        task = await task_inside(d, "a")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await d.ainspect("a")).state == "free"

    asyncio.run(main())


def test_a_cancelled_wait_leaves_no_trace(d: Dibs, diary: Diary) -> None:
    async def main() -> None:
        mine = await d.lock("a").aacquire()
        task = asyncio.create_task(d.lock("a").aacquire())
        await asyncio.to_thread(diary.wait_for, JoinedQueue, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await d.ainspect("a")).waiters == ()
        await mine.arelease()
        assert not await d.alocks()

    asyncio.run(main())


def test_both_losses_of_nested_blocks_are_told(d: Dibs) -> None:
    async def main() -> None:
        with pytest.raises(LeaseLost) as outer:
            async with d.lock("a"), d.lock("b"):
                evict(d, "a")
                evict(d, "b")
                await asyncio.Event().wait()
        assert outer.value.name == "a"
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(main())


def test_a_blocked_event_loop_does_not_lose_the_lease(d: Dibs) -> None:
    async def main() -> None:
        async with d.lock("a", ttl=TTL) as lease:
            time.sleep(3 * TTL)  # noqa: ASYNC251, TID251 - the loop is blocked: that is the point
            lease.ensure()
            assert d.inspect("a").held is not None

    asyncio.run(main())


def test_a_hung_loop_eats_one_ttl_at_the_most(d: Dibs, diary: Diary) -> None:
    """Its ticket is served, but as nobody takes the lock it is not kept alive for it."""
    mine = d.lock("a").acquire()
    hangs, may_go = threading.Event(), threading.Event()

    async def hang() -> None:
        waiter = asyncio.create_task(d.lock("a", ttl=TTL).aacquire())
        await asyncio.sleep(0)
        assert diary.of(JoinedQueue), "the waiter is in the queue"
        hangs.set()
        may_go.wait(10)  # blocks the loop
        waiter.cancel()

    thread = threading.Thread(target=lambda: asyncio.run(hang()))
    thread.start()
    assert hangs.wait(10)
    mine.release()
    theirs = d.lock("a", wait=10).acquire()
    assert theirs.waited > TTL / 2
    theirs.release()
    may_go.set()
    thread.join()


def test_a_lease_may_be_passed_to_another_thread(d: Dibs) -> None:
    lease = d.lock("a").acquire()
    thread = threading.Thread(target=lease.release)
    thread.start()
    thread.join()
    assert d.inspect("a").state == "free"
    assert not lease.lost


def test_a_lease_may_be_passed_between_tasks_loops_and_threads(d: Dibs) -> None:
    async def take() -> dibs.Lease:
        return await d.lock("a").aacquire()

    async def give_back(lease: dibs.Lease) -> None:
        lease.ensure()
        await lease.aextend()
        await asyncio.create_task(lease.arelease())

    asyncio.run(give_back(asyncio.run(take())))
    lease = asyncio.run(take())
    lease.extend()
    lease.release()
    assert d.inspect("a").state == "free"


def test_one_lock_object_may_be_shared_and_used_again(d: Dibs) -> None:
    lock, count = d.lock("a"), [0]

    def work() -> None:
        for _ in range(20):
            with lock:
                count[0] += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == [80]

    async def main() -> None:
        async def work() -> None:
            async with lock:
                count[0] += 1
                await asyncio.sleep(0)

        await asyncio.gather(*(work() for _ in range(10)))

    asyncio.run(main())
    assert count == [90]


def test_a_block_may_end_in_another_thread_than_it_began(d: Dibs) -> None:
    lock = d.lock("a")
    lock.__enter__()
    thread = threading.Thread(target=lambda: lock.__exit__(None, None, None))
    thread.start()
    thread.join()
    assert d.inspect("a").state == "free"


def test_leaving_a_block_that_was_never_entered_is_refused(d: Dibs) -> None:
    with pytest.raises(dibs.ConfigError, match="0 open blocks"):
        d.lock("a").__exit__(None, None, None)


def test_waiting_for_what_one_already_holds_is_told_at_once(d: Dibs) -> None:
    with d.lock("a") as lease:
        for wait in (None, 5):
            with pytest.raises(SelfDeadlock, match="already held here") as told, d.lock("a", wait=wait):
                pass
            assert told.value.fence == lease.fence
        with pytest.raises(LockBusy), d.lock("a", wait=0):
            pass
        assert d.inspect("a").waiters == ()

    async def main() -> None:
        async with d.lock("a"):
            with pytest.raises(SelfDeadlock):
                async with d.lock("a"):
                    pass

    asyncio.run(main())


def test_another_task_or_thread_may_wait_for_it(d: Dibs, diary: Diary) -> None:
    async def main() -> None:
        async def wait() -> None:
            async with d.lock("a", wait=10):
                pass

        async with d.lock("a"):
            waiter = asyncio.create_task(wait())
            await asyncio.to_thread(diary.wait_for, JoinedQueue, 1)
        await waiter

    asyncio.run(main())


def test_a_lease_taken_without_a_block_may_be_waited_for_by_its_taker(d: Dibs, diary: Diary) -> None:
    """It may have been handed to another thread, which gives it back."""
    lease = d.lock("a").acquire()

    def give_back() -> None:
        diary.wait_for(JoinedQueue, 1)
        lease.release()

    thread = threading.Thread(target=give_back)
    thread.start()
    d.lock("a", wait=10).acquire().release()
    thread.join()


def test_on_lost_is_called_once_and_its_failure_hurts_nobody(d: Dibs, diary: Diary) -> None:
    losses: list[LeaseLost] = []

    def fail(loss: LeaseLost) -> None:
        losses.append(loss)
        raise ValueError("mine")

    with pytest.raises(LeaseLost), d.lock("a", on_lost=fail):
        evict(d, "a")
        diary.wait_for(Lost, 1)
    [stumbled] = diary.wait_for(Stumbled, 1)
    assert "mine" in stumbled.error
    assert [loss.reason for loss in losses] == ["it was released by force"]
    assert len(diary.of(Acquired)) == 1


INTERRUPTED = """
import signal, dibs
from dibs.flows import counting
from dibs.runtime import keeper
keeper.IDLE = counting.EVERY = 0.05
armed = []
def interrupt(number, frame):
    if armed:
        armed.clear()
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
d, interrupted = dibs.connect("memory://", quiet=True), 0
for delay in range(1, 600):
    try:
        armed.append(True)
        signal.setitimer(signal.ITIMER_REAL, delay * 1e-6)
        with d.lock("a", ttl=3):
            pass
        armed.clear()
    except KeyboardInterrupt:
        interrupted += 1
d.lock("a", wait=20).acquire().release()
desk, thread = d._engine.desk, d._engine._keeper._thread
if thread is not None:
    thread.join(20)  # it ends when there is nothing left to look after
print(interrupted > 20, len(desk.holds), len(desk.tickets))
"""


def test_a_signal_at_any_moment_leaves_nothing_that_is_renewed_for_ever() -> None:
    """Interrupted between asking and entering, or between leaving and having left: the lock comes free."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", INTERRUPTED], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "True 0 0\n", done.stdout + done.stderr


def test_two_tasks_may_wait_for_one_another_s_lock_but_not_for_their_own(d: Dibs) -> None:
    async def main() -> None:
        async with d.lock("a"):
            with pytest.raises(SelfDeadlock), d.lock("a", wait=1):  # a blocking lock inside of an async one
                pass
            with pytest.raises(SelfDeadlock):
                await d.lock("a").aacquire()

            async def child() -> None:
                async with d.lock("a", wait=10):
                    pass

            waiter = asyncio.create_task(child())  # it inherits our context, but is not inside
            await asyncio.sleep(0)
        await waiter

    asyncio.run(main())


def test_a_thread_that_left_its_block_open_elsewhere_is_not_inside(d: Dibs, diary: Diary) -> None:
    """A web framework enters a dependency on a pool's thread and leaves it on another: the next request may wait."""
    lock = d.lock("a")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, lock.__enter__).result()
        waiter = pool.submit(copy_context().run, d.lock("a", wait=10).acquire)
        diary.wait_for(JoinedQueue, 1)
        lock.__exit__(None, None, None)
        waiter.result().release()


def test_a_slow_on_lost_does_not_keep_others_from_being_renewed(d: Dibs) -> None:
    may_go, called = threading.Event(), threading.Event()

    def slow(_: LeaseLost) -> None:
        called.set()
        may_go.wait(10)

    other = d.lock("b", ttl=TTL).acquire()
    lost = d.lock("a", ttl=TTL, renew=False, on_lost=slow).acquire()
    assert called.wait(10)
    with pytest.raises(LockBusy):
        d.lock("b", wait=2 * TTL).acquire()
    other.ensure()
    may_go.set()
    other.release()
    with pytest.raises(LeaseLost):
        lost.release()


def test_an_on_lost_that_ends_its_thread_ends_nothing_else(d: Dibs, diary: Diary) -> None:
    lost = d.lock("a", ttl=TTL, renew=False, on_lost=lambda _: sys.exit(3)).acquire()
    [stumbled] = diary.wait_for(Stumbled, 1)
    assert "SystemExit(3)" in stumbled.error
    assert lost.lost
    lease = d.lock("b", ttl=TTL).acquire()
    with pytest.raises(LockBusy):
        d.lock("b", wait=2 * TTL).acquire()
    lease.release()


def test_a_copy_of_a_lease_does_not_give_back_the_original(d: Dibs) -> None:
    lease = d.lock("a").acquire()
    copy.copy(lease)
    gc.collect()
    lease.ensure()
    assert d.try_lock("a").acquire() is None
    lease.release()
