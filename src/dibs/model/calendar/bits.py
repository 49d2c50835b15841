"""Masks: whole numbers whose set bits are the values of a field."""

from __future__ import annotations

from collections.abc import Iterable


def mask(values: Iterable[int]) -> int:
    """The mask of these values."""
    bits = 0
    for value in values:
        bits |= 1 << value
    return bits


def lowest(bits: int) -> int:
    """The lowest value of a mask that has one."""
    return (bits & -bits).bit_length() - 1


def values(bits: int) -> list[int]:
    """All of them, in their order."""
    return [value for value in range(bits.bit_length()) if bits >> value & 1]
