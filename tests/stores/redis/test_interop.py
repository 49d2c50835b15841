"""Other programs lock the same keys in their own way, and neither side ever takes or removes what the other holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from time import monotonic
from typing import cast

import pytest
import redis
from redis.exceptions import LockNotOwnedError

from dibs import ChangedHands, LeaseLost, LockBusy
from dibs.events import Abandoned, Acquired, JoinedQueue, Lost
from dibs.stores.redis import open_store
from dibs.testing.contract.faces import AsyncFace, BlockingFace, Face, Started
from tests.servers.kinds import REDIS, VALKEY_8, VALKEY_9, Kind
from tests.servers.ports import HOST
from tests.servers.server import Server
from tests.stores.redis.npm import Node, Redlock, missing
from tests.stores.redis.rivals import LONG, Bare, RedisPy, RedisPyAsyncio, Rival, so

NAME = "stock"
FOREIGN = "another program, not by dibs"
SOON = 1.0
"""How long a waiter may take to see that another program, which tells nobody, has gone."""

Put = Callable[[redis.Redis, str], object]

EACH: list[tuple[Kind, type]] = [
    (VALKEY_9, RedisPy),
    (VALKEY_9, RedisPyAsyncio),
    (VALKEY_9, Bare),
    (VALKEY_9, Redlock),
    (VALKEY_8, RedisPy),
    (REDIS, RedisPy),
]
beside_each_rival = pytest.mark.parametrize(
    ("server_kind", "rivals"), EACH, ids=[f"{kind}-{rival.__name__}" for kind, rival in EACH], indirect=True
)
beside_redis_py = pytest.mark.parametrize(
    ("server_kind", "rivals"), [(VALKEY_9, RedisPy)], ids=["valkey-9"], indirect=True
)
on_valkey_9 = pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)


@pytest.fixture(params=[BlockingFace, AsyncFace], ids=["blocking", "asyncio"])
def faces(request: pytest.FixtureRequest, server_url: str) -> Callable[[], Face]:
    """Makes clients that keep a lock under its bare name."""
    return lambda: cast("Face", request.param(open_store(server_url), namespace=""))


@pytest.fixture
def face(faces: Callable[[], Face]) -> Face:
    return faces()


@pytest.fixture
def eyes(server: Server) -> Iterator[redis.Redis]:
    """To see, and to do, what no program should."""
    with redis.Redis(host=HOST, port=server.port) as client:
        yield client


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Node]:
    mine = tmp_path_factory.getbasetemp()
    folder: Path = (mine if worker_id == "master" else mine.parent) / "npm"
    if why := missing(folder):
        pytest.skip(why)
    program = Node(folder)
    yield program
    program.close()


@pytest.fixture
def rivals(request: pytest.FixtureRequest, server: Server) -> Iterator[Callable[[str], Rival]]:
    """Makes a program of one kind that locks a key."""
    made: list[Rival] = []

    def make(key: str) -> Rival:
        known = (request.getfixturevalue("node"),) if request.param is Redlock else ()
        made.append(request.param(*known, server.port, key))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def rival(rivals: Callable[[str], Rival]) -> Rival:
    return rivals(NAME)


async def visit(face: Face, came_in_at: list[float]) -> None:
    """Wait for the lock, note when it was had, and give it back."""
    lease = await face.acquire(NAME, wait=LONG)
    came_in_at.append(monotonic())
    await face.release(lease)


async def all_said(face: Face) -> None:
    """Wait until nothing is owed: whatever was to be left has been left."""
    await face.happened(so(lambda: not face.client._engine.desk.debts))


class TestWhileTheyHoldIt:
    @beside_each_rival
    def test_it_is_not_taken_and_said_to_be_another_program_s(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            assert rival.acquire(30)
            theirs = eyes.get(NAME)
            assert await face.try_acquire(NAME) is None
            with pytest.raises(LockBusy, match=f"'stock' is held by {FOREIGN}") as busy:
                await face.acquire(NAME, wait=0.05)
            assert (busy.value.holder, busy.value.fence) == (FOREIGN, 0)
            assert 29 < busy.value.ttl_left <= 30
            seen = await face.inspect(NAME)
            assert seen.state == "held"
            assert seen.held is not None
            assert seen.held.who == FOREIGN
            assert seen.waiters == ()
            assert eyes.get(NAME) == theirs

        face.play(scene())
        assert rival.release()

    @beside_each_rival
    def test_a_waiter_gets_in_soon_after_their_release(self, face: Face, rival: Rival) -> None:
        came_in_at: list[float] = []

        async def scene() -> None:
            assert rival.acquire(30)
            waiter = face.start(visit(face, came_in_at))
            await face.seen(JoinedQueue)
            released_at = monotonic()
            assert rival.release()
            await waiter.finish()
            assert came_in_at[0] - released_at < SOON

        face.play(scene())

    @beside_each_rival
    def test_a_waiter_gets_in_soon_after_their_ttl_and_not_before(self, face: Face, rival: Rival) -> None:
        came_in_at: list[float] = []

        async def scene() -> None:
            asked_at = monotonic()
            assert rival.acquire(0.3)
            took_at = monotonic()
            await visit(face, came_in_at)
            assert asked_at + 0.3 <= came_in_at[0] < took_at + 0.3 + SOON

        face.play(scene())

    @beside_each_rival
    def test_their_late_release_does_not_touch_what_is_ours_by_now(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            assert rival.acquire(0.1)
            lease = await face.acquire(NAME, wait=LONG)
            ours = eyes.get(NAME)
            assert not rival.release()
            assert eyes.get(NAME) == ours
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
    def test_the_second_gets_in_when_the_first_has_given_up(self, face: Face, rival: Rival) -> None:
        came_in_at: list[float] = []

        async def give_up() -> None:
            with pytest.raises(LockBusy):
                await face.acquire(NAME, wait=0.2)

        async def scene() -> None:
            assert rival.acquire(30)
            first = face.start(give_up())
            await face.seen(JoinedQueue)
            second = face.start(visit(face, came_in_at))
            await face.seen(JoinedQueue, times=2)
            await first.finish()
            released_at = monotonic()
            assert rival.release()
            await second.finish()
            assert came_in_at[0] - released_at < 2 + SOON

        face.play(scene())

    @beside_redis_py
    def test_waiting_asks_a_few_times_a_second_and_no_more(self, face: Face, rival: Rival, eyes: redis.Redis) -> None:
        def asked() -> int:
            return sum(each["calls"] for name, each in eyes.info("commandstats").items() if "evalsha" in name)

        async def scene() -> None:
            assert rival.acquire(30)
            assert await face.try_acquire(NAME) is None
            before = asked()
            with pytest.raises(LockBusy):
                await face.acquire(NAME, wait=1)
            assert 3 <= asked() - before <= 8

        face.play(scene())

    @beside_redis_py
    def test_a_waiter_keeps_its_ticket_and_leaves_theirs_alone(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        """Its ticket is kept for many times its TTL, and then left."""

        async def scene() -> None:
            assert rival.acquire(30)
            theirs = eyes.get(NAME)
            with pytest.raises(LockBusy):
                await face.acquire(NAME, ttl=0.1, wait=0.8)
            assert len(face.diary.of(JoinedQueue)) == 1
            await all_said(face)
            assert eyes.get(NAME) == theirs
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
    @beside_each_rival
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
    def test_one_of_them_who_waits_gets_in_after_our_release(self, face: Face, rival: Rival) -> None:
        async def scene() -> None:
            lease = await face.acquire(NAME)
            with ThreadPoolExecutor(1) as beside:
                theirs = beside.submit(rival.wait, 30)
                await face.extend(lease)
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
            theirs = eyes.get(NAME)
            with pytest.raises(LeaseLost):
                await face.release(lease)
            await all_said(face)
            assert eyes.get(NAME) == theirs

        face.play(scene())
        assert rival.release()

    @beside_each_rival
    def test_a_lock_that_they_took_by_force_is_lost_and_left_to_them(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        """The keeper learns of it when it renews."""

        async def scene() -> None:
            lease = await face.acquire(NAME, ttl=0.6)
            eyes.delete(NAME)
            assert rival.acquire(30)
            theirs = eyes.get(NAME)
            await face.seen(Lost)
            with pytest.raises(LeaseLost):
                await face.release(lease)
            await all_said(face)
            assert eyes.get(NAME) == theirs

        face.play(scene())
        assert rival.release()

    @beside_redis_py
    def test_neither_release_nor_force_touches_what_they_took_by_force(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            lease = await face.acquire(NAME)
            eyes.delete(NAME)
            assert rival.acquire(30)
            theirs = eyes.get(NAME)
            with pytest.raises(ChangedHands):
                await face.force_release(NAME, fence=lease.fence)
            with pytest.raises(LeaseLost):
                await face.release(lease)
            assert eyes.get(NAME) == theirs

        face.play(scene())
        assert rival.release()

    @beside_redis_py
    def test_closing_and_forgetting_leave_alone_what_they_took_by_force(
        self, face: Face, rival: Rival, eyes: redis.Redis
    ) -> None:
        async def scene() -> None:
            leases = [await face.acquire(NAME)]
            eyes.delete(NAME)
            assert rival.acquire(30)
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
    @beside_each_rival
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


def a_redisson_lock(client: redis.Redis, key: str) -> object:
    """Held twice by one of its threads."""
    client.hset(key, "285475da-9152-4c83-822a-67ee2f116a79:52", "2")
    return client.pexpire(key, 30_000)


def a_list(client: redis.Redis, key: str) -> object:
    client.rpush(key, "theirs")
    return client.pexpire(key, 30_000)


def a_set(client: redis.Redis, key: str) -> object:
    client.sadd(key, "theirs")
    return client.pexpire(key, 30_000)


def a_text_of_bytes(client: redis.Redis, key: str) -> object:
    return client.set(key, b"\xff\x00\r\n\n\n1", px=30_000)


def an_empty_text(client: redis.Redis, key: str) -> object:
    return client.set(key, b"", px=30_000)


def a_lock_without_end(client: redis.Redis, key: str) -> object:
    return client.set(key, "theirs", nx=True)


def a_redisson_lock_without_end(client: redis.Redis, key: str) -> object:
    return client.hset(key, "285475da-9152-4c83-822a-67ee2f116a79:52", "1")


WITH_AN_END: list[Put] = [a_redisson_lock, a_list, a_set, a_text_of_bytes, an_empty_text]
WITHOUT_AN_END: list[Put] = [a_lock_without_end, a_redisson_lock_without_end]


@pytest.mark.parametrize("put", [*WITH_AN_END, *WITHOUT_AN_END], ids=lambda put: put.__name__)
class TestWhateverIsThere:
    def test_it_counts_as_held_and_is_not_changed(self, face: Face, eyes: redis.Redis, put: Put) -> None:
        async def scene() -> None:
            put(eyes, NAME)
            theirs, ends = eyes.dump(NAME), eyes.pexpiretime(NAME)
            assert await face.try_acquire(NAME) is None
            if put in WITH_AN_END:
                with pytest.raises(LockBusy, match=FOREIGN):
                    await face.acquire(NAME, wait=0.05)
            seen = await face.inspect(NAME)
            assert seen.state == "held"
            assert seen.held is not None
            assert (seen.held.who, seen.held.fence, seen.held.purpose) == (FOREIGN, 0, "")
            assert seen.held.ttl_left == inf if put in WITHOUT_AN_END else 29 < seen.held.ttl_left <= 30
            assert (eyes.dump(NAME), eyes.pexpiretime(NAME)) == (theirs, ends)

        face.play(scene())

    @on_valkey_9
    def test_a_waiter_gets_in_soon_after_it_is_deleted(self, face: Face, eyes: redis.Redis, put: Put) -> None:
        came_in_at: list[float] = []

        async def scene() -> None:
            put(eyes, NAME)
            theirs = eyes.dump(NAME)
            waiter = face.start(visit(face, came_in_at))
            [joined] = await face.seen(JoinedQueue)
            assert joined.holder == FOREIGN
            [listed] = await face.locks()
            assert listed.name == NAME
            assert listed.held is not None
            assert listed.held.who == FOREIGN
            assert len(listed.waiters) == 1
            assert eyes.dump(NAME) == theirs
            deleted_at = monotonic()
            eyes.delete(NAME)
            await waiter.finish()
            assert came_in_at[0] - deleted_at < SOON

        face.play(scene())
