"""Where the server lives: its folder, its socket, and whether that is a place for them."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from dibs.errors import ConfigError
from dibs.stores.machine import LONGEST_PATH, LONGEST_SOCKET, Place, folder_fault, socket_folder, state_folder

DEFAULT = "valkey"
SOCKET = "valkey.sock"
LOG = "valkey.log"
USERS, DOOR, GUARD, SERVER = "users.lock", "door.lock", "guard.lock", "server.lock"


class Folder(Place):
    """A folder for an embedded server and its data."""

    __slots__ = ()
    scheme, kind = "valkey+embedded", "folder"


def folder_of(url: str) -> Folder:
    """The folder that a URL names, or the user's own."""
    return Folder.named(url) or Folder(state_folder() / DEFAULT, is_ours=True)


def made_ready(folder: Folder) -> Path:
    """The true path of the folder, which is made if it is missing; `ConfigError` if it is no place for a server."""
    path = refuse_unfit(folder)
    if folder.is_ours:
        _make(path.parent, parents=True)
    for private in _private(path):
        _refuse_public(private, _make(private))
    return path


def refuse_unfit(folder: Folder) -> Path:
    """The true path of the folder; `ConfigError` if it is, or would be, no place for a server. Nothing is made."""
    path = Path(os.path.realpath(folder.path))
    if fault := _fault(path, is_ours=folder.is_ours):
        raise ConfigError(f"no embedded Valkey in {path}: {fault}")
    for private in _private(path):
        if private.exists():
            _refuse_public(private, private.lstat())
    return path


def socket_of(folder: Path) -> Path:
    """Where the server listens: in its folder or, if that path is too long for a socket, in a temporary one."""
    inside = folder / SOCKET
    if len(os.fsencode(inside)) <= LONGEST_SOCKET:
        return inside
    name = hashlib.blake2b(os.fsencode(folder), digest_size=8).hexdigest()
    return socket_folder() / f"{name}.valkey"


def _private(path: Path) -> set[Path]:
    """The folders that nobody else may reach."""
    return {path, socket_of(path).parent}


def _fault(path: Path, *, is_ours: bool) -> str | None:
    if len(os.fsencode(path / USERS)) > LONGEST_PATH:
        return "the path is too long; name a shorter one"
    try:
        return folder_fault(path if path.exists() else path.parent, is_made=is_ours)
    except OSError as error:
        return f"{error.strerror or error}; name a folder that can be made and written"


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
