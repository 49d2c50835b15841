"""The embedded Valkey: one real server for all processes of a user that name the same folder; the last one ends it.

`valkey+embedded:///relative/folder`, `valkey+embedded:////absolute/folder`, or `valkey+embedded://` for the one in the
user's state folder.
"""

from __future__ import annotations

from dibs.stores.embedded.location import Folder, folder_of
from dibs.stores.embedded.server import ServerLease, lease_server

__all__ = ["Folder", "ServerLease", "folder_of", "lease_server"]
