"""Where the file is, and whether that is a place for it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from dibs.errors import ConfigError
from dibs.stores.machine import LONGEST_PATH, Place, folder_fault, state_folder

FILE = "dibs.sqlite"
MAGIC = b"SQLite format 3\0"


class Location(Place):
    """A file for the embedded store."""

    __slots__ = ()
    scheme, kind = "sqlite", "file"


def location(url: str) -> Location:
    """The file that a URL names: `sqlite:///relative/file`, `sqlite:////absolute/file`, `sqlite://` for the default."""
    return Location.named(url) or default_location()


def default_location() -> Location:
    """The user's own: one for all programs of that user on this machine."""
    return Location(state_folder() / FILE, is_ours=True)


def refuse_unfit(place: Location, *, may_read: bool = True) -> None:
    """Say at once what would fail at the first use: a missing, foreign, unwritable or shared folder or file."""
    try:
        path = Path(os.path.realpath(place.path))  # where SQLite would write: the file itself may be a link
        fault = folder_fault(path.parent, is_made=place.is_ours) or _file_fault(path, may_read=may_read)
    except OSError as error:
        fault = f"{error.strerror or error}: name a file that can be reached"
    if fault:
        raise ConfigError(f"no embedded store at {place.path}: {fault}")


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
