"""What a node knows of the store's clock and life, and whether it may go by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dibs.model.duration import spoken

if TYPE_CHECKING:
    from dibs.flows.sheets import Reading
    from dibs.model.sheet import Look

JUMP = 5.0
"""By so many seconds may the store's clock and ours drift apart between two looks."""
SETTLING = 3.0
"""So long is nothing claimed from a store that was started anew: all who live tell it first what they have claimed."""
ANEW = "it was started anew, and may have forgotten what was claimed last"


@dataclass(slots=True)
class Bearings:
    """Taken anew with every look."""

    _life: str | None = None
    _is_anew: bool = False
    """Whether the store was started anew since the last look at what is due."""
    heard: float | None = None
    """What the store's clock said when it was last heard."""
    resumes_at: float = 0.0
    """Until then, by our clock, nothing is to be claimed."""
    _ahead: tuple[float, float] = (0.0, 0.0)

    def is_anew(self, seen: Look) -> bool:
        """Whether the store was started anew since it was last seen."""
        is_anew = self._life not in {None, seen.life}
        self._life, self._is_anew = seen.life, self._is_anew or is_anew
        return is_anew

    def take(self, reading: Reading, *, heartbeat: float) -> str | None:
        """Note a look at what is due; gives the reason if from now on nothing is to be claimed for a while."""
        now = reading.look.now
        ahead = now - reading.answered_at, now - reading.asked_at
        why = None if self.heard is None else self._trouble(ahead)
        self.heard, self._ahead, self._is_anew = now, ahead, False
        if why is not None:
            self.resumes_at = reading.answered_at + (SETTLING if why == ANEW else heartbeat)
        return why

    def their_time(self, now: float) -> float | None:
        """What the store's clock says by now, as far as we know."""
        return None if self.heard is None else now + self._ahead[0]

    def _trouble(self, ahead: tuple[float, float]) -> str | None:
        if self._is_anew:
            return ANEW
        forward, back = ahead[0] - self._ahead[1], self._ahead[0] - ahead[1]
        if max(forward, back) <= JUMP:
            return None
        return f"its clock has jumped {'forward' if forward > back else 'back'} by {spoken(max(forward, back))}"
