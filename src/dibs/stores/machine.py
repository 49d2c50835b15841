"""What the stores of one machine have in common: how their place is named, which will not do, and what they promise."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import quote, unquote

from dibs.errors import ConfigError
from dibs.model.guarantee import Guarantee
from dibs.stores.mounts import network

LONGEST_PATH = 504
"""The most bytes the path of a file may have: SQLite takes no longer one."""
LONGEST_SOCKET, LONGEST_NAME = 100, 24
"""The most bytes the path of a socket may have (systems allow 103 or 107), and how many of them its name may take."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is kept."""

    path: Path
    is_ours: bool = False
    """Whether it is dibs' own: the folders around it are made when they are missing."""

    scheme: ClassVar[str]
    kind: ClassVar[str]
    """What it is: a file, or a folder."""

    @property
    def url(self) -> str:
        """As people write it."""
        return f"{self.scheme}:///{quote(os.fsencode(self.path))}"

    @classmethod
    def named(cls, url: str) -> Self | None:
        """The one that a URL names, by a relative or an absolute path; `None` if it leaves that to us."""
        rest = url.partition("://")[2]
        if not rest:
            return None
        host, _, path = rest.partition("/")
        if host or not path:
            # Not repeated: what looks like a host may hold a password.
            ways = f"{cls.scheme}:///relative/{cls.kind} or {cls.scheme}:////absolute/{cls.kind}"
            raise ConfigError(f"that URL names no {cls.kind}: write {ways}")
        if "?" in path or "#" in path:
            raise ConfigError(f"{url!r}: the embedded store takes no options in its URL")
        path = unquote(path, errors="surrogateescape")
        if path == ":memory:":
            raise ConfigError(f"{url!r}: a store in memory goes by memory://")
        if not os.fsencode(path).decode(errors="replace").isprintable():
            raise ConfigError(f"{url!r} holds control characters")
        return cls(Path(path).absolute())


def state_folder() -> Path:
    """The one of dibs, for all programs of this user on this machine."""
    try:
        home = Path.home()
    except RuntimeError:
        raise ConfigError("no home folder to keep the embedded store in: set HOME, or DIBS_URL to a store") from None
    usual = home / "Library/Application Support" if sys.platform == "darwin" else home / ".local/state"
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if Path(state).is_absolute() else usual) / "dibs"


def folder_fault(folder: Path, *, is_made: bool) -> str | None:
    """What is wrong with a folder, or with the one around it in which it is made; `OSError` if it cannot be reached."""
    while is_made and not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not stat.S_ISDIR(folder.stat().st_mode):
        return f"{folder} is not a folder"
    if kind := network(str(folder)):
        return (
            f"{folder} is on a network or shared file system ({kind}), where locks of other machines are not seen; "
            "name a folder on a local disk, or set DIBS_URL to a Redis or Valkey that all machines share"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} cannot be written by this user; make it writable, or name another with DIBS_URL"
    return None


def socket_folder() -> Path:
    """A temporary one, for sockets whose path would be too long beside what they belong to."""
    import tempfile  # noqa: PLC0415 - needed by few, and brings in a lot

    elsewhere = Path(tempfile.gettempdir()) / f"dibs-{os.getuid()}"
    return elsewhere if has_room(elsewhere) else Path(f"/tmp/dibs-{os.getuid()}")  # noqa: S108 - made private, and checked


def has_room(folder: Path) -> bool:
    """Whether the paths of sockets in it are short enough."""
    return len(os.fsencode(folder)) + 1 + LONGEST_NAME <= LONGEST_SOCKET


def guarantee(server: str, *, clocks: str, durability: str) -> Guarantee:
    """What a store promises that other machines do not share."""
    scope = f"among the processes of this user on this machine that use {server}"
    return Guarantee("fenced", scope, clocks, durability, across_machines=False)
