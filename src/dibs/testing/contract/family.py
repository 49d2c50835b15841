"""What every store must do for the relatives of the lock: reentrant, read-write and with permits."""

from __future__ import annotations

import threading

import pytest

from dibs.errors import LockBusy, SelfDeadlock
from dibs.events import JoinedQueue, Lost
from dibs.testing.contract.clients import Clients
from dibs.testing.contract.faces import Face


class FamilyContract(Clients):
    """Who may be in together, who must wait, and for whom."""

    # Reentrant.

    def test_a_reentrant_lock_is_entered_again_by_its_holder_and_free_when_it_was_left_as_often(
        self, face: Face
    ) -> None:
        async def scene() -> None:
            outer = await face.take(face.client.rlock("a"))
            inner = await face.take(face.client.rlock("a", wait=0))
            assert inner.fence == outer.fence
            [held] = (await face.inspect("a")).holders
            assert (held.depth, held.fence) == (2, outer.fence)
            await face.release(outer)
            await face.release(outer)  # again is harmless, and no other entry's business
            assert (await face.inspect("a")).holders[0].depth == 1
            inner.ensure()
            await face.release(inner)
            assert (await face.inspect("a")).state == "free"

        face.play(scene())

    def test_a_reentrant_lock_keeps_others_out(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.take(face.client.rlock("a"))

            async def beside() -> None:
                with pytest.raises(LockBusy):
                    await face.take(face.client.rlock("a", wait=0))
                with pytest.raises(LockBusy):
                    await face.acquire("a", wait=0)

            await face.start(beside()).finish()
            await face.release(mine)

        face.play(scene())

    def test_whoever_has_the_lease_may_enter_by_it(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.take(face.client.rlock("a"))

            async def beside() -> None:
                lease = await face.take(face.client.rlock("a", within=mine))
                assert lease.fence == mine.fence
                await face.release(mine)
                lease.ensure()
                await face.release(lease)

            await face.start(beside()).finish()
            assert (await face.inspect("a")).state == "free"

        face.play(scene())

    # Read-write.

    def test_readers_are_in_together_and_a_writer_alone(self, face: Face) -> None:
        async def scene() -> None:
            one = await face.take(face.client.rwlock("a").read())

            async def beside() -> None:
                two = await face.take(face.client.rwlock("a", wait=0).read())
                assert len((await face.inspect("a")).holders) == 2
                with pytest.raises(LockBusy):
                    await face.take(face.client.rwlock("a", wait=0).write())
                await face.release(two)

            await face.start(beside()).finish()
            await face.release(one)
            alone = await face.take(face.client.rwlock("a", wait=0).write())
            assert alone.fence > one.fence

            async def read() -> None:
                with pytest.raises(LockBusy):
                    await face.take(face.client.rwlock("a", wait=0).read())

            await face.start(read()).finish()
            await face.release(alone)

        face.play(scene())

    def test_a_writer_who_waits_is_not_passed_by_readers_who_come_later(self, face: Face) -> None:
        order: list[str] = []

        async def scene() -> None:
            first = await face.take(face.client.rwlock("a").read())

            async def write() -> None:
                lease = await face.take(face.client.rwlock("a", wait=20).write())
                order.append("writer")
                await face.release(lease)

            async def read() -> None:
                lease = await face.take(face.client.rwlock("a", wait=20).read())
                order.append("reader")
                await face.release(lease)

            writer = face.start(write())
            await face.seen(JoinedQueue)
            readers = [face.start(read()), face.start(read())]
            await face.seen(JoinedQueue, times=3)
            await face.release(first)
            for waiter in (writer, *readers):
                await waiter.finish()

        face.play(scene())
        assert order == ["writer", "reader", "reader"]

    def test_readers_who_wait_get_in_together(self, face: Face) -> None:
        async def scene() -> None:
            writer = await face.take(face.client.rwlock("a").write())
            inside: list[int] = []
            both_are_in = threading.Event()

            async def read() -> None:
                lease = await face.take(face.client.rwlock("a", wait=20).read())
                inside.append(lease.fence)
                if len(inside) == 2:
                    both_are_in.set()
                await face.happened(both_are_in)
                await face.release(lease)

            readers = [face.start(read()), face.start(read())]
            await face.seen(JoinedQueue, times=2)
            await face.release(writer)
            for reader in readers:
                await reader.finish()

        face.play(scene())

    def test_who_reads_may_read_again_and_who_writes_may_do_both(self, face: Face) -> None:
        async def scene() -> None:
            lock = face.client.rwlock("a", wait=0)
            reads = [await face.take(lock.read()), await face.take(lock.read())]
            for lease in reads:
                await face.release(lease)
            writes = [await face.take(lock.write()), await face.take(lock.write()), await face.take(lock.read())]
            assert len({lease.fence for lease in writes}) == 1
            for lease in writes:
                await face.release(lease)
            assert (await face.inspect("a")).state == "free"

        face.play(scene())

    def test_who_reads_is_refused_to_wait_for_writing(self, face: Face) -> None:
        async def scene() -> None:
            lease = await face.take(face.client.rwlock("a").read())
            with pytest.raises(SelfDeadlock):
                await face.take(face.client.rwlock("a", wait=20).write())
            await face.release(lease)

        face.play(scene())

    # Permits.

    def test_so_many_permits_and_no_more(self, face: Face) -> None:
        async def scene() -> None:
            leases = [await face.take(face.client.semaphore("a", 3, wait=0)) for _ in range(3)]
            assert len({lease.fence for lease in leases}) == 3
            with pytest.raises(LockBusy):
                await face.take(face.client.semaphore("a", 3, wait=0))
            with pytest.raises(LockBusy):  # who says that there are fewer is believed
                await face.take(face.client.semaphore("a", 2, wait=0))
            await face.release(leases.pop())
            leases.append(await face.take(face.client.semaphore("a", 3, wait=0)))
            for lease in leases:
                await face.release(lease)
            assert (await face.inspect("a")).state == "free"

        face.play(scene())

    def test_a_permit_that_is_given_back_goes_to_the_first_who_waits(self, face: Face) -> None:
        async def scene() -> None:
            mine = [await face.take(face.client.semaphore("a", 2)) for _ in range(2)]

            async def wait() -> None:
                lease = await face.take(face.client.semaphore("a", 2, wait=20))
                assert lease.fence > mine[1].fence
                await face.release(lease)

            waiter = face.start(wait())
            await face.seen(JoinedQueue)
            await face.release(mine[0])
            await waiter.finish()
            mine[1].ensure()
            await face.release(mine[1])

        face.play(scene())

    def test_the_permit_of_one_who_is_gone_comes_back_when_its_time_is_over(self, face: Face) -> None:
        async def scene() -> None:
            kept = await face.take(face.client.semaphore("a", 2, ttl=20))
            await face.take(face.client.semaphore("a", 2, ttl=self.brief, renew=False))
            lease = await face.take(face.client.semaphore("a", 2, wait=20))
            assert lease.waited < self.brief + 1
            kept.ensure()
            for mine in (kept, lease):
                await face.release(mine)

        face.play(scene())

    def test_one_of_several_can_be_evicted(self, face: Face) -> None:
        async def scene() -> None:
            one, two = [await face.take(face.client.semaphore("a", 2)) for _ in range(2)]
            assert await face.force_release("a", fence=one.fence)
            [lost] = await face.seen(Lost)
            assert lost.fence == one.fence
            assert [held.fence for held in (await face.inspect("a")).holders] == [two.fence]
            two.ensure()
            await face.release(two)

        face.play(scene())

    def test_what_is_shared_is_renewed(self, face: Face) -> None:
        async def scene() -> None:
            leases = [await face.take(face.client.semaphore("a", 2, ttl=self.brief)) for _ in range(2)]
            with pytest.raises(LockBusy):
                await face.take(face.client.semaphore("a", 2, wait=2 * self.brief))
            for lease in leases:
                lease.ensure()
                await face.release(lease)

        face.play(scene())

    # At least.

    def test_a_lock_stays_taken_for_as_long_as_was_said(self, face: Face) -> None:
        async def scene() -> None:
            mine = await face.acquire("a", at_least=self.brief, ttl=20)
            await face.release(mine)
            with pytest.raises(LockBusy):
                await face.acquire("a", wait=0)
            theirs = await face.acquire("a", wait=20)
            assert theirs.waited > self.brief / 2
            assert theirs.fence > mine.fence
            await face.release(theirs)

        face.play(scene())
