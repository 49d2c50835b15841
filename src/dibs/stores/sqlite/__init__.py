"""The embedded store: a SQLite file for all processes of one user on one machine.

`sqlite:///relative/file`, `sqlite:////absolute/file`, or `sqlite://` for the one in the user's state folder.
"""

from __future__ import annotations

from dibs.stores.sqlite.location import Location, default_location
from dibs.stores.sqlite.wire import SqliteBackend, open_at, open_store

__all__ = ["Location", "SqliteBackend", "default_location", "open_at", "open_store"]
