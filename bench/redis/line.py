"""Where the server is, and a plain connection to it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOST = "127.0.0.1"


def url(port: int) -> str:
    """What we ourselves are told of it."""
    return f"redis://{HOST}:{port}/0"


def line(port: int) -> Any:
    """A connection to look at it, or to tell it something."""
    return import_module("redis").Redis(host=HOST, port=port)
