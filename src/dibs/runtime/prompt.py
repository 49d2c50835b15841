"""A future whose task goes on at once when it is settled, instead of in the loop's next turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")

_settle: Callable[[asyncio.Future[Any], Any], None] = asyncio.Future[Any].set_result
_current_task = asyncio.current_task


class Prompt(asyncio.Future[T]):
    """For what comes off a socket: the loop would look at all its sockets again before it lets anybody hear of it.

    Only out of a callback of the loop, where no task is running, can one go on; from anywhere else it has to wait for
    its turn, as with any future. To a future that is not asyncio's own a task only says how it is to be called back.
    """

    _waker: tuple[Callable[[Any], object], Context] | None = None

    def add_done_callback(self, fn: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        if context is None or self._waker is not None or self.done():
            super().add_done_callback(fn, context=context)
        else:
            self._waker = fn, context

    def remove_done_callback(self, fn: Callable[[Any], object], /) -> int:
        if self._waker is not None and self._waker[0] == fn:
            self._waker = None
            return 1
        return super().remove_done_callback(fn)

    def set_result(self, result: T, /) -> None:
        _settle(self, result)
        if self._waker is not None:
            self._wake(*self._waker)

    def set_exception(self, exception: Any, /) -> None:
        super().set_exception(exception)
        if self._waker is not None:
            self._wake(*self._waker)

    def cancel(self, msg: Any | None = None) -> bool:
        is_new = super().cancel(msg)
        if is_new and self._waker is not None:
            waker, context = self._waker
            self.get_loop().call_soon(waker, self, context=context)
        return is_new

    def _wake(self, waker: Callable[[Any], object], context: Context) -> None:
        loop = self.get_loop()
        if _current_task(loop) is None:
            context.run(waker, self)
        else:
            loop.call_soon(waker, self, context=context)
