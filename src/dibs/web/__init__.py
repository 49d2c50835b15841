"""HTTP beside the jobs: a small application that you may extend, and who of the workers this process is.

Only this room needs Starlette and uvicorn, and fetches them when a name is first used that needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.web.presence import worker_id

if TYPE_CHECKING:
    from dibs.web.admin import admin_routes
    from dibs.web.application import app

__all__ = ["admin_routes", "app", "worker_id"]

_HOMES = {"admin_routes": "dibs.web.admin", "app": "dibs.web.application"}


if not TYPE_CHECKING:  # or a checker would take any misspelt name for granted

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'dibs.web' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - needed by few

        from dibs.web.extra import needed_by  # noqa: PLC0415 - as above

        with needed_by(f"dibs.web.{name}"):
            found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found
