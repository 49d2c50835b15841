"""The pods: three processes, of which one is killed now and then."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from itertools import count

import dibs
from dibs.events import WorkerDied, WorkerEvent, WorkerReady


class Pods:
    """So many processes that serve the steps, each with HTTP on its own port."""

    def __init__(self, number: int, *, port: int, kill_every: float) -> None:
        self._number, self._port, self._kill_every = number, port, kill_every
        self._alive: dict[int, int] = {}
        self.up = threading.Event()
        """Set when the first of them is ready."""
        self._spared = threading.Event()

    def run(self) -> int:
        """Until somebody ends this process; gives its exit code."""
        if self._kill_every:
            threading.Thread(target=self._kill_now_and_then, daemon=True).start()
        client, app = "examples.workflow.orders:d", "examples.workflow.web:app"
        return dibs.supervise(client, workers=self._number, port=self._port, app=app, tell=self._hear)

    def spare(self) -> None:
        """Kill no more of them."""
        self._spared.set()

    def end(self) -> None:
        """As Ctrl-C would."""
        os.kill(os.getpid(), signal.SIGTERM)

    def _hear(self, event: WorkerEvent) -> None:
        match event:
            case WorkerReady(pod, pid):
                print(f"Pod {pod} is process {pid}, at http://127.0.0.1:{self._port + pod}", flush=True)
                self._alive[pod] = pid
                self.up.set()
            case WorkerDied(pod, _, how):
                self._alive.pop(pod, None)
                print(f"Pod {pod} has died: {how}", flush=True)
            case _:
                pass

    def _kill_now_and_then(self) -> None:
        self.up.wait()
        for turn in count():
            if self._spared.wait(self._kill_every):
                return
            pid = self._alive.get(turn % self._number + 1)
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
