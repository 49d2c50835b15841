"""What is posted on a line, and what becomes of it when the line is hung up."""

from __future__ import annotations

import threading
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
