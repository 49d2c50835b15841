"""What every store must do with locks, in both colours. Sentences about the product, one test each."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from dibs.errors import ChangedHands, LeaseLost, LockBusy
from dibs.events import Acquired, FoundBusy, JoinedQueue, Lost
from dibs.testing.contract.faces import AsyncFace, BlockingFace, Face, Started

if TYPE_CHECKING:
    from dibs.ports.wire import Backend

BRIEF = 0.4
"""A TTL that is worth waiting for in a test."""


class LockContract:
    """Subclass it and give a `backend` fixture: a store that is empty, and used by this test alone."""

    @pytest.fixture(params=[BlockingFace, AsyncFace], ids=["blocking", "asyncio"])
    def face(self, request: pytest.FixtureRequest, backend: Backend) -> Face:
        """A client of the store, in one colour."""
        made: Face = request.param(backend)
        return made

    @pytest.fixture(params=[BlockingFace, AsyncFace], ids=["blocking", "asyncio"])
    def other(self, request: pytest.FixtureRequest, backend: Backend) -> Face:
        """Another client of the same store, in the same or the other colour."""
        made: Face = request.param(backend)
        return made

    def test_a_held_lock_refuses_a_second_owner(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a", purpose="nightly close")
            assert await face.try_acquire("a") is None
            with pytest.raises(LockBusy) as busy:
                await face.acquire("a", wait=0)
            assert (busy.value.name, busy.value.fence, busy.value.waited) == ("a", mine.fence, 0)
            assert busy.value.purpose == "nightly close"
            assert busy.value.holder in str(busy.value)
            assert 0 < busy.value.ttl_left <= mine.ttl
            await face.release(mine)

        face.play(scene())

    def test_a_released_lock_is_free_for_the_next(self, face: Face) -> None:
        async def scene() -> None:
            for _ in range(3):
                await face.release(await face.acquire("a", wait=0))
            assert (await face.inspect("a")).state == "free"
            assert not await face.locks()

        face.play(scene())

    def test_each_grant_carries_a_higher_fence_whatever_the_name(self, face: Face) -> None:
        async def scene() -> None:
            fences: list[int] = []
            for name in ("a", "b", "a", "c", "a"):
                lease = await face.acquire(name)
                fences.append(lease.fence)
                await face.release(lease)
            assert all(earlier < later for earlier, later in pairwise(fences))

        face.play(scene())

    def test_two_clients_exclude_each_other(self, backend: Backend, face: Face) -> None:
        other = BlockingFace(backend)

        async def scene() -> None:
            mine = await face.acquire("a")
            assert other.client.try_lock("a").acquire() is None
            await face.release(mine)
            theirs = other.client.try_lock("a").acquire()
            assert theirs is not None
            assert theirs.fence > mine.fence
            theirs.release()

        face.play(scene())
        other.client.close()

    def test_namespaces_are_apart(self, backend: Backend, face: Face) -> None:
        elsewhere = BlockingFace(backend, namespace="elsewhere")

        async def scene() -> None:
            mine = await face.acquire("a")
            theirs = elsewhere.client.try_lock("a").acquire()
            assert theirs is not None
            assert [view.name for view in await face.locks()] == ["a"]
            theirs.release()
            await face.release(mine)

        face.play(scene())
        elsewhere.client.close()

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

    def test_a_bounded_wait_ends_and_leaves_no_ticket(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a")
            with pytest.raises(LockBusy) as busy:
                await face.acquire("a", wait=0.05)
            assert busy.value.waited >= 0.05
            assert busy.value.waiters >= 1
            [found] = await face.seen(FoundBusy)
            assert found.waited >= 0.05
            assert (await face.inspect("a")).waiters == ()
            await face.release(mine)

        face.play(scene())

    def test_a_lease_is_renewed_past_its_ttl(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a", ttl=BRIEF)
            with pytest.raises(LockBusy):
                await face.acquire("a", wait=3 * BRIEF)
            mine.ensure()
            assert not mine.lost
            assert 0 < mine.remaining < BRIEF
            await face.release(mine)

        face.play(scene())

    def test_a_lease_that_is_not_renewed_ends_with_its_ttl_and_its_holder_knows_first(self, face: Face) -> None:
        told_by_callback = threading.Event()

        async def scene() -> None:
            mine = await face.acquire("a", ttl=BRIEF, renew=False, on_lost=lambda _: told_by_callback.set())
            theirs = await face.acquire("a", wait=20)
            assert mine.lost
            assert mine.remaining == 0
            with pytest.raises(LeaseLost):
                mine.ensure()
            [told] = await face.seen(Lost)
            assert (told.name, told.fence) == ("a", mine.fence)
            await face.happened(told_by_callback)
            with pytest.raises(LeaseLost):
                await face.release(mine)
            assert (await face.inspect("a")).state == "held"
            await face.release(theirs)

        face.play(scene())

    def test_max_hold_ends_a_lease_however_well_it_is_renewed(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a", ttl=BRIEF, max_hold=2 * BRIEF)
            theirs = await face.acquire("a", wait=20)
            assert mine.lost
            assert theirs.waited >= BRIEF
            with pytest.raises(LeaseLost, match="max_hold"):
                mine.ensure()
            await face.release(theirs)

        face.play(scene())

    def test_extend_gives_a_whole_ttl_from_now(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a", ttl=BRIEF, renew=False)
            with pytest.raises(LockBusy):
                await face.acquire("a", wait=BRIEF / 2)
            before = mine.remaining
            await face.extend(mine)
            assert mine.remaining > before
            with pytest.raises(LockBusy):
                await face.acquire("a", wait=BRIEF / 2)
            mine.ensure()
            await face.release(mine)

        face.play(scene())

    def test_a_lease_may_be_released_twice_but_not_used_after(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a")
            await face.release(mine)
            theirs = await face.acquire("a", wait=0)
            await face.release(mine)
            assert (await face.inspect("a")).held is not None
            assert not mine.lost
            with pytest.raises(LeaseLost, match="released by this program"):
                mine.ensure()
            with pytest.raises(LeaseLost, match="released by this program"):
                await face.extend(mine)
            await face.release(theirs)

        face.play(scene())

    def test_force_release_names_the_fence_it_saw(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a")
            with pytest.raises(ChangedHands, match="look again"):
                await face.force_release("a", fence=mine.fence + 1)
            mine.ensure()
            assert await face.force_release("a", fence=mine.fence)
            [told] = await face.seen(Lost)
            assert told.fence == mine.fence
            with pytest.raises(LeaseLost, match="by force"):
                mine.ensure()
            theirs = await face.acquire("a", wait=0)
            assert theirs.fence > mine.fence + 1
            await face.release(theirs)
            assert not await face.force_release("a", fence=theirs.fence)

        face.play(scene())

    def test_force_release_hands_the_lock_to_the_first_waiter(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a")

            async def wait() -> None:
                await face.release(await face.acquire("a", wait=20))

            waiter = face.start(wait())
            await face.seen(JoinedQueue)
            assert await face.force_release("a", fence=mine.fence)
            await waiter.finish()
            with pytest.raises(LeaseLost):
                await face.release(mine)

        face.play(scene())

    def test_a_lock_can_be_looked_at(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a", purpose="close the books", ttl=30)

            async def wait() -> None:
                await face.release(await face.acquire("a", wait=20, purpose="wants to pay"))

            waiter = face.start(wait())
            await face.seen(JoinedQueue)
            seen = await face.inspect("a")
            assert seen.state == "held"
            assert seen.held is not None
            assert (seen.held.purpose, seen.held.fence, seen.held.ttl) == ("close the books", mine.fence, 30)
            assert 0 < seen.held.ttl_left <= 30
            assert seen.held.since <= seen.seen_at
            assert [waiting.purpose for waiting in seen.waiters] == ["wants to pay"]
            assert [view.name for view in await face.locks()] == ["a"]
            await face.release(mine)
            await waiter.finish()

        face.play(scene())

    def test_locks_are_listed_by_name_prefix_and_limit(self, face: Face) -> None:
        async def scene() -> None:
            names = ["billing:1", "billing:2", "report", "billing:3"]
            leases = [await face.acquire(name) for name in names]
            assert [view.name for view in await face.locks()] == sorted(names)
            assert [view.name for view in await face.locks("billing:")] == sorted(names)[:3]
            assert [view.name for view in await face.locks(limit=2)] == sorted(names)[:2]
            for lease in leases:
                await face.release(lease)
            assert not await face.locks()

        face.play(scene())

    @pytest.mark.parametrize("name", ["a b", "a:b", "a{b", "naïve/路径", "x" * 200, "%s", "*", "'; --"])
    def test_any_printable_name_will_do(self, face: Face, name: str) -> None:
        async def scene() -> None:
            mine = await face.acquire(name)
            assert await face.try_acquire(name) is None
            assert [view.name for view in await face.locks()] == [name]
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
