"""How long a silent store is borne is a setting, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from dibs import ConfigError, Dibs, StoreUnreachable
from dibs.config import Config
from dibs.model.request import PATIENCE
from dibs.runtime.clock import boottime
from dibs.stores import open_store
from dibs.stores.memory import MemoryBackend
from dibs.testing.outage import Outage
from tests.config.conftest import Settled
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server


@pytest.mark.parametrize("patience", [0.3, pytest.param(2.4, marks=pytest.mark.thorough)])
def test_a_silent_store_is_borne_for_as_long_as_was_said(patience: float) -> None:
    outage = Outage(MemoryBackend())
    with Dibs(outage, config=Config(patience=patience)) as d:
        outage.trouble = "asks lost"
        began = boottime()
        with pytest.raises(StoreUnreachable):
            d.lock("a").acquire()
        assert patience - 0.01 <= boottime() - began <= patience + 0.5
        began = boottime()
        with pytest.raises(StoreUnreachable):
            d.inspect("a")
        assert patience - 0.01 <= boottime() - began <= patience + 0.5
        outage.trouble = "none"


def test_a_silent_store_is_borne_for_as_long_by_tasks() -> None:
    async def main() -> None:
        outage = Outage(MemoryBackend())
        async with Dibs(outage, config=Config(patience=0.3)) as d:
            outage.trouble = "asks lost"
            began = boottime()
            with pytest.raises(StoreUnreachable):
                await d.lock("a").aacquire()
            assert 0.29 <= boottime() - began <= 0.8
            outage.trouble = "none"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("lines", "patience", "keys"),
    [
        ("timeout = 2000\nretryAttempts = 3\nretryInterval = 1500", 6.5, ["timeout", "retryAttempts", "retryInterval"]),
        ("retryAttempts = 0", 3.0, ["retryAttempts"]),
        ("retryAttempts = 1", 4.5, ["retryAttempts"]),
        ("retryInterval = 0", 3.0, ["retryInterval"]),
        ("retryInterval = '2s'", 9.0, ["retryInterval"]),
        ("timeout = 1000", 5.5, ["timeout"]),
    ],
)
def test_redisson_s_three_together_say_how_long_silence_is_borne(
    settled: Settled, lines: str, patience: float, keys: list[str]
) -> None:
    config = settled(toml=f"[redisson.config.singleServerConfig]\n{lines}")
    assert config.patience == patience
    named = ", ".join(f"redisson.config.singleServerConfig.{key}" for key in keys)
    assert config.source("patience") == f"file dibs.toml, key {named}"


def test_spring_s_timeout_counts_alone_and_stands_in_for_redisson_s(settled: Settled) -> None:
    assert settled(toml="redis.timeout = 500").patience == 0.5
    both = settled(toml="redis.timeout = 500\nredisson.config.singleServerConfig.retryAttempts = 2")
    assert both.patience == 0.5 + 2 * 1.5
    assert both.source("patience") == (
        "file dibs.toml, key redis.timeout, redisson.config.singleServerConfig.retryAttempts"
    )
    hers = settled(toml="redis.timeout = 500\nredisson.config.singleServerConfig.timeout = 4000")
    assert hers.patience == 4.0 + 3 * 1.5


def test_a_patience_that_is_said_itself_comes_before_redisson_s(settled: Settled) -> None:
    theirs = "redisson.config.singleServerConfig.retryAttempts = 9"
    assert settled(toml=f"patience = 1\n{theirs}").source("patience") == "file dibs.toml, key patience"
    assert settled({"DIBS_PATIENCE": "1"}, toml=theirs).patience == 1.0
    assert settled({"REDIS_TIMEOUT": "1000"}, toml=theirs).source("patience") == "environment REDIS_TIMEOUT"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("retryAttempts = -1", r"key redisson\..*\.retryAttempts=-1: give a whole number, 0 for none"),
        ("retryAttempts = 1.5", r"key redisson\..*\.retryAttempts=1\.5: give a whole number"),
        ("retryInterval = 'soon'", r"\.retryInterval='soon': give a duration from 0ms to 1h"),
        ("timeout = 0", r"\.timeout=0: give a duration from 100ms to 1h"),
        (
            "retryAttempts = 3000",
            r"\.retryAttempts: a timeout of 3s and 1h15m of retries are more .*; give less, up to 1h together",
        ),
    ],
)
def test_what_redisson_could_not_mean_is_told(settled: Settled, line: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        settled(toml=f"[redisson.config.singleServerConfig]\n{line}")


@pytest.fixture
def hung(start_server: Callable[..., Server]) -> Iterator[Server]:
    server = start_server()
    server.pause()
    yield server
    server.resume()


@on_valkey_9
@pytest.mark.parametrize("protocol", [3, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_server_that_takes_connections_and_says_nothing_is_borne_for_as_long_too(hung: Server, protocol: int) -> None:
    pytest.importorskip("redis", reason="no redis-py on this machine")
    patience = PATIENCE + 0.6  # one try to open a connection is not all
    with Dibs(open_store(f"{hung.url}?protocol={protocol}"), config=Config(patience=patience)) as d:
        began = boottime()
        with pytest.raises(StoreUnreachable):
            d.inspect("a")
        assert patience - 0.1 <= boottime() - began <= patience + 0.5

        async def look() -> None:
            with pytest.raises(StoreUnreachable):
                await d.ainspect("a")

        began = boottime()
        asyncio.run(look())
        assert patience - 0.1 <= boottime() - began <= patience + 0.5
