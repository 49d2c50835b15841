"""What every store must do for those who want several locks at once: all or none, and nobody waits in a circle."""

from __future__ import annotations

import pytest

from dibs.errors import LockBusy
from dibs.events import JoinedQueue
from dibs.testing.contract.clients import Clients
from dibs.testing.contract.faces import Face, Started


class TogetherContract(Clients):
    """Several locks, as if they were one."""

    def test_all_locks_or_none(self, face: Face) -> None:
        async def scene() -> None:
            theirs = await face.acquire("b")
            with pytest.raises(LockBusy, match="'b'"):
                await face.take(face.client.lock_all("a", "b", "c", wait=0))
            assert (await face.inspect("a")).state == (await face.inspect("c")).state == "free"
            await face.release(theirs)
            leases = await face.take(face.client.lock_all("c", "b", "a", wait=0))
            assert [view.name for view in await face.locks()] == ["a", "b", "c"]
            assert len({lease.fence for lease in leases}) == 3
            leases.ensure()
            await face.release(leases)
            assert await face.locks() == []

        face.play(scene())

    def test_who_wants_several_locks_waits_until_all_are_free(self, face: Face) -> None:
        async def scene() -> None:
            theirs = [await face.acquire("a"), await face.acquire("b")]

            async def wait() -> None:
                leases = await face.take(face.client.lock_all("b", "a", wait=20))
                assert leases["a"].fence > theirs[0].fence
                await face.release(leases)

            waiter = face.start(wait())
            await face.seen(JoinedQueue)
            for lease in theirs:
                await face.release(lease)
            await waiter.finish()
            assert await face.locks() == []

        face.play(scene())

    def test_who_gives_up_waiting_for_one_of_several_keeps_none(self, face: Face) -> None:
        async def scene() -> None:
            theirs = await face.acquire("b")
            with pytest.raises(LockBusy, match="'b'") as busy:
                await face.take(face.client.lock_all("a", "b", wait=self.brief))
            assert busy.value.waited >= self.brief
            assert (await face.inspect("a")).state == "free"
            await face.release(theirs)

        face.play(scene())

    def test_those_who_want_the_same_locks_in_other_orders_never_wait_for_ever(self, face: Face) -> None:
        inside: list[str] = []

        async def scene() -> None:
            async def work(*names: str) -> None:
                for _ in range(10):
                    leases = await face.take(face.client.lock_all(*names, wait=20))
                    assert not set(names) & set(inside)
                    inside.extend(names)
                    leases.ensure()
                    for name in names:
                        inside.remove(name)
                    await face.release(leases)

            crew: list[Started] = [
                face.start(work(*names)) for names in (("a", "b", "c"), ("c", "b"), ("b", "a"), ("c", "a"))
            ]
            for worker in crew:
                await worker.finish()
            assert await face.locks() == []

        face.play(scene())
