"""Functions in both colours, and somebody else who has a lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from dibs import Dibs, Lease


class Blocking:
    """Functions of the one colour."""

    @staticmethod
    def of(decorate: Callable[..., Any], body: Callable[[str], object]) -> Callable[[str], Any]:
        @decorate
        def work(key: str) -> object:
            return body(key)

        return work  # type: ignore[no-any-return]


class Async:
    """Functions of the other, each call in a loop of its own."""

    @staticmethod
    def of(decorate: Callable[..., Any], body: Callable[[str], object]) -> Callable[[str], Any]:
        @decorate
        async def work(key: str) -> object:
            return body(key)

        return lambda key: asyncio.run(work(key))


Colour: TypeAlias = type[Blocking] | type[Async]


@contextmanager
def somebody_else(d: Dibs, name: str, **options: Any) -> Iterator[Lease]:
    """Holds the lock meanwhile; not by a block of ours, in which waiting for it would be refused."""
    lease = d.lock(name, **options).acquire()
    try:
        yield lease
    finally:
        lease.release()
