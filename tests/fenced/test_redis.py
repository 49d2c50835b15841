"""A late holder's write to a key is refused, by every kind of client and on every kind of server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
import redis
import redis.asyncio

import dibs
from dibs import ConfigError, StaleFence, fenced
from tests.fenced.places import Holder
from tests.servers.fixtures import on_valkey_9
from tests.servers.ports import HOST
from tests.servers.server import Server

Do = Callable[[int, Callable[[Any], Any]], Any]

WAYS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "redis": (redis.Redis, {}),
    "redis-decoding": (redis.Redis, {"decode_responses": True}),
    "redis-resp2": (redis.Redis, {"protocol": 2}),
    "redis-resp3": (redis.Redis, {"protocol": 3}),
    "asyncio": (redis.asyncio.Redis, {}),
    "asyncio-decoding": (redis.asyncio.Redis, {"decode_responses": True}),
}
if find_spec("valkey"):  # it comes with a server, where there is a wheel of one
    WAYS["valkey"] = (import_module("valkey").Valkey, {})


@pytest.fixture
def eyes(server: Server) -> Iterator[redis.Redis]:
    with redis.Redis(host=HOST, port=server.port) as client:
        yield client


@pytest.fixture(params=WAYS)
def do(request: pytest.FixtureRequest, server: Server) -> Do:
    """Write something under a fence."""
    library, options = WAYS[request.param]

    def write(fence: int, act: Callable[[Any], Any], **terms: Any) -> Any:
        client = library(host=HOST, port=server.port, **options)
        if library is redis.asyncio.Redis:
            return asyncio.run(_awaited(client, fence, act, terms))
        with client:
            return act(fenced.redis(client, Holder(fence), **terms))

    return write


async def _awaited(client: Any, fence: int, act: Callable[[Any], Any], terms: dict[str, Any]) -> Any:
    async with client:
        return await act(fenced.redis(client, Holder(fence), **terms))


ACTS: dict[str, Callable[[Any], Any]] = {
    "set": lambda writes: writes.set("stock", "late"),
    "delete": lambda writes: writes.delete("stock"),
    "hset": lambda writes: writes.hset("stock", {"late": 1}),
    "any": lambda writes: writes.write("APPEND", "stock", "late"),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_late_holder_is_refused_and_changes_nothing(do: Do, eyes: redis.Redis, act: Callable[[Any], Any]) -> None:
    do(7, lambda writes: writes.set("stock", "newer"))
    with pytest.raises(StaleFence, match="'account' with fence 6 was refused: 7 has written since") as refused:
        do(6, act)
    assert (refused.value.name, refused.value.fence, refused.value.newest) == ("account", 6, 7)
    assert (eyes.get("stock"), eyes.get("{stock}~fence")) == (b"newer", b"7")


def test_the_same_lease_may_write_again_and_a_newer_one_after_it(do: Do, eyes: redis.Redis) -> None:
    for fence, value in ((6, "first"), (6, "again"), (7, "newer"), (10, "longer"), (10, "and again")):
        assert do(fence, lambda writes, value=value: writes.set("stock", value)) is None  # type: ignore[misc]
        assert (eyes.get("stock"), eyes.get("{stock}~fence")) == (value.encode(), b"%d" % fence)


def test_a_deleted_key_is_not_brought_back(do: Do, eyes: redis.Redis) -> None:
    do(6, lambda writes: writes.set("stock", 1))
    assert do(7, lambda writes: writes.delete("stock")) is True
    assert do(7, lambda writes: writes.delete("stock")) is False
    with pytest.raises(StaleFence):
        do(6, lambda writes: writes.set("stock", 2))
    assert eyes.get("stock") is None


def test_all_that_can_be_stored_is_stored(do: Do, eyes: redis.Redis) -> None:
    for value, stored in (("ä", "ä".encode()), (b"\x00\xff", b"\x00\xff"), (-5, b"-5"), (0.25, b"0.25"), ("", b"")):
        do(7, lambda writes, value=value: writes.set("stock", value))  # type: ignore[misc]
        assert eyes.get("stock") == stored
    assert do(7, lambda writes: writes.hset("hash", {"a": 1, b"b": 2.5})) == 2
    assert do(7, lambda writes: writes.hset("hash", {"a": 3, "c": b"4"})) == 1
    assert eyes.hgetall("hash") == {b"a": b"3", b"b": b"2.5", b"c": b"4"}
    assert do(7, lambda writes: writes.write("INCRBY", "count", 5)) == 5


@on_valkey_9
class TestOneClientIsEnough:
    """What the kind of client cannot matter to."""

    @pytest.fixture
    def writes(self, eyes: redis.Redis) -> Callable[..., Any]:
        return lambda fence, **terms: fenced.redis(eyes, Holder(fence), **terms)

    def test_keys_have_fences_of_their_own_unless_they_are_one_resource(
        self, eyes: redis.Redis, writes: Callable[..., Any]
    ) -> None:
        writes(7).set("a", 1)
        writes(6).set("b", 1)
        writes(9, resource="both").set("a", 2)
        with pytest.raises(StaleFence) as refused:
            writes(8, resource="both").set("b", 2)
        assert refused.value.name == "both"
        assert [eyes.get(key) for key in ("a", "b", "{a}~fence", "{both}~fence")] == [b"2", b"1", b"7", b"9"]

    def test_a_key_s_fence_is_in_its_slot(self, eyes: redis.Redis, writes: Callable[..., Any]) -> None:
        keys: list[str | bytes] = ["plain", "a{tag}b", b"bytes", b"{\xff}x", "half{open"]
        sides = [b"{plain}~fence", b"a{tag}b~fence", b"{bytes}~fence", b"{\xff}x~fence", b"{half{open}~fence"]
        for key, side in zip(keys, sides, strict=True):
            writes(7).set(key, 1)
            assert eyes.get(side) == b"7"
            assert redis.crc.key_slot(side) == redis.crc.key_slot(key if isinstance(key, bytes) else key.encode())

    def test_fences_are_compared_to_the_last_digit(self, writes: Callable[..., Any]) -> None:
        for newest in (9, 10, 2**53 + 1, 2**63 - 1):
            writes(newest).set("stock", 1)
            with pytest.raises(StaleFence):
                writes(newest - 1).set("stock", 2)

    def test_a_value_and_its_fence_may_end(self, eyes: redis.Redis, writes: Callable[..., Any]) -> None:
        writes(7, keep="1h").set("stock", 1, ttl="90s")
        assert 89_000 < eyes.pttl("stock") <= 90_000
        assert 3_590_000 < eyes.pttl("{stock}~fence") <= 3_600_000
        writes(7).set("stock", 1)
        assert (eyes.pttl("stock"), eyes.pttl("{stock}~fence")) == (-1, -1)

    def test_a_write_that_fails_leaves_the_fence_as_it_was(self, eyes: redis.Redis, writes: Callable[..., Any]) -> None:
        writes(6).set("stock", "text")
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            writes(7).hset("stock", {"a": 1})
        assert eyes.get("{stock}~fence") == b"6"

    def test_a_fence_that_another_program_has_written_over_is_told(
        self, eyes: redis.Redis, writes: Callable[..., Any]
    ) -> None:
        eyes.set("{stock}~fence", "hello")
        with pytest.raises(redis.ResponseError, match="holds no fence: another program uses this key"):
            writes(7).set("stock", 1)
        assert eyes.get("stock") is None

    @pytest.mark.parametrize("key", ["", b"", 7, None, "a}b", "{}a", b"a}b", "{stock}~fence", b"{stock}~fence"])
    def test_odd_keys_are_refused(self, eyes: redis.Redis, writes: Callable[..., Any], key: Any) -> None:
        with pytest.raises(ConfigError, match=r"a key is text|must end a \{tag\}|is the fence of another key"):
            writes(7).set(key, 1)
        assert eyes.dbsize() == 0

    @pytest.mark.parametrize("value", [None, True, [1], {"a": 1}, object()])
    def test_odd_values_are_refused(self, eyes: redis.Redis, writes: Callable[..., Any], value: Any) -> None:
        with pytest.raises(ConfigError, match="cannot be stored: give text, bytes or a number"):
            writes(7).set("stock", value)
        with pytest.raises(ConfigError, match="cannot be stored"):
            writes(7).hset("stock", {"a": value})
        assert eyes.dbsize() == 0

    def test_too_much_and_too_little_is_refused(self, eyes: redis.Redis, writes: Callable[..., Any]) -> None:
        most = {str(number): number for number in range(3_500)}
        assert writes(7).hset("stock", most) == 3_500
        with pytest.raises(ConfigError, match="7002 words are too many for one write"):
            writes(7).hset("more", most | {"one more": 1})
        with pytest.raises(ConfigError, match="at least one field"):
            writes(7).hset("more", {})
        for odd in ("", "INCR BY", "redis.call", None):
            with pytest.raises(ConfigError, match="writes a single key"):
                writes(7).write(odd, "more")
        assert not eyes.exists("more")

    @pytest.mark.parametrize("odd", [0, -1, "soon", True, 0.0001])
    def test_odd_durations_are_refused(self, writes: Callable[..., Any], odd: Any) -> None:
        with pytest.raises(ConfigError, match="keep"):
            writes(7, keep=odd)
        with pytest.raises(ConfigError, match="ttl"):
            writes(7).set("stock", 1, ttl=odd)

    def test_a_pipeline_is_refused(self, eyes: redis.Redis) -> None:
        with eyes.pipeline() as pipeline, pytest.raises(ConfigError, match="cannot tell what became of a write"):
            fenced.redis(pipeline, Holder(7))

    def test_a_real_lease_writes_and_a_newer_one_refuses_it(self, eyes: redis.Redis) -> None:
        with dibs.connect(eyes, quiet=True) as d:
            with d.lock("account") as old:
                pass
            with d.lock("account") as new:
                fenced.redis(eyes, new).set("stock", "new")
            with pytest.raises(StaleFence):
                fenced.redis(eyes, old).set("stock", "old")
        assert eyes.get("stock") == b"new"
