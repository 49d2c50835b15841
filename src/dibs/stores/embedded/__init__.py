"""The embedded Valkey: one real server for all processes of a user that name the same folder; the last one ends it.

`valkey+embedded:///relative/folder`, `valkey+embedded:////absolute/folder`, or `valkey+embedded://` for the one in the
user's state folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import ConfigError
from dibs.stores.embedded.binary import INSTALL, is_available
from dibs.stores.embedded.location import Folder, folder_of
from dibs.stores.embedded.server import ServerLease, lease_server

if TYPE_CHECKING:
    from dibs.ports.wire import Backend


def open_store(url: str) -> Backend:
    """The server in the folder that a URL names. It is started at the first use."""
    try:
        from dibs.stores.embedded import backend  # noqa: PLC0415 - here the absence of a client can be explained
    except ImportError as error:
        raise ConfigError(f"valkey+embedded:// needs {error.name}: {INSTALL}") from error
    return backend.open_store(url)


__all__ = ["Folder", "ServerLease", "folder_of", "is_available", "lease_server", "open_store"]
