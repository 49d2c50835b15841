"""Which locks this very piece of code is inside of, so that waiting for one of them again can be refused."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from threading import get_ident
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.flows.hold import Hold

_Block: TypeAlias = "tuple[Desk, object, Hold, _Block | None]"
"""An open block: at which desk, whose, with what, and the one around it."""

_innermost: ContextVar[_Block | None] = ContextVar("dibs_innermost", default=None)
# A context is copied to child tasks and to threads of a pool, which are not inside: so the actor must be the same, too.


def actor() -> object:
    """The running task, or else the running thread."""
    asyncio = sys.modules.get("asyncio")  # not imported: no task can be running
    if asyncio is not None and asyncio._get_running_loop() is not None:  # noqa: SLF001 - it is documented, and cheap
        return asyncio.current_task() or get_ident()
    return get_ident()


def hold_here(desk: Desk, name: str, me: object) -> Hold | None:
    """The hold on that lock whose block this code stands in."""
    block = _innermost.get()
    while block is not None:
        where, who, hold, block = block
        if where is desk and who == me and hold.name == name and not hold.is_over:
            return hold
    return None


def enter(desk: Desk, hold: Hold, me: object) -> None:
    """A block begins here."""
    _innermost.set((desk, me, hold, _innermost.get()))


def leave() -> None:
    """One has ended; if others are open within it, it is forgotten with them."""
    block = _innermost.get()
    while block is not None and block[2].is_over:
        block = block[3]
    _innermost.set(block)
