"""A real PostgreSQL for tests: in a folder of its own, on a socket there, and gone with whoever has started it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Self

from tests.chaos.moments import LONG
from tests.servers.server import REPORT_AND_BECOME, NotStarted
from tests.servers.watchdog import watchdog

READY = "ready to accept connections"
OF_DEBIAN = Path("/usr/lib/postgresql")
SETTINGS = ("listen_addresses=", "fsync=off", "max_connections=30", "shared_buffers=16MB")
MISSING = "no PostgreSQL on this machine"


@cache
def program(name: str) -> str | None:
    """Where Debian has it, or in the path."""
    found = [str(file) for file in sorted(OF_DEBIAN.glob(f"*/bin/{name}"))]
    return found[-1] if found else shutil.which(name)


@cache
def account() -> int | None:
    """Whose it is: PostgreSQL does not run as root."""
    if os.getuid() != 0:
        return os.getuid()
    with suppress(KeyError):
        return pwd.getpwnam("postgres").pw_uid
    return None


def is_there() -> bool:
    return program("postgres") is not None and program("initdb") is not None and account() is not None


class Postgres:
    """A server with one database, which everybody may use."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="dibs-postgres-", dir="/tmp"))  # a socket wants a short path
        self._said: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._listener = threading.Thread()

    @property
    def dsn(self) -> str:
        return f"host={self._folder} dbname=postgres user=tests"

    @property
    def url(self) -> str:
        """For SQLAlchemy."""
        return f"postgresql+psycopg://tests@/postgres?host={self._folder}"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def _start(self) -> None:
        owner = account()
        assert owner is not None, MISSING
        os.chown(self._folder, owner, -1)
        data = str(self._folder / "data")
        words = [str(program("initdb")), "--pgdata", data, "--username=tests", "--auth=trust", "--no-sync"]
        words += ["--encoding=UTF8", "--no-locale"]
        made = subprocess.run(words, capture_output=True, text=True, check=False, **self._as())
        if made.returncode:
            raise NotStarted(made.stdout + made.stderr)
        settings = [word for setting in SETTINGS for word in ("-c", setting)]
        command = [str(self._folder), str(program("postgres")), "-D", data, "-k", str(self._folder), *settings]
        self._process = subprocess.Popen(
            ["sh", "-c", REPORT_AND_BECOME, *command],
            stdin=watchdog().leash,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            **self._as(),
        )
        ready = threading.Event()
        self._listener = threading.Thread(target=self._listen, args=(self._process.stdout, ready), daemon=True)
        self._listener.start()
        if not ready.wait(LONG) or self._process.poll() is not None:
            raise NotStarted("".join(self._said))

    def _as(self) -> dict[str, Any]:
        return {"cwd": self._folder} | ({"user": account()} if os.getuid() == 0 else {})

    def _listen(self, said: IO[str], ready: threading.Event) -> None:
        for line in said:
            self._said.append(line)
            if READY in line:
                ready.set()
        ready.set()  # it has ended: nobody need wait for it

    def _remove(self) -> None:
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LONG)
            self._process.kill()
            self._process.wait(LONG)
            watchdog().forget(self._process.pid)
            self._listener.join(LONG)
            assert self._process.stdout is not None
            self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)
