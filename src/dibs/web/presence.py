"""What this process is among the workers, and whether it is about to leave."""

from __future__ import annotations

import os
import threading

from dibs.errors import ConfigError
from dibs.runtime.supervisor.lifeline import WORKER_ID

draining = threading.Event()
"""Set when this process was told to leave: it finishes what it has, and is not to get more."""


def worker_id() -> int:
    """Which worker of the supervisor this process is, from 1; 0 outside of one."""
    said = os.environ.get(WORKER_ID, "").strip() or "0"
    if not said.isdecimal():
        raise ConfigError(
            f"environment {WORKER_ID}={said}: `dibs serve` sets it to the number of a worker; leave it out"
        )
    return int(said)
