"""A primary to watch: in a thread of the test, or as a program that can be sent signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, Self

from dibs.model.restarts import Patience
from dibs.runtime.supervisor import Program, Supervisor
from dibs.testing.contract import Diary
from tests.servers.ports import HOST, Row

ROOT = Path(__file__).parents[2]
LONG = 30.0
SHOP = "tests.supervisor.shop:d"


@contextmanager
def ports(length: int) -> Iterator[int]:
    """The port before so many free ones."""
    with closing(Row(length)) as row:
        yield row.before


def ask(port: int, path: str, method: str = "GET") -> tuple[int, Any]:
    """What a worker answers there."""
    with closing(HTTPConnection(HOST, port, timeout=LONG)) as line:
        line.request(method, path)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())


class Watched:
    """A supervisor in a thread, without signals; it ends with the block."""

    def __init__(
        self, workers: int, port: int | None = None, *, target: str = SHOP, patience: Patience | None = None
    ) -> None:
        self.diary = Diary()
        program = Program(
            target=target, host=HOST, port=port, app="tests.supervisor.shop:app" if port else None, grace=5.0
        )
        self.supervisor = Supervisor(program, workers, tell=self.diary.on, patience=patience)
        self._thread = threading.Thread(target=self._run)
        self.code: int | None = None

    def _run(self) -> None:
        self.code = self.supervisor.run()

    def join(self) -> int | None:
        """See it end by itself."""
        self._thread.join(LONG)
        assert not self._thread.is_alive(), self.diary.events
        return self.code

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for _attempt in range(3):
            self.supervisor.ask_to_leave("the test is over")
        self.join()


class Serve:
    """`dibs serve …` as a program, and the lines that it and its workers write."""

    def __init__(self, *words: str, env: Mapping[str, str] | None = None, stdin: int = subprocess.DEVNULL) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dibs", "serve", *words],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self.pid, self.seen, self._lines = self._process.pid, "", SimpleQueue[str | None]()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        self._give_up_at = time.monotonic() + LONG

    def refuse_to_wait_for_ever(self) -> None:
        assert time.monotonic() < self._give_up_at, self.seen

    def _read(self, out: IO[str]) -> None:
        for line in out:
            self._lines.put(line)
        self._lines.put(None)

    def hear(self, pattern: str) -> re.Match[str]:
        """Read on until a line is like that."""
        while (line := self._next(pattern)) is not None:
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"it ended without {pattern!r}:\n{self.seen}")

    def hear_the_rest(self) -> str:
        """What is written until the last of its processes has ended."""
        before = len(self.seen)
        while self._next("the end") is not None:
            pass
        return self.seen[before:]

    def ready(self, worker: int) -> int:
        """Wait until that worker is ready; gives its process."""
        return int(self.hear(rf"worker {worker} \(process (\d+)\) is ready").group(1))

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        return self._process.wait(LONG)

    def _next(self, awaited: str) -> str | None:
        try:
            line = self._lines.get(timeout=LONG)
        except Empty:
            raise AssertionError(f"waited in vain for {awaited!r}:\n{self.seen}") from None
        self.seen += line or ""
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # its workers notice
        self._process.wait(LONG)
        self._reader.join(LONG)
        assert self._process.stdout is not None
        self._process.stdout.close()
