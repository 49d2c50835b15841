"""Where the server lives: its folder, its socket, and whether that is a place for them."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from dibs.errors import ConfigError
from dibs.stores.sqlite.hints import LONGEST_PATH as LONGEST_SOCKET
from dibs.stores.sqlite.hints import mailbox_folder
from dibs.stores.sqlite.location import LONGEST_PATH, Location, default_location, location, refuse_unfit

DEFAULT = "valkey"
SOCKET = "valkey.sock"
LOG = "valkey.log"
USERS, DOOR, GUARD, SERVER = "users.lock", "door.lock", "guard.lock", "server.lock"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder for an embedded server and its data."""

    path: Path
    is_ours: bool = False
    """Whether it is dibs' own: the folders around it are made as well."""

    @property
    def url(self) -> str:
        """As people write it."""
        return f"valkey+embedded:///{quote(os.fsencode(self.path))}"


def folder_of(url: str) -> Folder:
    """The folder that a URL names, or the user's own."""
    rest = url.partition("://")[2]
    if not rest:
        return Folder(default_location().path.with_name(DEFAULT), is_ours=True)
    host, _, path = rest.partition("/")
    if host or not path:
        # Not repeated: what looks like a host may hold a password.
        raise ConfigError(
            "that URL names no folder: write valkey+embedded:///relative/folder or valkey+embedded:////absolute/folder"
        )
    return Folder(location(url).path)


def made_ready(folder: Folder) -> Path:
    """The true path of the folder, which is made if it is missing; `ConfigError` if it is no place for a server."""
    path = Path(os.path.realpath(folder.path))
    if len(os.fsencode(path / USERS)) > LONGEST_PATH:
        raise ConfigError(f"no embedded Valkey in {path}: the path is too long; name a shorter one")
    refuse_unfit(Location(path / USERS, is_ours=True), may_read=False)  # as the folder is, though not all around it
    if folder.is_ours:
        _make(path.parent, parents=True)
    for private in {path, socket_of(path).parent}:
        _refuse_public(private, _make(private))
    return path


def socket_of(folder: Path) -> Path:
    """Where the server listens: in its folder or, if that path is too long for a socket, in a temporary one."""
    inside = folder / SOCKET
    if len(os.fsencode(inside)) <= LONGEST_SOCKET:
        return inside
    name = hashlib.blake2b(os.fsencode(folder), digest_size=8).hexdigest()
    return mailbox_folder(folder) / f"{name}.valkey"


def _make(folder: Path, *, parents: bool = False) -> os.stat_result:
    try:
        folder.mkdir(mode=0o700, parents=parents, exist_ok=True)
        return folder.lstat()
    except OSError as error:
        raise ConfigError(
            f"no embedded Valkey in {folder}: {error.strerror}; name a folder that can be made and written"
        ) from error


def _refuse_public(folder: Path, found: os.stat_result) -> None:
    """Whoever can reach the socket can take every lock."""
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ConfigError(f"no embedded Valkey in {folder}: it is not this user's own folder; name or make one that is")
    if found.st_mode & 0o077:
        raise ConfigError(f"no embedded Valkey in {folder}: it is open to other users; chmod 700 it, or name another")
