"""One block under a lock, in either colour."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import pytest

from dibs import Dibs, Lease

T = TypeVar("T")


class Visit(Protocol):
    """Enter, look around, and leave; gives what was seen."""

    def __call__(self, d: Dibs, name: str, look: Callable[[Lease], T], **options: Any) -> T: ...


def by_thread(d: Dibs, name: str, look: Callable[[Lease], T], **options: Any) -> T:
    with d.lock(name, **options) as lease:
        return look(lease)


def by_task(d: Dibs, name: str, look: Callable[[Lease], T], **options: Any) -> T:
    async def main() -> T:
        async with d.lock(name, **options) as lease:
            return look(lease)

    return asyncio.run(main())


in_both_colours = pytest.mark.parametrize("visit", [by_thread, by_task], ids=["blocking", "asyncio"])


def policy(lease: Lease) -> str | None:
    """By which policy it was taken."""
    return lease.policy
