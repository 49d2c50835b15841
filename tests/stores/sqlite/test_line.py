"""What is posted on a line, and what becomes of it when the line is hung up."""

from __future__ import annotations

import asyncio
import threading
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from dibs import Dibs
from dibs.events import JoinedQueue
from dibs.stores.sqlite import Location, SqliteBackend
from dibs.testing.contract import Diary


def test_whoever_was_handed_the_lock_is_told_before_the_line_is_hung_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may end right after it: then nobody would tell, and only the end of a TTL would show it."""
    begun, is_closed, is_too_late, diary = threading.Event(), threading.Event(), list[bool](), Diary()
    giver, waiter = (SqliteBackend(Location(tmp_path / "locks.sqlite")) for _ in range(2))
    with Dibs(waiter, observers=[diary]) as other, Dibs(giver) as d:
        lease = d.lock("a", ttl=60).acquire()
        ring = giver._bell.ring

        def ring_late(*facts: Any) -> None:
            begun.set()
            is_too_late.append(is_closed.wait(0.5))
            ring(*facts)

        monkeypatch.setattr(giver._bell, "ring", ring_late)
        thread = threading.Thread(target=lambda: other.lock("a", wait=30).acquire().release())
        thread.start()
        diary.wait_for(JoinedQueue, 1)
        del lease  # so the keeper gives it back, in passing
        assert begun.wait(10)
        d.close()
        is_closed.set()
        thread.join(10)
        assert not thread.is_alive()
    assert is_too_late == [False]


@pytest.mark.parametrize("name", ["0123456789abcde", "012345678901234"])
def test_who_holds_in_a_loop_is_told_of_an_eviction_at_once_whatever_its_line_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    holder, other = (SqliteBackend(Location(tmp_path / "locks.sqlite")) for _ in range(2))
    numbers = count()
    monkeypatch.setattr(holder, "new_channel", lambda: f"{name}{next(numbers)}")

    async def scene() -> None:
        is_told, loop = asyncio.Event(), asyncio.get_running_loop()
        async with Dibs(holder) as d:
            lease = await d.lock("a", ttl=60, on_lost=lambda _: loop.call_soon_threadsafe(is_told.set)).aacquire()
            with Dibs(other) as by_force:
                by_force.force_release("a", fence=lease.fence)
                await asyncio.wait_for(is_told.wait(), 10)
            assert lease.lost

    asyncio.run(scene())
