"""Beside locks that several may hold, or one may enter again, no other program gets in, and we get in beside none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from dibs.model.asks import Busy, Granted, Queued, Said
from tests.servers.kinds import REDIS, VALKEY_8, VALKEY_9
from tests.stores.redis.asker import PLAIN, READER, REENTRANT, TTL, Asker, Kind
from tests.stores.redis.npm import Redlock
from tests.stores.redis.rivals import Bare, RedisPy, RedisPyAsyncio, Redisson, Rival
from tests.stores.redis.visits import FOREIGN

KEY = "n:a"
RIVALS = [
    *((VALKEY_9, rival) for rival in (RedisPy, RedisPyAsyncio, Bare, Redlock, Redisson)),
    *((kind, rival) for kind in (VALKEY_8, REDIS) for rival in (RedisPy, Redisson)),
]
beside_each = pytest.mark.parametrize(
    ("server_kind", "rivals"), RIVALS, ids=[f"{kind}-{rival.__name__}" for kind, rival in RIVALS], indirect=True
)
beside_redisson = pytest.mark.parametrize(("server_kind", "rivals"), [(VALKEY_9, Redisson)], ids=str, indirect=True)
of_each_kind = pytest.mark.parametrize("kind", [REENTRANT, READER], ids=["a reentrant lock", "a reader"])


@pytest.fixture
def rival(rivals: Callable[[str], Rival]) -> Rival:
    return rivals(KEY)


@beside_each
@of_each_kind
def test_they_do_not_get_in_before_the_last_of_us_has_left(asker: Asker, rival: Rival, kind: Kind) -> None:
    fence = asker.enter("ann", kind)
    assert not rival.acquire(30)
    assert asker.renew("ann", fence, depth=2) is Said.KEPT
    assert not rival.acquire(30)
    assert asker.leave("ann") is Said.RELEASED
    assert rival.acquire(30)
    assert rival.release()


@beside_each
@of_each_kind
def test_we_do_not_get_in_before_they_have_left(asker: Asker, rival: Rival, eyes: redis.Redis, kind: Kind) -> None:
    assert rival.acquire(30)
    theirs = eyes.dump(KEY)
    busy = asker.acquire("ann", kind, queue=False)
    assert isinstance(busy, Busy)
    assert (busy.held.who, busy.held.fence) == (FOREIGN, 0)
    assert 29 < busy.held.ttl_left <= 30
    queued = asker.acquire("ann", kind)
    assert isinstance(queued, Queued)
    assert queued.ask_again_in <= 0.25
    assert asker.hindered(("b", asker.wish("ann")), ("a", asker.wish("bob", kind))) == (1, FOREIGN, 1)
    assert asker.listed() == ["a"]
    assert eyes.dump(KEY) == theirs
    assert rival.release()
    assert isinstance(asker.keep_alive("ann"), Granted)


@beside_redisson
@pytest.mark.parametrize("mine", [PLAIN, REENTRANT, READER])
def test_a_hash_of_theirs_in_the_place_of_ours_is_theirs(
    asker: Asker, rival: Rival, eyes: redis.Redis, mine: Kind
) -> None:
    """Somebody has deleted our lock, and they were quick: there is as much in the hash as there was."""
    fence = asker.enter("ann", mine)
    eyes.delete(KEY)
    assert rival.acquire(30)
    theirs = eyes.dump(KEY)
    assert asker.renew("ann", fence, depth=mine[1]) is Said.GONE
    assert isinstance(asker.acquire("bob", queue=False), Busy)
    assert asker.who() == [FOREIGN]
    assert asker.leave("ann") is Said.GONE
    assert eyes.dump(KEY) == theirs
    assert rival.release()
    asker.enter("bob")


@beside_redisson
def test_a_hash_of_theirs_can_be_taken_away_by_the_fence_that_is_shown(asker: Asker, rival: Rival) -> None:
    assert rival.acquire(30)
    assert isinstance(asker.acquire("ann"), Queued)
    assert asker.evict(1) is Said.CHANGED
    assert asker.evict(0) is Said.EVICTED
    assert [push.owner for push in asker.told(1)] == ["ann"]
    assert not rival.acquire(30)


@beside_each
def test_who_deletes_a_shared_lock_lets_its_waiters_in(asker: Asker, rival: Rival, eyes: redis.Redis) -> None:
    fence = asker.enter("ann", REENTRANT, ttl=TTL)
    assert isinstance(asker.acquire("bob"), Queued)
    eyes.delete(KEY)
    assert isinstance(asker.keep_alive("bob"), Granted)
    assert not rival.acquire(30)
    assert asker.renew("ann", fence) is Said.GONE
