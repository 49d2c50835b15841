"""The packages that only this room needs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator

PACKAGES = ("starlette", "uvicorn")


@contextmanager
def needed_by(what: str) -> Generator[None]:
    """Whoever has not installed them is told how to."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in PACKAGES:
            raise
        raise ConfigError(f"{what} needs {' and '.join(PACKAGES)}: pip install 'dibs-lock[web]'") from None
