"""Which locks this very piece of code is inside of, so that waiting for one of them again can be refused."""

from __future__ import annotations

import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.flows.hold import Hold
    from dibs.runtime.engine import Engine

_Place = tuple[int, str]
_entered: ContextVar[Mapping[_Place, tuple[object, Hold]]] = ContextVar("dibs_entered")
# A context is copied to child tasks and to threads of a pool, which are not inside: so the actor must be the same, too.


def actor() -> object:
    """The running task, or else the running thread."""
    asyncio = sys.modules.get("asyncio")  # not imported: no task can be running
    if asyncio is not None and asyncio._get_running_loop() is not None:  # noqa: SLF001 - it is documented, and cheap
        return asyncio.current_task() or threading.current_thread()
    return threading.current_thread()


def hold_here(engine: Engine, name: str) -> Hold | None:
    """The hold on that lock whose block this code stands in."""
    who, hold = _entered.get({}).get((id(engine), name), (None, None))
    return hold if hold is not None and who is actor() and not hold.is_forsaken() else None


def enter(engine: Engine, hold: Hold) -> None:
    """A block begins here."""
    _entered.set({**_entered.get({}), (id(engine), hold.name): (actor(), hold)})


def leave(engine: Engine, hold: Hold) -> None:
    """It ends; perhaps in another context, which never knew of it."""
    entered = _entered.get({})
    if entered.get((id(engine), hold.name), (None, None))[1] is hold:
        _entered.set({place: entry for place, entry in entered.items() if entry[1] is not hold})
