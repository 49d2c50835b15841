"""What a primary and a worker have between them: a pair of sockets, and a few words on it.

A worker says that it lives, that it is ready, or why it cannot be; the primary asks it to leave, or to hurry. Whoever
dies closes its end, and the other learns of it at once.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from dibs.model.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKER_ID = "DIBS_WORKER_ID"
"""The variable that tells a process which worker it is."""
LIFELINE = "DIBS_LIFELINE"
"""The variable that tells it which of its files is its end."""
PATH = "DIBS_PATH"
"""The variable that tells it where its primary finds modules: it is to find the same ones."""
LONGEST_WORD = 4096

Word = Literal["beat", "ready", "fault", "leave", "hurry"]
WORDS: tuple[Word, ...] = ("beat", "ready", "fault", "leave", "hurry")


@value
class Said:
    """One word, and what was said with it."""

    word: Word
    text: str = ""


class Lifeline:
    """One end."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self._unread = end, b""
        self.is_over = False
        end.settimeout(0)

    @classmethod
    def inherited(cls) -> Lifeline | None:
        """The end that our primary has left us; `None` if we have no primary. What we start in turn gets none."""
        said = os.environ.pop(LIFELINE, "")
        if not said.isdecimal():
            return None
        try:
            end = socket.socket(fileno=int(said))
        except OSError:  # the variable has come to us from somebody else's environment
            return None
        end.set_inheritable(False)
        return cls(end)

    def fileno(self) -> int:
        """So that it can be waited for."""
        return self._end.fileno()

    def say(self, word: Word, text: str = "") -> None:
        """Say it, unless there is nobody to hear it."""
        line = f"{word} {' '.join(text.split())}".encode()[:LONGEST_WORD] + b"\n"
        with suppress(OSError):  # gone, or it has not read for hours
            self._end.send(line)

    def heard(self) -> Iterator[Said]:
        """What was said since; afterwards `is_over` tells whether the other end is closed."""
        try:
            while chunk := self._end.recv(65536):
                self._unread += chunk
            self.is_over = True
        except BlockingIOError:
            pass
        except OSError:
            self.is_over = True
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            word, _, text = line.decode(errors="replace").partition(" ")
            yield from (Said(known, text) for known in WORDS if known == word)

    def close(self) -> None:
        """Hang up."""
        self._end.close()

    def keep(self) -> None:
        """Leave it to the end of this process to hang up: whoever hears of that finds it dead."""
        self._end.detach()
