"""What a run logs: to the logger of its job's own module, and into the job's history."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from dibs.model.bounded import bounded

if TYPE_CHECKING:
    Adapter = logging.LoggerAdapter[logging.Logger]
else:
    Adapter = logging.LoggerAdapter

MOST_LINES = 200
MOST_TEXT = 8_000
"""So many characters of a run's lines are kept: the last ones."""
LONGEST_LINE = 1_000


class Lines:
    """The last lines of one run. Threads may share it."""

    def __init__(self, heard: Callable[[str], object] | None = None) -> None:
        self._lines, self._size, self._changing = deque[str](), 0, Lock()
        self._heard = heard

    def add(self, line: str) -> None:
        """Keep a line, and let go of those that there is no room for any more."""
        line = bounded(line, LONGEST_LINE)
        with self._changing:
            self._lines.append(line)
            self._size += len(line)
            while len(self._lines) > MOST_LINES or self._size > MOST_TEXT:
                self._size -= len(self._lines.popleft())
        if self._heard is not None:
            self._heard(line)

    def kept(self) -> tuple[str, ...]:
        """All that there is room for."""
        with self._changing:
            return tuple(self._lines)


class RunLog(Adapter):
    """A logger for one run. The history keeps its lines from INFO on, also where nobody has set up logging."""

    def __init__(self, logger: logging.Logger, facts: Mapping[str, object], lines: Lines) -> None:
        super().__init__(logger, facts)
        self._lines = lines

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if level >= logging.INFO or self.isEnabledFor(level):
            self._lines.add(_line(level, msg, args, kwargs.get("exc_info")))
        super().log(level, msg, *args, **{**kwargs, "stacklevel": kwargs.get("stacklevel", 1) + 1})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        return msg, {**kwargs, "extra": {**(self.extra or {}), **(kwargs.get("extra") or {})}}


def _line(level: int, msg: object, args: tuple[object, ...], error: object) -> str:
    record = logging.LogRecord("", level, "", 0, msg, args, None)
    try:
        said = record.getMessage()
    except Exception:  # noqa: BLE001 - logging itself complains of it
        said = str(msg)
    if isinstance(error, BaseException):
        said = f"{said} ({type(error).__name__}: {error})"
    return f"{datetime.now(UTC):%H:%M:%S} {logging.getLevelName(level)} {said}"
