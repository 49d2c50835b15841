"""One turn at a lock, in either colour, over whatever names the server; and how it may fail."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable

import pytest
import redis
import redis.asyncio

from dibs import Dibs
from dibs.errors import StoreRefused
from tests.chaos.moments import IN_TIME, ends_within

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
    """Take a lock, look at it, and give it back; it is had in time, or refused in time."""
    with d:
        with ends_within(wait + IN_TIME):
            lease = d.lock("a", wait=wait).acquire()
        seen = d.inspect("a").held
        assert seen is not None
        assert seen.fence == lease.fence
        lease.release()


def by_task(d: Dibs, wait: float = PATIENT) -> None:
    async def main() -> None:
        async with d:
            with ends_within(wait + IN_TIME):
                lease = await d.lock("a", wait=wait).aacquire()
            seen = (await d.ainspect("a")).held
            assert seen is not None
            assert seen.fence == lease.fence
            await lease.arelease()

    asyncio.run(main())


in_both_colours = pytest.mark.parametrize("turn", [by_thread, by_task], ids=["blocking", "asyncio"])
of_both_kinds = pytest.mark.parametrize(
    "library", [redis.Redis, redis.asyncio.Redis], ids=["redis.Redis", "redis.asyncio.Redis"]
)


def missed(d: Dibs, turn: Turn) -> tuple[StoreRefused, str]:
    """How a turn fails, and all that a log would show of it."""
    with pytest.raises(StoreRefused) as refused:
        turn(d, WAIT)
    return refused.value, "".join(traceback.format_exception(refused.value))
