"""What every store must do for one who holds a lock."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from dibs.errors import LeaseLost, LockBusy
from dibs.events import Lost
from dibs.testing.contract.clients import Clients
from dibs.testing.contract.faces import BlockingFace, Face

if TYPE_CHECKING:
    from dibs.ports.wire import Backend


class HoldingContract(Clients):
    """Taking, keeping, losing and giving back."""

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

    def test_a_lease_is_renewed_past_its_ttl(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a", ttl=self.brief)
            with pytest.raises(LockBusy):
                await face.acquire("a", wait=2 * self.brief)
            mine.ensure()
            assert not mine.lost
            assert 0 < mine.remaining < self.brief
            await face.release(mine)

        face.play(scene())

    def test_a_lease_that_is_not_renewed_ends_with_its_ttl_and_its_holder_knows_first(self, face: Face) -> None:
        told_by_callback = threading.Event()

        async def scene() -> None:
            mine = await face.acquire("a", ttl=self.brief, renew=False, on_lost=lambda _: told_by_callback.set())
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
            mine = await face.acquire("a", ttl=self.brief, max_hold=1.5 * self.brief)
            theirs = await face.acquire("a", wait=20)
            assert mine.lost
            assert theirs.waited >= self.brief
            with pytest.raises(LeaseLost, match="max_hold"):
                mine.ensure()
            await face.release(theirs)

        face.play(scene())

    def test_extend_gives_a_whole_ttl_from_now(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a", ttl=self.brief, renew=False)
            with pytest.raises(LockBusy):
                await face.acquire("a", wait=self.brief / 2)
            before = mine.remaining
            await face.extend(mine)
            assert mine.remaining > before
            with pytest.raises(LockBusy):
                await face.acquire("a", wait=self.brief / 2)
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

    def test_any_printable_name_will_do(self, face: Face) -> None:
        async def scene() -> None:
            for name in ("a b", "a:b", "a{b", "naïve/路径", "x" * 200, "%s", "*", "'; --"):
                mine = await face.acquire(name)
                assert await face.try_acquire(name) is None
                assert [view.name for view in await face.locks()] == [name]
                await face.release(mine)

        face.play(scene())
