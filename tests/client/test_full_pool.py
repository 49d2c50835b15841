"""All threads of the event loop's own pool may be at work for the user, and for long: dibs needs none of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest

from dibs import ClientClosed, Dibs
from dibs.runtime.engine import Engine
from dibs.runtime.farewell import Farewell
from dibs.stores.aside import aside
from dibs.stores.memory import MemoryBackend

LONG = 10.0


@asynccontextmanager
async def full_pool() -> AsyncIterator[None]:
    """The pool's only thread has something else to do."""
    loop, is_over = asyncio.get_running_loop(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))
    busy = loop.run_in_executor(None, is_over.wait)
    try:
        yield
        assert not busy.done()
    finally:
        is_over.set()
        await busy


def test_a_client_is_closed_while_the_pool_is_full() -> None:
    async def scene() -> None:
        async with full_pool():
            d = Dibs(MemoryBackend())
            async with d.lock("a"):
                pass
            await asyncio.wait_for(d.aclose(), LONG)
            with pytest.raises(ClientClosed):
                await d.lock("a").aacquire()

    asyncio.run(scene())


def test_a_workers_own_client_is_closed_while_the_pool_is_full() -> None:
    async def scene() -> None:
        async with full_pool():
            with Dibs(MemoryBackend()) as d:
                worker = d.worker("a", host="localhost", port=1)
                worker.on_acquired(lambda _: None)
                await asyncio.wait_for(worker.aclose(), LONG)
                with pytest.raises(ClientClosed):
                    await worker.aacquire()
                await d.worker("a").aclose()  # has none of its own
                assert d.inspect("a").held is None

    asyncio.run(scene())


def test_the_end_of_a_term_is_waited_for_while_the_pool_is_full() -> None:
    ended = list[str]()
    engine = Engine(MemoryBackend(), namespace="dibs", observers=())
    farewell = Farewell[Dibs](engine, "billing", None, lambda _, reason: ended.append(reason))

    async def scene() -> None:
        async with full_pool():
            waiting = asyncio.ensure_future(farewell.await_it())
            await asyncio.wait([waiting], timeout=0)
            assert not waiting.done()
            farewell.end(Dibs(MemoryBackend()), "resigned")
            await asyncio.wait_for(waiting, LONG)

    asyncio.run(scene())
    assert ended == ["resigned"]
    engine.close()


def test_what_is_done_aside_is_done_in_the_context_of_who_asked() -> None:
    tenant = ContextVar("tenant", default="nobody")

    async def scene() -> str:
        tenant.set("acme")
        return await aside(tenant.get)

    assert asyncio.run(scene()) == "acme"
