"""A client where the extra [web] is not installed."""

from __future__ import annotations

import sys

import dibs

for package in ("starlette", "uvicorn"):
    sys.modules[package] = None  # type: ignore[assignment]

d = dibs.connect("memory://", quiet=True)


async def app(scope: object, receive: object, send: object) -> None:
    """An application that needs neither."""
