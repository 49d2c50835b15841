"""One turn at a lock, in either colour, over whatever names the server; and how it may fail."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from time import monotonic

import pytest
import redis
import redis.asyncio

from dibs import Dibs
from dibs.errors import StoreRefused
from tests.chaos.moments import IN_TIME

SECRET = "hunter2/@:#?"  # noqa: S105 - of a server that lives for one test
USERS = {
    "app": f"on >{SECRET} ~* &* +@all",
    "deaf": f"on >{SECRET} ~* resetchannels +@all",
    "weak": f"on >{SECRET} ~* &* +@all -@scripting",
}

PATIENT = 10.0
"""Where it is to work: a handshake may take its time on a busy machine."""
WAIT = 0.2
"""Where it is not to."""

Turn = Callable[..., None]


def by_thread(d: Dibs, wait: float = PATIENT) -> None:
    """Take a lock, look at it, and give it back."""
    with d, d.lock("a", wait=wait) as lease:
        seen = d.inspect("a").held
        assert seen is not None
        assert seen.fence == lease.fence


def by_task(d: Dibs, wait: float = PATIENT) -> None:
    async def main() -> None:
        async with d, d.lock("a", wait=wait) as lease:
            seen = (await d.ainspect("a")).held
            assert seen is not None
            assert seen.fence == lease.fence

    asyncio.run(main())


in_both_colours = pytest.mark.parametrize("turn", [by_thread, by_task], ids=["blocking", "asyncio"])
of_both_kinds = pytest.mark.parametrize(
    "library", [redis.Redis, redis.asyncio.Redis], ids=["redis.Redis", "redis.asyncio.Redis"]
)


def missed(d: Dibs, turn: Turn) -> tuple[StoreRefused, str]:
    """How a turn fails, and all that a log would show of it; in time."""
    began = monotonic()
    with pytest.raises(StoreRefused) as refused:
        turn(d, WAIT)
    assert monotonic() - began < WAIT + IN_TIME
    return refused.value, "".join(traceback.format_exception(refused.value))
