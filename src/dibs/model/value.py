"""How values are made that come and go with every ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """A dataclass that never changes, as the type checkers see to.

    Python's own `frozen=True` makes each instance seven times dearer, and a lock needs some twenty of them.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
