"""What blocks does not need the threads of the event loop's own pool."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import dibs
from dibs.stores.aside import aside
from tests.servers.cluster import Cluster
from tests.servers.sentinels import House


@pytest.mark.parametrize("topology", ["shared_house", "shared_cluster"])
def test_a_lock_is_had_while_all_threads_of_the_loop_are_at_work(topology: str, request: pytest.FixtureRequest) -> None:
    servers: House | Cluster = request.getfixturevalue(topology)
    is_over = threading.Event()

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        busy = loop.run_in_executor(None, is_over.wait, 20)
        d = dibs.connect(servers.url, namespace="aside", quiet=True)
        try:
            async with d.lock("stock", wait=5):
                assert not busy.done()
        finally:
            is_over.set()
            await busy
            await d.aclose()

    asyncio.run(scene())


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(aside(lambda: 1 // 0))


def test_who_is_cancelled_does_not_wait_for_it() -> None:
    is_over = threading.Event()

    async def scene() -> None:
        waiting = asyncio.ensure_future(aside(is_over.wait))
        await asyncio.wait([waiting], timeout=0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(scene())
    is_over.set()
