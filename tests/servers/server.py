"""A real server for tests to start, pause, kill and start again."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import hiredis

from tests.chaos.stage import LONG
from tests.servers import resp
from tests.servers.certificate import Certificate
from tests.servers.kinds import Kind
from tests.servers.leashed import Leashed, NotStarted
from tests.servers.ports import HOST, Port

READY = "eady to accept connections"
LATELY = 30


class Server:
    """A server of our own, on a port and on a socket in a folder of its own; it ends with whoever has started it.

    Lines of configuration are the last word on what they say: `Server(kind, "maxmemory-policy allkeys-lru")`. `users`
    are names and rules, as in `{"app": "on >secret ~* &* +@all"}`, and `env` comes on top of our own environment.
    """

    def __init__(
        self,
        kind: Kind,
        *lines: str,
        password: str = "",
        users: Mapping[str, str] | None = None,
        appendonly: bool = False,
        env: Mapping[str, str] | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        program = kind.program()
        if program is None:
            raise NotStarted(kind.missing)
        self._folder = Path(tempfile.mkdtemp(prefix="dibs-server-", dir="/tmp"))  # a socket wants a short path
        self._data, self.socket = self._folder / "data", self._folder / "socket"
        self._port, self._tls_port = Port(), Port() if certificate else None
        self._password, self._certificate, self._env = password, certificate, {**os.environ, **(env or {})}
        self._command = [program, str(self._folder / "server.conf")]
        rules = [f"user {user} {rule}" for user, rule in (users or {}).items()]
        more = [*rules, "appendonly yes" if appendonly else "", *lines]
        (self._folder / "server.conf").write_text("\n".join([*self._words(), *more, ""]))
        self._process: Leashed | None = None
        self._said: list[str] = []

    @property
    def port(self) -> int:
        return self._port.number

    @property
    def entrance(self) -> int:
        """The port where others come in: over TLS, if it has a certificate."""
        return self._tls_port.number if self._tls_port else self.port

    @property
    def url(self) -> str:
        """For the default user, over TCP."""
        return f"redis://{_login('', self._password)}{HOST}:{self.port}/0"

    @property
    def socket_url(self) -> str:
        """For the default user, over the socket."""
        return f"unix://{_login('', self._password)}{self.socket}"

    @property
    def tls_url(self) -> str:
        """Over TLS, for a server that has a certificate and no password."""
        assert self._certificate is not None
        assert self._tls_port is not None
        return self._certificate.url(self._tls_port.number)

    def url_of(self, user: str, password: str) -> str:
        """For a user, over TCP."""
        return f"redis://{_login(user, password)}{HOST}:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None, "it is not running"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.is_running

    @property
    def log(self) -> str:
        """All that it has said so far, over all its lives."""
        return "".join(self._said)

    def told(self) -> str:
        """What it says now, and what it has said last."""
        try:
            now = self.ask("ROLE", within=1.0)
        except (OSError, hiredis.ReplyError) as error:
            now = repr(error)
        return f"{self!r}: {now}\n{''.join(self._said[-LATELY:])}"

    def start(self) -> None:
        """Start it, with the data that it has left, and wait until it answers."""
        assert self._process is None, "it is running"
        self._data.mkdir(exist_ok=True)
        started = Leashed(self._command, self._folder, ready=READY, said=self._said, env=self._env)
        self._process = started
        if not (started.comes_up() and self._answers()):
            self.kill()
            raise started.not_started()

    def stop(self) -> None:
        """Ask it to end, which keeps its data, and make it end if it does not."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """End it at once; what is not in the append-only file is forgotten."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def pause(self) -> None:
        """Hold it up wherever it is, with its connections open; it stands still when this returns."""
        assert self._process is not None, "it is not running"
        self._process.pause()

    def resume(self) -> None:
        """Let it run again."""
        assert self._process is not None, "it is not running"
        self._process.resume()

    def restart(self, *, empty: bool = False) -> None:
        """Start it again where it was, after a stop if it still runs, with the data it has left or with none."""
        self.stop()
        if empty:
            shutil.rmtree(self._data)
        self.start()

    def flush(self) -> None:
        """Make it forget all keys, scripts and functions, and whom it keeps waiting."""
        for words in ("FLUSHALL SYNC", "SCRIPT FLUSH SYNC", "FUNCTION FLUSH SYNC", "CLIENT UNPAUSE"):
            self.ask(*words.split())

    def ask(self, *words: str, within: float = LONG) -> Any:
        """One command over its socket, as the default user."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(within)
            line.connect(str(self.socket))
            replies = _replies(line)
            if self._password:
                line.sendall(resp.command("AUTH", self._password))
                next(replies)
            line.sendall(resp.command(*words))
            reply = next(replies)
        if isinstance(reply, hiredis.ReplyError):
            raise reply
        return reply

    def remove(self) -> None:
        """Whatever is left of it, at once: its data goes too."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
        for port in filter(None, (self._port, self._tls_port)):
            port.close()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<Server on port {self.port}, {f'pid {self.pid}' if self.is_running else 'not running'}>"

    def _words(self) -> Iterator[str]:
        yield f"bind {HOST}"
        yield f"port {self.port}"
        yield f"unixsocket {self.socket}"
        yield f"dir {self._data}"
        yield "save ''"
        yield "shutdown-on-sigterm save force"
        if self._password:
            yield f"requirepass {self._password}"
        if self._certificate is not None and self._tls_port is not None:
            yield f"tls-port {self._tls_port.number}"
            yield from self._certificate.lines()

    def _answers(self) -> bool:
        try:
            return bool(self.ask("PING"))
        except hiredis.ReplyError:
            return True  # it wants to know who asks
        except OSError:
            return False


def _login(user: str, password: str) -> str:
    return f"{quote(user, safe='')}:{quote(password, safe='')}@" if password else ""


def _replies(line: socket.socket) -> Iterator[Any]:
    reader = hiredis.Reader(encoding="utf-8", errors="replace")
    while True:
        while (reply := reader.gets()) is not False:
            yield reply
        if not (data := line.recv(65536)):
            raise ConnectionError("it has hung up")
        reader.feed(data)
