"""What a write says of itself: which resource it is for, and with which fence."""

from __future__ import annotations

from typing import Protocol

from dibs.errors import ConfigError
from dibs.model.names import name_fault
from dibs.model.value import value

HIGHEST = 2**63 - 1
"""What a column of type BIGINT can hold."""


class Fenced(Protocol):
    """A lease, or whatever else has a name and a fence."""

    @property
    def name(self) -> str: ...

    @property
    def fence(self) -> int: ...


@value
class Claim:
    """Somebody's right to write, as long as nobody with a higher fence has written."""

    resource: str
    fence: int


def claim(lease: Fenced, resource: str | None = None) -> Claim:
    """The claim of a lease on a resource, which is called as its lock unless said otherwise.

    A lease that was had without a store has no fence: reading it raises, before anything is written.
    """
    if not hasattr(type(lease), "fence") and not hasattr(lease, "fence"):
        raise ConfigError(
            f"lease={lease!r} has no fence: pass the lease that you write under (without one, do not write)"
        )
    fence, name = checked_fence(lease.fence), lease.name if resource is None else resource
    if fault := name_fault(name, what="a resource"):
        raise ConfigError(f"resource={name!r}: {fault}")
    return Claim(name, fence)


def checked_fence(fence: object) -> int:
    """The fence, if a store may have given it."""
    if isinstance(fence, bool) or not isinstance(fence, int):
        raise ConfigError(f"fence={fence!r}: a fence is a whole number, as lease.fence has it")
    if not 0 < fence <= HIGHEST:
        shown = fence if abs(fence) <= 2**64 else f"a number of {fence.bit_length()} bits"
        raise ConfigError(f"fence={shown}: fences go from 1 to {HIGHEST}; pass the lease as you got it")
    return fence
