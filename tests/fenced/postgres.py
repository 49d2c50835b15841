"""A real PostgreSQL for tests: in a folder of its own, on a socket there, and gone with whoever has started it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

from tests.servers.leashed import Leashed, NotStarted

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
        self._process: Leashed | None = None

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
        made = subprocess.run(words, capture_output=True, text=True, check=False, cwd=self._folder, **_as())
        if made.returncode:
            raise NotStarted(made.stdout + made.stderr)
        settings = [word for setting in SETTINGS for word in ("-c", setting)]
        command = [str(program("postgres")), "-D", data, "-k", str(self._folder), *settings]
        self._process = Leashed(command, self._folder, ready=READY, said=[], **_as())
        if not self._process.comes_up():
            raise self._process.not_started()

    def _remove(self) -> None:
        if self._process is not None:
            self._process.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _as() -> dict[str, Any]:
    return {"user": account()} if os.getuid() == 0 else {}
