"""Which locks this very piece of code is inside of, so that waiting for one of them again can be refused."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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


def holds_here(desk: Desk, name: str, me: object) -> Sequence[Hold]:
    """The holds on that lock whose blocks this code stands in, innermost first."""
    block = _innermost.get()
    if block is None:
        return ()
    holds: list[Hold] = []
    while block is not None:
        where, who, hold, block = block
        if where is desk and who == me and hold.name == name and not hold.is_over:
            holds.append(hold)
    return holds


def enter(desk: Desk, hold: Hold, me: object) -> None:
    """A block begins here, or something like one."""
    around = _innermost.get()
    _innermost.set((desk, me, hold, None if around is None else _open(around)))


def leave() -> None:
    """One has ended."""
    innermost = _innermost.get()
    is_last = innermost is None or (innermost[3] is None and innermost[2].is_over)  # as nearly always
    _innermost.set(None if is_last else _open(innermost))


def _open(innermost: _Block | None) -> _Block | None:
    """The same without the blocks that are over, also those around one that is not: they may end in any order."""
    while innermost is not None and _is_over(innermost[2]):
        innermost = innermost[3]
    if innermost is None or innermost[3] is None:  # as nearly always
        return innermost
    blocks, are_over = list["_Block"](), False
    block: _Block | None = innermost
    while block is not None:
        blocks.append(block)
        are_over = are_over or _is_over(block[2])
        block = block[3]
    if not are_over:
        return innermost
    still: _Block | None = None
    for desk, me, hold, _ in reversed(blocks):
        if not _is_over(hold):
            still = (desk, me, hold, still)
    return still


def _is_over(hold: Hold) -> bool:
    """Also one that was dropped, as nobody is left to say so if its client is closed."""
    return hold.is_over or hold.is_forsaken()
