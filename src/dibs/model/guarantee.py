"""What a topology promises, as a value and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["fenced", "best effort", "none"]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What holds on this store, and what it rests on."""

    level: Level
    scope: str
    clocks: str
    durability: str
    across_machines: bool = True

    def __str__(self) -> str:
        return f"{self.level}, {self.scope}. Clocks: {self.clocks}. Durability: {self.durability}."
