"""Whatever another program has put at a lock's key counts as held, is not changed, and is waited for."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
import redis

from dibs import LockBusy
from dibs.events import JoinedQueue
from dibs.testing.contract.faces import Face
from tests.chaos.moments import LONG, ends_within
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.stores.redis.visits import FOREIGN, NAME, SOON, visit

Put = Callable[[redis.Redis, str], object]


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
            with pytest.raises(LockBusy, match=FOREIGN) as busy:
                await face.acquire(NAME, wait=0.3)
            seen = await face.inspect(NAME)
            assert seen.state == "held"
            assert seen.held is not None
            assert (seen.held.who, seen.held.fence, seen.held.purpose) == (FOREIGN, 0, "")
            for left in (busy.value.ttl_left, seen.held.ttl_left):
                assert left == inf if put in WITHOUT_AN_END else 29 < left <= 30
            assert (eyes.dump(NAME), eyes.pexpiretime(NAME)) == (theirs, ends)

        face.play(scene())

    @on_valkey_9
    def test_a_waiter_gets_in_soon_after_it_is_deleted(self, face: Face, eyes: redis.Redis, put: Put) -> None:
        async def scene() -> None:
            put(eyes, NAME)
            theirs = eyes.dump(NAME)
            waiter = face.start(visit(face))
            [joined] = await face.seen(JoinedQueue)
            assert joined.holder == FOREIGN
            [listed] = await face.locks()
            assert listed.name == NAME
            assert listed.held is not None
            assert listed.held.who == FOREIGN
            assert len(listed.waiters) == 1
            assert eyes.dump(NAME) == theirs
            with ends_within(SOON):
                eyes.delete(NAME)
                await waiter.finish()

        face.play(scene())


@on_valkey_9
@pytest.mark.parametrize("text", ["x\n1\nfoo", "x\n1\na\nb\nc\nd\ne\nf", "\n1\n"])
def test_a_text_that_resembles_ours_is_another_program_s(face: Face, server: Server, text: str) -> None:
    async def scene() -> None:
        server.ask("SET", NAME, text, "PX", "30000")
        assert await face.try_acquire(NAME) is None
        with pytest.raises(LockBusy, match=FOREIGN):
            await face.acquire(NAME, wait=0.3)
        for view in (await face.inspect(NAME), *await face.locks()):
            assert view.held is not None
            assert (view.name, view.held.who, view.held.fence) == (NAME, FOREIGN, 0)

    face.play(scene())


@on_valkey_9
def test_another_program_s_lock_can_be_taken_away_by_the_fence_that_is_shown(face: Face, server: Server) -> None:
    async def scene() -> None:
        server.ask("SET", NAME, "theirs")
        seen = (await face.inspect(NAME)).held
        assert seen is not None
        assert seen.fence == 0
        assert await face.force_release(NAME, fence=seen.fence)
        await face.release(await face.acquire(NAME, wait=LONG))

    face.play(scene())
