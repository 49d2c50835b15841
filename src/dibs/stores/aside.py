"""What blocks, on a thread of its own: those of the event loop's pool may all be at work for the user, and for long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


async def aside(act: Callable[[], T]) -> T:
    """What comes of it. Whoever is cancelled meanwhile does not wait for it."""
    loop, context = asyncio.get_running_loop(), copy_context()
    outcome: asyncio.Future[T] = loop.create_future()

    def hand() -> None:
        try:
            done = context.run(act)
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            tell(outcome.set_exception, error)
        else:
            tell(outcome.set_result, done)

    def tell(settle: Callable[..., None], value: object) -> None:
        with suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(lambda: None if outcome.done() else settle(value))

    threading.Thread(target=hand, name="dibs-aside", daemon=True).start()
    return await outcome
