"""What every store must show of its locks, and let people do with them."""

from __future__ import annotations

import pytest

from dibs.errors import ChangedHands, LeaseLost
from dibs.events import JoinedQueue, Lost
from dibs.testing.contract.clients import Clients
from dibs.testing.contract.faces import Face


class OverseeingContract(Clients):
    """Looking, listing, and releasing by force."""

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
