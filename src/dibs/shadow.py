"""What a client that only watches would have done, had it been asked to lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.runtime.engine import Engine


@dataclass(frozen=True, slots=True)
class Shadowed:
    """One lock's runs in shadow mode, all of which ran, and how many of them dibs would have stopped."""

    name: str
    runs: int
    waited: int
    """So many would have waited for their turn."""
    skipped: int
    """So many would have been refused, since they were not to wait."""
    failed: int
    """So many would have met an error: the store could not be asked, or they waited for themselves."""

    @property
    def stopped(self) -> int:
        """How many did not run alone, or could not know."""
        return self.waited + self.skipped + self.failed


class ShadowReport:
    """What a client tells of its time in shadow mode."""

    _engine: Engine

    def shadow_report(self) -> Sequence[Shadowed]:
        """What dibs would have done to this client's runs so far, by lock; those with the most to say come first."""
        detours = self._engine.detours
        if not detours.is_shadow:
            raise ConfigError("there is no shadow report: this client does lock. Make one with mode='shadow'")
        seen = [
            Shadowed(name, fates.total(), fates["waited"], fates["skipped"], fates["failed"])
            for name, fates in detours.tally.counted().items()
        ]
        return sorted(seen, key=lambda lock: (-lock.stopped, lock.name))
