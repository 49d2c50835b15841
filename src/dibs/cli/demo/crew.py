"""The four processes, as the primary has them: started, stopped, killed, started again, and all ended in the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dibs.cli.demo.worker import FACES, LONGEST_GOODBYE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAMES = tuple(f"worker-{number}" for number in range(1, 5))
BY_HAND = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals by which somebody may end a worker to see what happens."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the demo takes place."""

    url: str
    namespace: str
    folder: Path

    @property
    def ledger(self) -> Path:
        """The resource's file; it has nothing to do with the store's."""
        return self.folder / "ledger.sqlite"


class Member:
    """One worker by name, whichever process plays it at the moment."""

    def __init__(self, name: str, face: str, place: Place) -> None:
        self.name, self.face, self._place = name, face, place
        self._complaints = place.folder / f"{name}.stderr"
        self._process = self._started()
        self.is_frozen = False

    @property
    def pid(self) -> int:
        """Of the process that plays it now, or did."""
        return self._process.pid

    def start(self) -> None:
        """Let a new process play it, the last one being dead."""
        self._let_go()
        self._process, self.is_frozen = self._started(), False

    def freeze(self) -> bool:
        """Stop it in the middle of whatever it does; false if it is dead."""
        if self._process.poll() is not None:
            return False
        self._process.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        self.is_frozen = os.WIFSTOPPED(status)
        if not self.is_frozen:
            self._process.returncode = os.waitstatus_to_exitcode(status)
        return self.is_frozen

    def thaw(self) -> None:
        """Let it go on as if nothing had happened."""
        self._process.send_signal(signal.SIGCONT)
        self.is_frozen = False

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()
        self._process.wait()

    def exit_code(self) -> int | None:
        """How it ended, if it has."""
        return self._process.poll()

    def was_killed(self) -> bool:
        """Whether somebody ended it, rather than a fault of its own."""
        return -(self.exit_code() or 0) in BY_HAND

    def complaint(self) -> str:
        """The last it said before it failed."""
        lines = self._complaints.read_text(errors="replace").splitlines()
        return next((line for line in reversed(lines) if line.strip()), f"exit code {self.exit_code()}")

    def dismiss(self) -> None:
        """Ask it to end, also if it stands still."""
        self._let_go()
        self.thaw()

    def bury(self, give_up_at: float) -> None:
        """See it end, by force if need be."""
        try:
            self._process.wait(max(give_up_at - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            self.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        # In a process group of its own: so Ctrl-C is for the primary alone, and one that stands still when the
        # primary is killed is not left behind (the kernel sends SIGHUP and SIGCONT to a stopped group it orphans).
        words = (sys.executable, "-P", "-m", "dibs.cli.demo.worker", self.name, self.face)
        with self._complaints.open("wb") as complaints:
            return subprocess.Popen(  # noqa: S603 - it is ourselves
                [*words, str(self._place.ledger), self._place.namespace],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                env=_environment(self._place.url),
                process_group=0,
            )

    def _let_go(self) -> None:
        """End its stdin, which is how it knows that it is to end."""
        if self._process.stdin is not None:
            self._process.stdin.close()


class Crew:
    """All of them. Nobody outlives the block, nor the primary, however it ends."""

    def __init__(self, place: Place) -> None:
        self.members: list[Member] = []
        self._place = place
        self._stopped: list[Member] = []

    def __getitem__(self, name: str) -> Member:
        return self.members[NAMES.index(name)]

    def freeze(self) -> None:
        """Let everybody stand still."""
        self._stopped = [member for member in self.members if not member.is_frozen and member.freeze()]

    def thaw(self) -> None:
        """Let everybody go on that did before."""
        for member in self._stopped:
            member.thaw()

    def dismiss(self) -> None:
        """Let everybody finish its turn and end."""
        for member in self.members:
            member.dismiss()
        give_up_at = time.monotonic() + LONGEST_GOODBYE + 1
        for member in self.members:
            member.bury(give_up_at)

    def __enter__(self) -> Self:
        try:
            for number, name in enumerate(NAMES):
                self.members.append(Member(name, FACES[number % len(FACES)], self._place))
        except BaseException:
            self.dismiss()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:  # no time for a farewell; and if the store is out of reach, they could not finish a turn
            for member in self.members:
                member.kill()
        self.dismiss()


def _environment(url: str) -> Mapping[str, str]:
    """The worker's: it imports what we do, and knows of no store but ours."""
    return {**os.environ, "DIBS_URL": url, "PYTHONPATH": os.pathsep.join(sys.path)}
