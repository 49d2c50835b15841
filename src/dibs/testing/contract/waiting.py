"""What every store must do for those who wait for a lock."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from dibs.errors import LockBusy
from dibs.events import Acquired, FoundBusy, JoinedQueue
from dibs.testing.contract.clients import Clients
from dibs.testing.contract.faces import Face, Started


class WaitingContract(Clients):
    """The queue: in order, bounded, and nobody inside together."""

    def test_a_waiter_is_handed_the_lock_on_release(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a")

            async def wait() -> None:
                theirs = await face.acquire("a", wait=20)
                assert theirs.fence > mine.fence
                await face.release(theirs)

            waiter = face.start(wait())
            await face.seen(JoinedQueue)
            await face.release(mine)
            await waiter.finish()
            assert (await face.inspect("a")).state == "free"

        face.play(scene())

    def test_waiters_are_served_in_the_order_they_came(self, face: Face) -> None:
        order: list[int] = []

        async def scene() -> None:
            mine = await face.acquire("a")

            async def wait(number: int) -> None:
                lease = await face.acquire("a", wait=20)
                order.append(number)
                await face.release(lease)

            waiters = list[Started]()
            for number in range(5):
                waiters.append(face.start(wait(number)))
                await face.seen(JoinedQueue, times=number + 1)
            await face.release(mine)
            for waiter in waiters:
                await waiter.finish()

        face.play(scene())
        assert order == [0, 1, 2, 3, 4]

    def test_a_bounded_wait_ends_and_leaves_no_ticket(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a")
            with pytest.raises(LockBusy) as busy:
                await face.acquire("a", wait=self.brief)
            assert busy.value.waited >= self.brief
            assert busy.value.waiters >= 1
            [found] = await face.seen(FoundBusy)
            assert found.waited >= self.brief
            assert (await face.inspect("a")).waiters == ()
            await face.release(mine)

        face.play(scene())

    def test_nobody_is_inside_together(self, face: Face, other: Face) -> None:
        """Eight workers of two clients count in turns, without any other protection."""
        count, fences = [0], list[int]()

        async def work(side: Face) -> None:
            for _ in range(10):
                lease = await side.acquire("a", wait=20)
                before = count[0]
                await side.inspect("b")
                count[0] = before + 1
                fences.append(lease.fence)
                await side.release(lease)

        async def scene(side: Face) -> None:
            for worker in [side.start(work(side)) for _ in range(4)]:
                await worker.finish()

        beside = threading.Thread(target=lambda: other.play(scene(other)))
        beside.start()
        face.play(scene(face))
        beside.join()
        assert count == [80]
        assert all(earlier < later for earlier, later in pairwise(fences))
        assert len(face.diary.of(Acquired)) == 40


class HandOverContract(Clients):
    """What only a store can do that decides alone: it gives the lock to whoever is next, in the step that frees it."""

    def test_a_newcomer_does_not_overtake_the_queue(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a")
            has_it, may_go = threading.Event(), threading.Event()

            async def wait() -> None:
                theirs = await face.acquire("a", wait=20)
                has_it.set()
                await face.happened(may_go)
                await face.release(theirs)

            waiter = face.start(wait())
            await face.seen(JoinedQueue)
            await face.release(mine)
            assert await face.try_acquire("a") is None
            await face.happened(has_it)
            may_go.set()
            await waiter.finish()

        face.play(scene())
