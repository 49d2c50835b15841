"""Where the file is, and whether that is a place for it."""

from __future__ import annotations

import os
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from dibs.errors import ConfigError

FILE = "dibs.sqlite"
MOUNTS = "/proc/self/mountinfo"
MAGIC = b"SQLite format 3\0"
LONGEST_PATH = 504

NETWORKED = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|prl_fs|smb[23]|smbfs"
    r"|vboxsf|virtiofs|vmhgfs|fuse\.(?!fuse-overlayfs|lxcfs|mergerfs|ntfs-3g).*"
)
"""File systems behind which another machine may stand: its processes would not see our locks, nor we theirs."""
ESCAPED = re.compile(r"\\([0-7]{3})")
"""A blank, a tab, the end of a line or a backslash, as the kernel's list of mounts has them."""


@dataclass(frozen=True, slots=True)
class Location:
    """A file for the embedded store."""

    path: Path
    is_ours: bool = False
    """Whether its folder is dibs' own: made when it is missing."""

    @property
    def url(self) -> str:
        """As people write it."""
        return f"sqlite:///{quote(os.fsencode(self.path))}"


def default_location() -> Location:
    """The user's own: one for all programs of that user on this machine."""
    try:
        home = Path.home()
    except RuntimeError:
        raise ConfigError("no home folder to keep the embedded store in: set HOME, or DIBS_URL to a store") from None
    usual = home / "Library/Application Support" if sys.platform == "darwin" else home / ".local/state"
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if Path(state).is_absolute() else usual
    return Location(folder / "dibs" / FILE, is_ours=True)


def location(url: str) -> Location:
    """The file that a URL names: `sqlite:///relative/file`, `sqlite:////absolute/file`, `sqlite://` for the default."""
    rest = url.partition("://")[2]
    if not rest:
        return default_location()
    host, _, path = rest.partition("/")
    if host or not path:
        # Not repeated: what looks like a host may hold a password.
        raise ConfigError("that URL names no file: write sqlite:///relative/file or sqlite:////absolute/file")
    if "?" in path or "#" in path:
        raise ConfigError(f"{url!r}: the embedded store takes no options in its URL")
    path = unquote(path, errors="surrogateescape")
    if path == ":memory:":
        raise ConfigError(f"{url!r}: a store in memory goes by memory://")
    if not os.fsencode(path).decode(errors="replace").isprintable():
        raise ConfigError(f"{url!r} holds control characters")
    return Location(Path(path).absolute())


def refuse_unfit(place: Location, *, may_read: bool = True) -> None:
    """Say at once what would fail at the first use: a missing, foreign, unwritable or shared folder or file."""
    try:
        path = Path(os.path.realpath(place.path))  # where SQLite would write: the file itself may be a link
        fault = _folder_fault(_nearest_folder(path, is_ours=place.is_ours)) or _file_fault(path, may_read=may_read)
    except OSError as error:
        fault = f"{error.strerror or error}: name a file that can be reached"
    if fault:
        raise ConfigError(f"no embedded store at {place.path}: {fault}")


def _nearest_folder(path: Path, *, is_ours: bool) -> Path:
    """The folder it is in; or the one that it can be made in, if it is ours to make."""
    folder = path.parent
    while is_ours and not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _folder_fault(folder: Path) -> str | None:
    if not stat.S_ISDIR(folder.stat().st_mode):
        return f"{folder} is not a folder"
    if kind := _network(str(folder)):
        return (
            f"{folder} is on a network or shared file system ({kind}), where locks of other machines are not seen; "
            "name a folder on a local disk, or set DIBS_URL to a Redis or Valkey that all machines share"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} cannot be written by this user; make it writable, or name another with DIBS_URL"
    return None


def _file_fault(path: Path, *, may_read: bool) -> str | None:
    if len(os.fsencode(path)) > LONGEST_PATH:
        return f"SQLite takes no path of more than {LONGEST_PATH} bytes; name a shorter one"
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        return "it is not a regular file; name another"
    if not os.access(path, os.R_OK | os.W_OK):
        return "the file cannot be read and written by this user; mend its permissions, or name another"
    if may_read and not _is_database(path):
        return "the file is not a SQLite database; name another, or move it away"
    return None


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) in {MAGIC, b""}


def _network(folder: str) -> str | None:
    """The kind of file system, if another machine may stand behind it."""
    try:
        mounts = os.fsdecode(Path(MOUNTS).read_bytes())
    except OSError:  # not Linux: we cannot tell
        return None
    kind = file_system(folder, mounts)
    return kind if NETWORKED.fullmatch(kind) else None


def file_system(folder: str, mounts: str) -> str:
    """The kind of file system that a folder is on, by the kernel's list of mounts (the last of the longest wins)."""
    found, longest = "", -1
    for line in mounts.strip("\n").split("\n"):
        before, _, after = line.partition(" - ")
        point = ESCAPED.sub(lambda code: chr(int(code[1], 8)), before.split(" ")[4])
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= longest:
            found, longest = after.split(" ")[0], len(point)
    return found
