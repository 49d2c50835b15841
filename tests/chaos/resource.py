"""What locks protect: a file of its own, never the lock store, that refuses whoever comes with an older fence."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


class StaleFence(Exception):
    """Somebody with a newer fence was here already."""


@dataclass
class Contents:
    fence: int = 0
    value: str = ""
    accepted: int = 0
    refused: int = 0


class Resource:
    """A value, and the highest fence it was ever written with."""

    def __init__(self, file: str | Path) -> None:
        self._file = Path(file)
        self._file.touch()

    def write(self, fence: int, value: str) -> None:
        """Write, as the holder of that fence; each write must have a higher one than all before."""
        with self._opened() as contents:
            if fence <= contents.fence:
                contents.refused += 1
            else:
                contents.fence, contents.value = fence, value
                contents.accepted += 1
                return
        raise StaleFence(fence)

    def contents(self) -> Contents:
        with self._opened() as contents:
            return contents

    @contextmanager
    def _opened(self) -> Iterator[Contents]:
        with self._file.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            text = file.read()
            contents = Contents(**json.loads(text)) if text else Contents()
            yield contents
            file.seek(0)
            file.truncate()
            file.write(json.dumps(asdict(contents)))
            file.flush()
