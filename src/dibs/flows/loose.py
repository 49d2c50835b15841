"""A lease that no store stands behind."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from dibs.flows.hold import Hold
from dibs.model.tenure import Tenure

if TYPE_CHECKING:
    from dibs.model.asks import Memo
    from dibs.model.request import Request


class LooseHold(Hold):
    """It excludes nobody, so there is nothing to lose: it lasts until it is let go.

    `ended` is called then, once, with what is to be remembered.
    """

    is_loose = True

    def __init__(
        self,
        request: Request,
        *,
        fence: int,
        now: float,
        waited: float = 0.0,
        ended: Callable[[Memo | None], None] | None = None,
    ) -> None:
        super().__init__(request, "", fence, Tenure(inf, now), waited)
        self._ended = ended

    def end(self) -> bool:
        is_first = super().end()
        if is_first and self._ended is not None:
            self._ended(self.memo)
        return is_first
