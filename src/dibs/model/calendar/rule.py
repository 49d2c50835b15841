"""What every rule can say: when it is due next, and itself in a line of text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, tzinfo

EARLIEST, LATEST = 0, 253_000_000_000
"""Nothing is due before 1970, and nothing follows on the year 9986: there Python's own calendar is about to end."""


class Rule(ABC):
    """Moments without end, as a rule. Two rules are the same if their texts are."""

    __slots__ = ("jitter", "text")

    text: str
    """All of it in one way of writing: what a store keeps, and `rule_of` reads back."""
    jitter: float
    """By how many seconds at the most a tick's run is put off, so that not everything begins at once."""

    def __init__(self, text: str, jitter: float) -> None:
        self.text = f"{text} jitter={plain(jitter)}" if jitter else text
        self.jitter = jitter

    @property
    def tz(self) -> tzinfo:
        """In which zone its times are told."""
        return UTC

    @abstractmethod
    def after(self, moment: float) -> float | None:
        """The first tick after the moment; `None` if there is none before the calendar ends."""

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Rule) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.text}>"


def plain(duration: float) -> str:
    """Seconds, to the millisecond, in the one way in which a rule writes them: `90s`, `1.5s`."""
    return f"{duration:.3f}".rstrip("0").rstrip(".") + "s"
