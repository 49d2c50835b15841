"""Other programs lock the same keys in their own way, and neither side ever takes or removes what the other holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic

import pytest
import redis
from redis.exceptions import LockNotOwnedError

from dibs import ChangedHands, LeaseLost, LockBusy
from dibs.events import Abandoned, Acquired, JoinedQueue, Lost
from dibs.stores.redis import open_store
from dibs.testing.contract.faces import BlockingFace, Face, Started
from tests.chaos.moments import LONG, ends_within, so
from tests.servers.kinds import REDIS, VALKEY_8, VALKEY_9, Kind
from tests.stores.redis.npm import Redlock
from tests.stores.redis.rivals import Bare, RedisPy, RedisPyAsyncio, Rival
from tests.stores.redis.visits import FOREIGN, NAME, SOON, visit

ON_VALKEY_9: list[tuple[Kind, type]] = [(VALKEY_9, rival) for rival in (RedisPy, RedisPyAsyncio, Bare, Redlock)]
ELSEWHERE: list[tuple[Kind, type]] = [(VALKEY_8, RedisPy), (REDIS, RedisPy)]


def beside(each: list[tuple[Kind, type]]) -> pytest.MarkDecorator:
    ids = [f"{kind}-{rival.__name__}" for kind, rival in each]
    return pytest.mark.parametrize(("server_kind", "rivals"), each, ids=ids, indirect=True)


beside_each_rival_on_each_kind = beside([*ON_VALKEY_9, *ELSEWHERE])
beside_each_rival = beside(ON_VALKEY_9)
beside_redis_py = beside([(VALKEY_9, RedisPy)])


@pytest.fixture
def rival(rivals: Callable[[str], Rival]) -> Rival:
    return rivals(NAME)


def take_by_force(rival: Rival, eyes: redis.Redis) -> None:
    eyes.delete(NAME)
    assert rival.acquire(30)


@contextmanager
def untouched(eyes: redis.Redis) -> Iterator[None]:
    """What is at the key stays as it is, until the end of the block."""
    theirs = eyes.get(NAME)
    assert theirs is not None
    yield
    assert eyes.get(NAME) == theirs


def asked(eyes: redis.Redis) -> int:
    """How often somebody has tried to take a lock, by whatever library."""
    words = {"cmdstat_set", "cmdstat_eval", "cmdstat_evalsha"}
    return sum(each["calls"] for name, each in eyes.info("commandstats").items() if name in words)


async def all_said(face: Face) -> None:
    """Wait until nothing is owed: whatever was to be left has been left."""
    await face.happened(so(lambda: not face.client._engine.desk.debts))


class TestWhileTheyHoldIt:
    @beside_each_rival_on_each_kind
    def test_it_is_not_taken_and_said_to_be_another_program_s(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            assert rival.acquire(30)
            with untouched(eyes):
                assert await face.try_acquire(NAME) is None
                with pytest.raises(LockBusy, match=f"'stock' is held by {FOREIGN}") as busy:
                    await face.acquire(NAME, wait=0.3)
                assert (busy.value.holder, busy.value.fence) == (FOREIGN, 0)
                assert 29 < busy.value.ttl_left <= 30
                seen = await face.inspect(NAME)
            assert seen.state == "held"
            assert seen.held is not None
            assert seen.held.who == FOREIGN
            assert seen.waiters == ()

        face.play(scene())
        assert rival.release()

    @beside_each_rival
    def test_a_waiter_gets_in_soon_after_their_release(self, face: Face, rival: Rival) -> None:
        async def scene() -> None:
            assert rival.acquire(30)
            waiter = face.start(visit(face))
            await face.seen(JoinedQueue)
            with ends_within(SOON):
                assert rival.release()
                await waiter.finish()

        face.play(scene())

    @beside_each_rival
    def test_a_waiter_gets_in_soon_after_their_ttl_and_not_before(self, face: Face, rival: Rival) -> None:
        async def scene() -> None:
            asked_at = monotonic()
            assert rival.acquire(0.3)
            with ends_within(0.3 + SOON):
                lease = await face.acquire(NAME, wait=LONG)
            assert monotonic() >= asked_at + 0.3
            await face.release(lease)

        face.play(scene())

    @beside_each_rival
    def test_their_late_release_does_not_touch_what_is_ours_by_now(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            assert rival.acquire(0.1)
            lease = await face.acquire(NAME, wait=LONG)
            with untouched(eyes):
                assert not rival.release()
            await face.extend(lease)
            await face.release(lease)

        face.play(scene())
        assert not eyes.exists(NAME)

    @beside_each_rival
    def test_waiters_get_in_by_the_order_in_which_they_came(self, faces: Callable[[], Face], rival: Rival) -> None:
        order: list[int] = []
        face, other = faces(), faces()

        async def wait(side: Face, number: int) -> None:
            lease = await side.acquire(NAME, wait=LONG)
            order.append(number)
            await side.release(lease)

        async def scene() -> None:
            assert rival.acquire(30)
            waiters: list[Started] = []
            for number in range(6):
                side = (face, other)[number % 2]
                waiters.append(side.start(wait(side, number)))
                await side.seen(JoinedQueue, times=number // 2 + 1)
            assert rival.release()
            for waiter in waiters:
                await waiter.finish()
            other.client.close()

        face.play(scene())
        assert order == [0, 1, 2, 3, 4, 5]

    @beside_redis_py
    def test_the_second_gets_in_soon_when_the_first_has_given_up(self, face: Face, rival: Rival) -> None:
        async def give_up() -> None:
            with pytest.raises(LockBusy):
                await face.acquire(NAME, wait=0.4)

        async def scene() -> None:
            assert rival.acquire(30)
            first = face.start(give_up())
            await face.seen(JoinedQueue)
            second = face.start(visit(face))
            await face.seen(JoinedQueue, times=2)
            await first.finish()
            with ends_within(SOON):
                assert rival.release()
                await second.finish()

        face.play(scene())

    @beside_redis_py
    def test_waiting_asks_a_few_times_a_second_and_no_more(self, face: Face, rival: Rival, eyes: redis.Redis) -> None:
        async def scene() -> None:
            assert rival.acquire(30)
            assert await face.try_acquire(NAME) is None
            before = asked(eyes)
            with pytest.raises(LockBusy):
                await face.acquire(NAME, wait=1)
            assert 3 <= asked(eyes) - before <= 8

        face.play(scene())

    @beside_redis_py
    def test_a_waiter_keeps_its_ticket_and_leaves_theirs_alone(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        """Its ticket is kept for many times its TTL, and then left."""

        async def scene() -> None:
            assert rival.acquire(30)
            with untouched(eyes):
                with pytest.raises(LockBusy):
                    await face.acquire(NAME, ttl=0.1, wait=0.8)
                assert len(face.diary.of(JoinedQueue)) == 1
                await all_said(face)
            assert eyes.keys("*~*") == [b"~index"]

        face.play(scene())
        assert rival.release()

    @beside_redis_py
    def test_closing_while_somebody_waits_leaves_theirs_alone(self, face: Face, rival: Rival) -> None:
        assert rival.acquire(30)

        async def wait() -> None:
            with pytest.raises(Exception, match="closed"):
                await face.acquire(NAME)

        async def scene() -> None:
            waiter = face.start(wait())
            await face.seen(JoinedQueue)
            face.client.close()
            await waiter.finish()

        face.play(scene())
        assert rival.release()


class TestWhileWeHoldIt:
    @beside_each_rival_on_each_kind
    def test_they_cannot_take_it_until_it_is_released(self, face: Face, rival: Rival) -> None:
        async def scene() -> None:
            lease = await face.acquire(NAME)
            assert not rival.acquire(30)
            lease.ensure()
            await face.release(lease)
            assert rival.acquire(30)

        face.play(scene())
        assert rival.release()

    @beside_each_rival
    def test_one_of_them_who_waits_gets_in_after_our_release(self, face: Face, rival: Rival, eyes: redis.Redis) -> None:
        async def scene() -> None:
            lease = await face.acquire(NAME)
            before = asked(eyes)
            with ThreadPoolExecutor(1) as beside:
                theirs = beside.submit(rival.wait, 30)
                await face.happened(so(lambda: asked(eyes) > before + 1))  # more than once: it waits
                assert not theirs.done()
                await face.release(lease)
                assert theirs.result(LONG)

        face.play(scene())
        assert rival.release()

    @beside_each_rival
    def test_our_late_release_does_not_touch_what_is_theirs_by_now(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            lease = await face.acquire(NAME, ttl=0.1, renew=False)
            assert rival.wait(30)
            with untouched(eyes):
                with pytest.raises(LeaseLost):
                    await face.release(lease)
                await all_said(face)

        face.play(scene())
        assert rival.release()

    @beside_each_rival
    def test_a_lock_that_they_took_by_force_is_lost_and_left_to_them(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        """The keeper learns of it when it renews."""

        async def scene() -> None:
            lease = await face.acquire(NAME, ttl=0.6)
            take_by_force(rival, eyes)
            with untouched(eyes):
                await face.seen(Lost)
                with pytest.raises(LeaseLost):
                    await face.release(lease)
                await all_said(face)

        face.play(scene())
        assert rival.release()

    @beside_redis_py
    def test_neither_release_nor_force_touches_what_they_took_by_force(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            lease = await face.acquire(NAME)
            take_by_force(rival, eyes)
            with untouched(eyes):
                with pytest.raises(ChangedHands):
                    await face.force_release(NAME, fence=lease.fence)
                with pytest.raises(LeaseLost):
                    await face.release(lease)

        face.play(scene())
        assert rival.release()

    @beside_redis_py
    def test_closing_and_forgetting_leave_alone_what_they_took_by_force(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            leases = [await face.acquire(NAME)]
            take_by_force(rival, eyes)
            leases.clear()
            await face.seen(Abandoned)
            await all_said(face)
            leases.append(await face.acquire("other"))
            eyes.set("other", "theirs")

        face.play(scene())
        assert rival.release()
        assert eyes.get("other") == b"theirs"

    @beside_redis_py
    def test_redis_py_sees_that_it_is_held_by_somebody_else(
        self, face: Face, rival: RedisPy, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            assert rival.acquire(0.1)
            lease = await face.acquire(NAME, ttl=30, wait=LONG)
            assert rival.lock.locked()
            assert not rival.lock.owned()
            for use in (lambda: rival.lock.extend(60), rival.lock.reacquire):
                with pytest.raises(LockNotOwnedError):
                    use()
            assert 29_000 < int(eyes.pttl(NAME)) <= 30_000
            await face.release(lease)
            assert not rival.lock.locked()

        face.play(scene())


class TestSideBySide:
    @beside_each_rival_on_each_kind
    def test_nobody_is_inside_together(self, face: Face, rivals: Callable[[str], Rival], eyes: redis.Redis) -> None:
        """Ours hand the lock on among themselves; a rival polls, and may be last, but all get their turns."""
        count = [0]

        def theirs() -> None:
            rival = rivals(NAME)
            for _ in range(10):
                assert rival.wait(30)
                before = count[0]
                eyes.ping()
                count[0] = before + 1
                assert rival.release()

        async def ours() -> None:
            for _ in range(10):
                lease = await face.acquire(NAME, wait=2 * LONG)
                before = count[0]
                await face.inspect(NAME)
                count[0] = before + 1
                await face.release(lease)

        async def scene() -> None:
            with ThreadPoolExecutor(1) as beside:
                poller = beside.submit(theirs)
                workers = [face.start(ours()) for _ in range(3)]
                for worker in workers:
                    await worker.finish()
                assert len(face.diary.of(Acquired)) == 30
                await face.happened(so(poller.done))
                poller.result()

        face.play(scene())
        assert count == [40]

    @beside_redis_py
    @pytest.mark.parametrize("name", ["stock", "shop:{berlin}:stock", "Vorräte 42"])
    @pytest.mark.parametrize("namespace", ["", "shop"])
    def test_the_key_is_the_name_behind_its_namespace(
        self, rivals: Callable[[str], Rival], server_url: str, namespace: str, name: str
    ) -> None:
        face = BlockingFace(open_store(server_url), namespace=namespace)
        rival = rivals(f"{namespace}:{name}" if namespace else name)

        async def scene() -> None:
            assert rival.acquire(30)
            assert await face.try_acquire(name) is None
            assert rival.release()
            lease = await face.try_acquire(name)
            assert lease is not None
            assert not rival.acquire(30)
            await face.release(lease)
            assert rival.acquire(30)

        face.play(scene())
