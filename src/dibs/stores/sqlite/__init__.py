"""The embedded store: a SQLite file for all processes of one user on one machine.

`sqlite:///relative/file`, `sqlite:////absolute/file`, or `sqlite://` for the one in the user's state folder.
"""

from __future__ import annotations

from dibs.stores.sqlite.backend import SqliteBackend, open_store
from dibs.stores.sqlite.location import Location

__all__ = ["Location", "SqliteBackend", "open_store"]
