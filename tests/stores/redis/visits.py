"""What the tests beside other programs have in common: one lock, and a visit to it."""

from __future__ import annotations

from dibs.testing.contract.faces import Face
from tests.chaos.moments import LONG

NAME = "stock"
FOREIGN = "another program, not by dibs"
SOON = 1.0
"""How long a waiter may take to see that another program, which tells nobody, has gone."""


async def visit(face: Face) -> None:
    """Wait for the lock, and give it back."""
    await face.release(await face.acquire(NAME, wait=LONG))
