"""What would have become of the runs that were only watched, counted by lock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dibs.model.counts import MOST_NAMES, OTHERS

if TYPE_CHECKING:
    from dibs.flows.shadowing import Fate


class Tally:
    """The counts of one client. Locks beyond the first thousand are counted together."""

    def __init__(self) -> None:
        self._fates: dict[str, Counter[Fate]] = {}
        self._counting = threading.RLock()  # a signal's handler may count, too

    def note(self, name: str, fate: Fate) -> None:
        """One run more."""
        with self._counting:
            if name not in self._fates and len(self._fates) >= MOST_NAMES:
                name = OTHERS
            self._fates.setdefault(name, Counter())[fate] += 1

    def counted(self) -> Mapping[str, Counter[Fate]]:
        """All so far, by name."""
        with self._counting:
            return {name: Counter(fates) for name, fates in self._fates.items()}
