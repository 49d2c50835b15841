"""Forked children: how they are made and waited for, and what a process has open."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path


def in_a_fork(act: Callable[[], object]) -> int:
    """Do something in a forked child, which ends then: well only if that went well."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act()
            code = 0
        except BaseException:  # noqa: BLE001 - a child must never get out of here
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid


def ended_well(*children: int) -> bool:
    """Wait for all of them."""
    return not sum(os.waitpid(child, 0)[1] for child in children)


def descriptors() -> Iterator[str]:
    """What each of our file descriptors stands for."""
    for number in list(Path("/proc/self/fd").iterdir()):
        with suppress(FileNotFoundError):  # the listing itself
            yield str(number.readlink())
