"""The file on the disk and the log beside it: made, known again, and found to be another one."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dibs.stores.sqlite.location import Location

Identity: TypeAlias = tuple[int, int]
NEVER: Identity = (0, 0)
"""No file's, also not that of a new one which happens to get the number of the old."""


class File:
    """One file by its name, and as which it was opened."""

    def __init__(self, place: Location) -> None:
        self._place, self.path, self._log_path = place, str(place.path), f"{place.path}-wal"
        self._known: Identity | None = None
        self._log: Identity | None = None

    def made(self) -> Identity:
        """See to it that it is there; gives what it is known by."""
        if self._place.is_ours:
            self._place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return _identity(self.path)

    def make_private(self) -> None:
        """Whoever can read it can take every lock."""
        if self._place.path.stat().st_mode & 0o077:
            self._place.path.chmod(0o600)

    def opened_as(self, found: Identity) -> bool:
        """Remember as which it was opened; true if that is another one than before."""
        was, self._known, self._log = self._known, found, None
        return was is not None and was != found

    def is_replaced(self) -> bool:
        """Whether what goes by its name, or by its log's, is not what was opened. Noticed once, it stays so."""
        log, self._log = self._log, _found(self._log_path)
        is_replaced = _found(self.path) != self._known or (log is not None and log != self._log)
        if is_replaced:
            self._known = NEVER
        return is_replaced

    def log_size(self) -> int:
        """In bytes. Nothing if the file was replaced: by its name, the log would be the new one's."""
        with suppress(OSError):
            if _found(self.path) == self._known:
                return os.stat(self._log_path).st_size  # noqa: PTH116 - as below
        return 0

    def secure_log(self) -> None:
        """Wait until the disk has all of it. Where there is none, it was brought home, which waits as well."""
        with suppress(FileNotFoundError):
            handle = os.open(self._log_path, os.O_RDONLY)  # no lock is on the log that closing it could drop
            try:
                _wait_for_disk(handle)
            finally:
                os.close(handle)


def _wait_for_disk(handle: int) -> None:
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - needed on one platform only

        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # the usual call leaves it to the disk when to write
    else:
        os.fdatasync(handle)


def _found(path: str) -> Identity | None:
    try:
        return _identity(path)
    except FileNotFoundError:
        return None


def _identity(path: str) -> Identity:
    found = os.stat(path)  # noqa: PTH116 - looked at again and again
    return found.st_dev, found.st_ino
