"""What goes wrong with a step, on purpose: by chance, but the same whenever the same attempt is played again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random
from typing import Literal

Trouble = Literal["fails", "hangs", "crashes"]


@dataclass(frozen=True, slots=True)
class Fate:
    """The trouble of one attempt, if any, and whether it comes when the step has had its effect already."""

    trouble: Trouble | None
    is_late: bool


@dataclass(frozen=True, slots=True)
class Chances:
    """Which share of the attempts fails, hangs, or takes its whole pod with it."""

    fail: float = 0.2
    hang: float = 0.05
    crash: float = 0.0
    seed: str = ""

    @classmethod
    def told(cls) -> Chances:
        """As the environment says."""
        fail, hang, crash = (float(os.environ.get(f"WORKFLOW_{share}", "0")) for share in ("FAIL", "HANG", "CRASH"))
        return cls(fail, hang, crash, os.environ.get("WORKFLOW_SEED", ""))

    def tell(self) -> None:
        """Leave it to the pods that are started from here."""
        shares = {"FAIL": self.fail, "HANG": self.hang, "CRASH": self.crash, "SEED": self.seed}
        os.environ.update({f"WORKFLOW_{share}": str(value) for share, value in shares.items()})

    def fate(self, job: str, order: str, attempt: int) -> Fate:
        """Of this attempt; of an order only its number counts, not the day's."""
        chance = Random(f"{self.seed}/{job}/{order.rpartition('-')[2]}/{attempt}")  # noqa: S311 - no secret
        draw, is_late = chance.random(), chance.random() < 0.5  # noqa: PLR2004 - one or the other
        shares: list[tuple[Trouble, float]] = [("fails", self.fail), ("hangs", self.hang), ("crashes", self.crash)]
        for trouble, share in shares:
            if draw < share:
                return Fate(trouble, is_late)
            draw -= share
        return Fate(None, is_late)
