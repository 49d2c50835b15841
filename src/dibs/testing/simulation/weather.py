"""What goes wrong in one world, and how often: drawn from its seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Weather:
    """Chances for each message or await, and what else may happen once."""

    ttl: float
    slow: float = 0.0
    lost: float = 0.0
    twice: float = 0.0
    refused: float = 0.0
    cut: float = 0.0
    cancel: float = 0.0
    pause: float = 0.0
    hang: float = 0.0
    crash: float = 0.0
    disasters: tuple[str, ...] = ()
    drift: float = 0.0
    is_prompt: bool = False

    def delay(self, random: Random) -> float:
        """How long a message takes."""
        if self.slow and random.random() < self.slow:
            return random.uniform(0.1, 1.6) * self.ttl
        return 0.001 + 0.003 * random.random()


CALM = Weather(ttl=1.0)

_DISASTERS = ("restart", "forget", "jump ahead", "jump back", "evict", "evict", "stall")


def draw(random: Random) -> Weather:
    """The weather of a world. Every kind of fault is absent from most worlds, so that each shows its own effect."""

    def sometimes(share: float, strength: float) -> float:
        return random.uniform(0.2, 1.0) * strength if random.random() < share else 0.0

    if random.random() < 0.2:  # a good network: whatever is late here is our own fault
        return Weather(
            ttl=random.choice((0.5, 1.0, 4.0)), cancel=sometimes(0.5, 0.1), crash=sometimes(0.7, 0.1), is_prompt=True
        )
    disasters = [random.choice(_DISASTERS) for _ in range(random.choice((0, 0, 1, 1, 2)))]
    return Weather(
        ttl=random.choice((0.5, 1.0, 1.0, 4.0, 20.0)),
        slow=sometimes(0.5, 0.15),
        lost=sometimes(0.35, 0.1),
        twice=sometimes(0.25, 0.1),
        refused=sometimes(0.2, 0.15),
        cut=sometimes(0.35, 0.08),
        cancel=sometimes(0.4, 0.15),
        pause=sometimes(0.3, 0.04),
        hang=sometimes(0.2, 0.04),
        crash=sometimes(0.25, 0.04),
        disasters=tuple(disasters),
        drift=random.choice((0.0, 0.02, 0.04)),
    )
