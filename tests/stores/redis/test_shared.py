"""Locks that several may hold, or one may enter again: what a server keeps of them, and what is done to it by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
import redis

from dibs.model.asks import Busy, Granted, Queued, Said
from tests.chaos.moments import so
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.stores.redis.asker import PERMIT, PLAIN, READER, REENTRANT, TTL, Asker, Kind
from tests.stores.redis.visits import FOREIGN

KEY, HOLDERS, LEASES = "n:a", "{n:a}~holders", "{n:a}~leases"
FOR_GOOD = {b"n:~fence", b"n:~index"}
OF_EVERY_KIND = pytest.mark.parametrize(
    "kind", [REENTRANT, PERMIT, READER], ids=["a reentrant lock", "a permit", "a reader"]
)


class TestWhatIsKept:
    def test_a_hash_shows_who_has_entered_and_how_often(self, asker: Asker, eyes: redis.Redis) -> None:
        fence = asker.enter("ann", REENTRANT)
        assert eyes.hgetall(KEY) == {b"ann": b"1"}
        assert asker.renew("ann", fence, depth=3) is Said.KEPT
        assert eyes.hgetall(KEY) == {b"ann": b"3"}
        [held] = asker.seen().holders
        assert (held.who, held.depth, held.fence) == ("ann", 3, fence)
        assert asker.leave("ann") is Said.RELEASED
        assert set(eyes.keys()) == {b"n:~fence"}

    def test_all_who_share_it_are_in_it(self, asker: Asker, eyes: redis.Redis) -> None:
        fences = [asker.enter(owner) for owner in ("ann", "bob", "cid")]
        assert fences == sorted(set(fences))
        assert eyes.hgetall(KEY) == {b"ann": b"1", b"bob": b"1", b"cid": b"1"}
        assert asker.who() == ["ann", "bob", "cid"]
        assert [held.fence for held in asker.seen().holders] == fences
        for owner in ("bob", "ann", "cid"):
            assert asker.leave(owner) is Said.RELEASED
        assert set(eyes.keys()) == {b"n:~fence"}

    @OF_EVERY_KIND
    def test_all_of_it_lasts_as_long_as_the_longest_lease(self, asker: Asker, eyes: redis.Redis, kind: Kind) -> None:
        fence = asker.enter("ann", kind, ttl=20)
        lasts(eyes, 20)
        assert asker.renew("ann", fence, ttl=40) is Said.KEPT
        lasts(eyes, 40)
        assert asker.renew("ann", fence, ttl=10) is Said.KEPT
        lasts(eyes, 10)

    def test_it_lasts_no_longer_once_the_longest_has_left(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.enter("ann", ttl=20)
        asker.enter("bob", ttl=60)
        lasts(eyes, 60)
        asker.leave("bob")
        lasts(eyes, 20)

    def test_it_is_listed_until_the_last_lease_ends(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.enter("ann", ttl=60)
        asker.enter("bob", ttl=20)
        until = eyes.zscore("n:~index", KEY)
        assert isinstance(until, float)
        assert 59 < until / 1e6 - asker.now() <= 60
        asker.leave("bob")
        assert asker.listed() == ["a"]
        asker.leave("ann")
        assert asker.listed() == []

    def test_a_plain_mutex_is_a_text_as_ever(self, asker: Asker, eyes: redis.Redis) -> None:
        fence = asker.enter("ann", PLAIN)
        assert eyes.get(KEY) == (f"ann\n1\n{fence}\n{TTL * 1000:.0f}\n{fence}\n{asker.channel}\nann\n".encode())
        assert set(eyes.keys()) == {KEY.encode(), *FOR_GOOD}

    def test_what_is_kept_of_a_holder_has_a_format(self, asker: Asker, eyes: redis.Redis) -> None:
        fence = asker.enter("ann", PERMIT)
        told = f"1\n{fence}\n{TTL * 1000:.0f}\n{fence}\n{asker.channel}\nann\n"
        assert eyes.hgetall(HOLDERS) == {b"ann": f"2\n{told}".encode(), b"": b"2"}

    def test_who_has_a_later_format_is_let_alone(self, asker: Asker, eyes: redis.Redis) -> None:
        fence = asker.enter("ann")
        eyes.hset(HOLDERS, "ann", "1000000\n2\nwho knows")
        assert asker.seen().holders[0].who == FOREIGN
        assert isinstance(asker.acquire("bob", queue=False), Granted)  # its room is not known, that of all of them is
        assert asker.renew("ann", fence) is Said.GONE


class TestWhoFits:
    def test_the_narrowest_decides_and_when_it_leaves_the_next(self, asker: Asker) -> None:
        for owner, room in {"ann": 4, "bob": 2}.items():
            asker.enter(owner, (room, 1))
        assert isinstance(asker.acquire("cid", (4, 1), queue=False), Busy)
        asker.leave("bob")
        asker.enter("cid", (4, 1))
        asker.enter("dan", (4, 1))
        assert asker.who() == ["ann", "cid", "dan"]

    def test_a_lease_that_has_ended_makes_room_while_others_go_on(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.enter("ann", PERMIT, ttl=0.05)
        asker.enter("bob", PERMIT)
        assert isinstance(asker.acquire("cid", PERMIT), Queued)
        assert so(lambda: asker.who() == ["bob"]).wait(5)
        assert eyes.hlen(KEY) == 2, "to look changes nothing"
        assert isinstance(asker.keep_alive("cid"), Granted)
        assert eyes.hgetall(KEY) == {b"bob": b"1", b"cid": b"1"}
        assert asker.who() == ["bob", "cid"]

    def test_all_who_fit_are_let_in_when_a_writer_leaves(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.enter("ann", REENTRANT)
        readers = [f"reader-{number}" for number in range(70)]
        for reader in readers:
            assert isinstance(asker.acquire(reader), Queued)
        assert isinstance(asker.acquire("zoe", REENTRANT), Queued)
        asker.leave("ann")
        assert [push.owner for push in asker.told(70)] == readers
        assert asker.who() == readers
        assert [waiter.who for waiter in asker.seen().waiters] == ["zoe"]
        asker.leave("zoe")
        assert set(eyes.keys()) == {KEY.encode(), HOLDERS.encode(), LEASES.encode(), *FOR_GOOD}

    def test_nothing_is_left_of_a_queue_that_all_have_been_served_from(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.enter("ann", PLAIN)
        for owner in ("bob", "cid"):
            assert isinstance(asker.acquire(owner), Queued)
        asker.leave("ann")
        assert asker.who() == ["bob", "cid"]
        assert set(eyes.keys()) == {KEY.encode(), HOLDERS.encode(), LEASES.encode(), *FOR_GOOD}

    def test_a_waiter_that_nobody_listens_for_stops_nobody(self, asker: Asker) -> None:
        asker.enter("ann")
        assert isinstance(asker.acquire("bob", REENTRANT, channel="nobody"), Queued)
        asker.enter("cid")
        assert isinstance(asker.acquire("dan", REENTRANT), Queued)
        assert isinstance(asker.acquire("eve"), Queued)

    def test_a_clock_that_stands_still_gives_rising_fences(self, asker: Asker, eyes: redis.Redis) -> None:
        ahead = int((asker.now() + 1000) * 1e6)
        eyes.set("n:~fence", ahead)
        assert [asker.enter(owner) for owner in ("ann", "bob", "cid")] == [ahead + 1, ahead + 2, ahead + 3]

    def test_one_of_several_is_taken_away_by_its_fence(self, asker: Asker, eyes: redis.Redis) -> None:
        fences = {owner: asker.enter(owner, PERMIT) for owner in ("ann", "bob")}
        assert isinstance(asker.acquire("cid", PERMIT), Queued)
        assert asker.evict(fences["ann"] - 1) is Said.CHANGED
        assert asker.evict(fences["ann"]) is Said.EVICTED
        assert [(push.owner, push.kind) for push in asker.told(2)] == [("ann", "evicted"), ("cid", "handed")]
        assert asker.renew("ann", fences["ann"]) is Said.GONE
        assert asker.who() == ["bob", "cid"]


@on_valkey_9
class TestWhatIsDoneByHand:
    @OF_EVERY_KIND
    def test_a_deleted_lock_is_nobody_s(self, asker: Asker, eyes: redis.Redis, kind: Kind) -> None:
        fence = asker.enter("ann", kind)
        assert eyes.delete(KEY) == 1
        assert asker.seen().state == "free"
        assert asker.listed() == []
        assert asker.renew("ann", fence) is Said.GONE
        assert asker.leave("ann") is Said.GONE
        assert isinstance(asker.acquire("bob", kind), Granted)
        assert eyes.hgetall(KEY) == {b"bob": b"1"}

    @OF_EVERY_KIND
    @pytest.mark.parametrize("after", [PLAIN, REENTRANT, READER])
    def test_who_was_deleted_is_told_though_others_have_come_since(
        self, asker: Asker, eyes: redis.Redis, kind: Kind, after: Kind
    ) -> None:
        fence = asker.enter("ann", kind)
        eyes.delete(KEY)
        later = asker.enter("bob", after)
        assert later > fence
        assert asker.renew("ann", fence) is Said.GONE
        assert asker.leave("ann") is Said.GONE
        assert asker.who() == ["bob"]
        assert asker.renew("bob", later, depth=after[1]) is Said.KEPT
        assert asker.leave("bob") is Said.RELEASED
        assert asker.seen().state == "free"
        assert isinstance(asker.acquire("cid", kind), Granted)
        assert asker.leave("cid") is Said.RELEASED
        assert set(eyes.keys()) == {b"n:~fence"}

    def test_a_waiter_gets_in_when_it_asks_again(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.enter("ann", REENTRANT)
        assert isinstance(asker.acquire("bob"), Queued)
        eyes.delete(KEY)
        assert isinstance(asker.keep_alive("bob"), Granted)
        assert asker.who() == ["bob"]

    @pytest.mark.parametrize("part", [HOLDERS, LEASES])
    @OF_EVERY_KIND
    def test_what_is_beside_it_is_deleted(self, asker: Asker, eyes: redis.Redis, kind: Kind, part: str) -> None:
        fence = asker.enter("ann", kind)
        assert eyes.delete(part) == 1
        assert asker.who() == [FOREIGN]
        assert isinstance(asker.acquire("bob", kind, queue=False), Busy)
        assert asker.renew("ann", fence) is Said.GONE
        assert isinstance(asker.acquire("bob", kind), Queued)
        assert asker.leave("ann") is Said.GONE
        assert asker.who() == ["bob"]
        asker.leave("bob")
        assert set(eyes.keys()) == {b"n:~fence"}

    @pytest.mark.parametrize("part", [HOLDERS, LEASES])
    def test_what_is_beside_it_is_deleted_and_it_can_be_taken_away(
        self, asker: Asker, eyes: redis.Redis, part: str
    ) -> None:
        asker.enter("ann")
        eyes.delete(part)
        assert asker.evict(asker.seen().holders[0].fence) is Said.EVICTED
        asker.enter("bob", PLAIN)

    def test_whoever_is_written_into_it_is_another_program(self, asker: Asker, eyes: redis.Redis) -> None:
        fence = asker.enter("ann")
        eyes.hset(KEY, "somebody", "1")
        assert asker.who() == [FOREIGN]
        assert isinstance(asker.acquire("bob", queue=False), Busy)
        assert asker.renew("ann", fence) is Said.GONE
        assert asker.leave("ann") is Said.GONE
        assert eyes.hgetall(KEY) == {b"somebody": b"1"}
        assert asker.who() == [FOREIGN]

    def test_one_is_removed_from_it(self, asker: Asker, eyes: redis.Redis) -> None:
        fences = {owner: asker.enter(owner) for owner in ("ann", "bob")}
        eyes.hdel(KEY, "ann")
        for owner, fence in fences.items():
            assert asker.renew(owner, fence) is Said.GONE
        asker.leave("bob")
        assert set(eyes.keys()) == {b"n:~fence"}

    @OF_EVERY_KIND
    def test_one_that_has_run_out_is_nobody_s(self, asker: Asker, eyes: redis.Redis, kind: Kind) -> None:
        fence = asker.enter("ann", kind, ttl=0.05)
        assert so(lambda: asker.seen().state == "free").wait(5)
        assert asker.renew("ann", fence) is Said.GONE
        assert asker.leave("ann") is Said.GONE
        assert so(lambda: set(eyes.keys()) <= FOR_GOOD).wait(5)
        assert asker.enter("bob", kind) > fence

    def test_one_that_is_kept_for_ever_ends_all_the_same(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.enter("ann", ttl=0.05)
        eyes.persist(KEY)
        eyes.persist(HOLDERS)
        eyes.persist(LEASES)
        assert so(lambda: asker.seen().state == "free").wait(5)
        asker.enter("bob", PLAIN)
        assert asker.leave("bob") is Said.RELEASED


@on_valkey_9
@pytest.mark.parametrize("colour", ["blocking", "asyncio"])
@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random"])
def test_whichever_part_of_it_is_evicted_its_holder_is_told(
    start_server: Callable[..., Server], colour: Literal["blocking", "asyncio"], policy: str
) -> None:
    server = start_server("maxmemory 8mb", f"maxmemory-policy {policy}", "maxmemory-samples 1")
    asker = Asker(server.url, colour)
    fence = asker.enter("ann")
    for number in range(10_000):
        if server.ask("EXISTS", KEY, HOLDERS, LEASES) < 3:
            break
        server.ask("SET", f"ballast-{number}", "x" * 50_000)
    server.ask("CONFIG", "SET", "maxmemory", "0")
    assert asker.renew("ann", fence) is Said.GONE
    assert asker.leave("ann") in {Said.GONE, Said.RELEASED}
    assert asker.enter("bob", PLAIN) > fence
    asker.close()


def lasts(eyes: redis.Redis, seconds: float) -> None:
    """All that is kept of the holders ends then."""
    for key in (KEY, HOLDERS, LEASES):
        left = eyes.pttl(key)
        assert isinstance(left, int)
        assert seconds - 1 < left / 1000 <= seconds
