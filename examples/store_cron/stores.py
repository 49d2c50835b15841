"""The stores, and when they work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Store:
    """One store of the chain."""

    name: str
    opens: int
    closes: int
    is_open: bool

    def works_at(self, moment: datetime) -> bool:
        """Whether that is in its work hours."""
        return self.opens <= moment.hour < self.closes


STORES = (
    Store("Corner Bakery", opens=5, closes=14, is_open=True),
    Store("Book Shop", opens=10, closes=19, is_open=False),
    Store("Wine Bar", opens=17, closes=24, is_open=True),
    Store("Night Kiosk", opens=0, closes=24, is_open=False),
)


def to_close(moment: datetime) -> list[Store]:
    """Those that are open though their work hours are over."""
    return [store for store in STORES if store.is_open and not store.works_at(moment)]


def to_remind(moment: datetime) -> list[Store]:
    """Those that are closed though they should be open."""
    return [store for store in STORES if not store.is_open and store.works_at(moment)]


def listed(stores: list[Store]) -> str:
    """Their names, for the log."""
    return ", ".join(store.name for store in stores) or "no store"
