"""Redisson's retryInterval reaches the connections: a server that is away is tried again at that pace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import dibs
from dibs import Dibs, StoreUnreachable
from tests.servers.door import Door
from tests.servers.ports import HOST

redis = pytest.importorskip("redis", reason="no redis-py on this machine")

LINES = """
[redisson.config.singleServerConfig]
address = "redis://{}:{}"
timeout = 600
retryAttempts = 3
retryInterval = 300
"""


def look(d: Dibs) -> None:
    with d:
        d.inspect("a")


def alook(d: Dibs) -> None:
    async def main() -> None:
        async with d:
            await d.ainspect("a")

    asyncio.run(main())


@pytest.mark.parametrize("ask", [look, alook], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("by", ["address", "client", pytest.param("argument", marks=pytest.mark.thorough)])
def test_a_server_that_was_never_reached_is_tried_again_at_redisson_s_pace(
    folder: Path, ask: Callable[[Dibs], None], by: str
) -> None:
    with Door() as door:
        (folder / "dibs.toml").write_text(LINES.format(HOST, door.port))
        client = redis.Redis(host=HOST, port=door.port)
        named = {"address": None, "argument": door.url, "client": client}[by]
        with pytest.raises(StoreUnreachable):
            ask(dibs.connect(named, quiet=True))
        client.close()
        came = door.knocks
    # In the 1.5 s for which that is borne: six at this pace, four where each call that fails pauses by itself. At our
    # own pace it would be four in the first 0.35 s.
    assert 3 <= len(came) <= 6
    assert came[2] - came[0] >= 0.4


def test_what_it_is_and_who_said_so_is_shown(folder: Path) -> None:
    (folder / "dibs.toml").write_text(LINES.format(HOST, 1))
    with dibs.connect(quiet=True) as d:
        assert d.config.retry_interval == 0.3
        key = "redisson.config.singleServerConfig.retryInterval"
        assert f"retry_interval = 0.3 (file dibs.toml, key {key})" in d.config.lines()


def test_where_only_others_of_redisson_s_are_said_the_pace_is_ours(folder: Path) -> None:
    (folder / "dibs.toml").write_text(LINES.format(HOST, 1).replace("retryInterval = 300", ""))
    with dibs.connect(quiet=True) as d:
        assert d.config.retry_interval is None


def test_other_stores_have_nothing_to_connect_to(folder: Path) -> None:
    (folder / "dibs.toml").write_text(LINES.format(HOST, 1))
    for url in ("memory://paced", f"sqlite:///{folder}/paced.sqlite"):
        with dibs.connect(url, quiet=True) as d, d.lock("a", wait=0):
            assert d.inspect("a").state == "held"
