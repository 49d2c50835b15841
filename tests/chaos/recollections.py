"""The role of a holder of which only what it told before is known."""

from __future__ import annotations

import threading

import dibs
from dibs.flows import recording
from tests.chaos.actor import say, told


def hold_until_killed(url: str, name: str, ttl: float) -> None:
    """Take the lock, say when the store was told that it is held, and go on."""
    is_noted = threading.Event()
    recording.EVERY, recording._noted = 0.2, lambda _: is_noted.set()
    lease = dibs.connect(url, quiet=True).lock(name, ttl=ttl, purpose="the nightly run").acquire()
    is_noted.wait(20)
    say("noted", lease.fence)
    told("never")
