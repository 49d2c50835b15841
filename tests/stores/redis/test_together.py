"""Several locks at once: all or none, and of none no trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

from dibs.model.asks import Acquire, Hindrance, Queued, Said
from tests.chaos.moments import so
from tests.stores.redis.asker import PERMIT, PLAIN, READER, REENTRANT, Asker, Kind
from tests.stores.redis.visits import FOREIGN

OF_EVERY_KIND = pytest.mark.parametrize(
    "kind", [PLAIN, REENTRANT, PERMIT, READER], ids=["a mutex", "a reentrant lock", "a permit", "a reader"]
)


@contextmanager
def unchanged(eyes: redis.Redis) -> Iterator[None]:
    """All that the server keeps is the same at the end of the block, and for as long."""
    before = picture(eyes)
    yield
    assert picture(eyes) == before


def picture(eyes: redis.Redis) -> dict[str, tuple[object, object]]:
    found: Any = eyes.keys()
    keys = [key.decode() for key in found]
    return {key: (eyes.dump(key), eyes.pexpiretime(key)) for key in keys}


@OF_EVERY_KIND
def test_all_are_had_at_once_with_rising_fences(asker: Asker, eyes: redis.Redis, kind: Kind) -> None:
    asks = [(name, asker.wish("ann", kind)) for name in ("a", "b", "c")]
    fences = asker.together(*asks)
    assert len(fences) == 3
    assert fences == sorted(set(fences))
    assert asker.listed() == ["a", "b", "c"]
    for name in ("a", "b", "c"):
        assert asker.leave("ann", name=name) is Said.RELEASED
    assert set(eyes.keys()) == {b"n:~fence"}


@OF_EVERY_KIND
def test_asked_again_by_the_same_owner_they_have_the_same_fences(asker: Asker, kind: Kind) -> None:
    asks = [(name, asker.wish("ann", kind)) for name in ("a", "b")]
    assert asker.together(*asks) == asker.together(*asks)


@OF_EVERY_KIND
def test_if_one_is_held_nothing_has_happened(asker: Asker, eyes: redis.Redis, kind: Kind) -> None:
    asker.enter("ann", REENTRANT, name="b")
    with unchanged(eyes):
        hindered = asker.hindered(*((name, asker.wish("bob", kind)) for name in ("a", "b", "c")))
    assert hindered == (1, "ann", 0)


def test_if_one_is_asked_for_too_late_nothing_has_happened(asker: Asker, eyes: redis.Redis) -> None:
    late = Acquire("ann", 30, 1.0, asker.channel, "ann")
    with unchanged(eyes):
        answer = asker.ask(asker.locks.acquire_all([("a", asker.wish("ann")), ("b", late)]))
    assert answer == Hindrance(1, Said.REFUSED)


def test_who_waits_is_not_passed(asker: Asker, eyes: redis.Redis) -> None:
    asker.enter("ann")
    assert isinstance(asker.acquire("bob", REENTRANT), Queued)
    with unchanged(eyes):
        hindered = asker.hindered(("b", asker.wish("cid")), ("a", asker.wish("cid")))
    assert hindered == (1, "ann", 1)


def test_who_waits_already_gets_in_as_it_has_asked_first(asker: Asker, eyes: redis.Redis) -> None:
    asker.enter("ann", PERMIT)
    assert isinstance(asker.acquire("bob", PLAIN), Queued)
    with unchanged(eyes):
        hindered = asker.hindered(("a", asker.wish("bob", PERMIT)), ("b", asker.wish("bob")))
    assert hindered == (0, "ann", 0)


def test_who_waits_and_is_not_listened_for_is_passed(asker: Asker) -> None:
    asker.enter("ann")
    assert isinstance(asker.acquire("bob", REENTRANT, channel="nobody"), Queued)
    asker.together(("b", asker.wish("cid")), ("a", asker.wish("cid")))
    assert asker.who() == ["ann", "cid"]


def test_one_who_listens_to_every_channel_is_not_taken_for_a_waiter(asker: Asker, eyes: redis.Redis) -> None:
    """The two ways to ask a server who listens do not agree on it: one of them has to decide for both steps."""
    ear: Any = eyes.pubsub()  # type: ignore[no-untyped-call]
    ear.psubscribe("*")
    assert so(lambda: eyes.pubsub_numpat() == 1).wait(5)
    asker.enter("ann", PLAIN)
    assert isinstance(asker.acquire("bob", PLAIN, channel="nobody"), Queued)
    eyes.delete("n:a")
    asker.together(("b", asker.wish("cid", PLAIN)), ("a", asker.wish("cid", PLAIN)))
    assert asker.who() == ["cid"]
    ear.close()


def test_those_before_us_are_let_in_with_us(asker: Asker, eyes: redis.Redis) -> None:
    """Nobody has asked since the holder died."""
    asker.enter("ann", PLAIN)
    assert isinstance(asker.acquire("bob"), Queued)
    eyes.delete("n:a")
    asker.together(("b", asker.wish("cid")), ("a", asker.wish("cid")))
    assert [push.owner for push in asker.told(1)] == ["bob"]
    assert asker.who() == ["bob", "cid"]


def test_those_before_us_are_not_let_in_if_we_are_not(asker: Asker, eyes: redis.Redis) -> None:
    asker.enter("ann", PLAIN)
    assert isinstance(asker.acquire("bob"), Queued)
    eyes.delete("n:a")
    with unchanged(eyes):
        hindered = asker.hindered(("b", asker.wish("cid")), ("a", asker.wish("cid", REENTRANT)))
    assert hindered == (1, "bob", 0), "as it would be"
    assert asker.told(0) == []


def test_of_one_that_has_run_out_nothing_is_dropped_for_nothing(asker: Asker, eyes: redis.Redis) -> None:
    asker.enter("ann", PERMIT, ttl=0.05)
    asker.enter("bob", PERMIT)
    asker.enter("zoe", PLAIN, name="b")
    assert so(lambda: asker.who() == ["bob"]).wait(5)
    with unchanged(eyes):
        assert asker.hindered(("a", asker.wish("cid", PERMIT)), ("b", asker.wish("cid"))) == (1, "zoe", 0)
    assert asker.leave("zoe", name="b") is Said.RELEASED
    assert len(asker.together(("a", asker.wish("cid", PERMIT)), ("b", asker.wish("cid")))) == 2
    assert asker.who() == ["bob", "cid"]


def test_another_program_s_lock_is_not_to_be_had(asker: Asker, eyes: redis.Redis) -> None:
    eyes.set("n:b", "theirs", px=30_000)
    with unchanged(eyes):
        hindered = asker.hindered(("a", asker.wish("ann")), ("b", asker.wish("ann")))
    assert hindered == (1, FOREIGN, 0)
