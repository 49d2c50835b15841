"""The rule of what has no schedule: it is run when somebody asks for it."""

from __future__ import annotations

from dibs.model.calendar.rule import Rule


class Never(Rule):
    """No moment at all."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("", 0.0)

    def after(self, moment: float) -> float | None:
        return None
