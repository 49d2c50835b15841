"""A master with two replicas and three sentinels, for tests to fail over, cut off, kill and heal."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Literal, Self

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers.certificate import Certificate
from tests.servers.kinds import Kind
from tests.servers.leashed import Leashed
from tests.servers.patience import until
from tests.servers.ports import HOST, Port
from tests.servers.server import Server

SERVICE = "house"
DOWN_AFTER = 1.0
"""How long a server must be silent before its sentinels give it up: longer than a busy machine lets one stand still."""
ANSWERS = 1.0
"""How long one of them has to answer."""
FAILED_OVER = 15.0
"""How long a failover may take: some seconds, and as many again if it is given up and begun anew."""
LATELY = 30
PASSWORD = "of-the-house"  # noqa: S105 - of servers that live for one test
USERS = {"watch": "on >watching ~* &* +@all", "copy": "on >copying ~* &* +@all"}
"""Sentinels and replicas have users of their own: whoever shuts these out is cut off, and clients still come in."""
LINES = (
    "masteruser copy",
    "masterauth copying",
    "repl-diskless-sync yes",
    "repl-diskless-sync-delay 0",
    "repl-diskless-load on-empty-db",
    "repl-ping-replica-period 1",
    "repl-backlog-size 1mb",
)


class Sentinel:
    """One of those who watch."""

    def __init__(
        self, kind: Kind, *, lines: Sequence[str] = (), login: Mapping[str, Any], certificate: Certificate | None = None
    ) -> None:
        self._login, self.name, self._lines, self._certificate = login, secrets.token_hex(20), lines, certificate
        self._folder, self._port = Path(tempfile.mkdtemp(prefix="dibs-sentinel-", dir="/tmp")), Port()
        program = kind.program()
        assert program is not None
        self._command = [program, str(self._folder / "sentinel.conf"), "--sentinel"]
        self._said: list[str] = []
        self._process: Leashed | None = None

    @property
    def port(self) -> int:
        return self._port.number

    def ask(self, *words: str) -> Any:
        """One command."""
        with self._client(decode_responses=True) as client:
            return client.execute_command(*words)

    def master(self) -> int:
        """The port of the server that it takes for the master."""
        return int(self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)[1])

    def facts(self) -> dict[str, Any]:
        """What it knows of the service."""
        with self._client() as client:
            return dict(client.sentinel_master(SERVICE))

    def told(self) -> str:
        """What it says now, and what it has said last."""
        try:
            now = str(self.facts())
        except redis.RedisError as error:
            now = repr(error)
        return f"sentinel on port {self.port}: {now}\n{''.join(self._said[-LATELY:])}"

    def watch(self, master: Server, replicas: Sequence[Server], others: Sequence[Sentinel]) -> None:
        """What it knows from the start: to find it out would take it some seconds."""
        known = [f"sentinel known-replica {SERVICE} {HOST} {replica.entrance}" for replica in replicas]
        known += [f"sentinel known-sentinel {SERVICE} {HOST} {other.port} {other.name}" for other in others]
        words = [
            f"bind {HOST}",
            *self._doors(),
            f"dir {self._folder}",
            *self._lines,
            f"sentinel myid {self.name}",
            f"sentinel monitor {SERVICE} {HOST} {master.entrance} 2",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER * 1000:.0f}",
            f"sentinel failover-timeout {SERVICE} 2000",
            f"sentinel parallel-syncs {SERVICE} 2",
            f"sentinel auth-user {SERVICE} watch",
            f"sentinel auth-pass {SERVICE} watching",
            *known,
        ]
        (self._folder / "sentinel.conf").write_text("\n".join([*words, ""]))

    def start(self) -> None:
        self._process = Leashed(self._command, self._folder, ready="Sentinel ID is", said=self._said)
        if not self._process.comes_up():
            raise self._process.not_started()
        # A sentinel that stood still for two seconds would do nothing for thirty more.
        self.ask("SENTINEL", "DEBUG", "TILT-TRIGGER", "60000")

    def pause(self) -> None:
        assert self._process is not None
        self._process.pause()

    def resume(self) -> None:
        assert self._process is not None
        self._process.resume()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _client(self, **how: Any) -> redis.Redis:
        limits: dict[str, Any] = {
            "socket_timeout": ANSWERS,
            "socket_connect_timeout": ANSWERS,
            "retry": Retry(NoBackoff(), 0),
        }
        if self._certificate is not None:
            limits |= {"ssl": True, "ssl_ca_certs": str(self._certificate.certificate)}
        return redis.Redis(host=HOST, port=self.port, **limits, **self._login, **how)

    def _doors(self) -> Sequence[str]:
        if self._certificate is None:
            return [f"port {self.port}"]
        return ["port 0", f"tls-port {self.port}", "tls-replication yes", *self._certificate.lines()]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._port.close()


class House:
    """All of them."""

    def __init__(
        self,
        kind: Kind,
        *lines: str,
        replicas: int = 2,
        sentinel_lines: Sequence[str] = (),
        login: Mapping[str, Any] | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        self._kind, self._count, self._certificate = kind, replicas, certificate
        self._lines = [*LINES, *lines, "tls-replication yes" if certificate else ""]
        self._sentinel_lines, self._login = sentinel_lines, login or {}
        self._all = ExitStack()
        self.servers: list[Server] = []
        self.sentinels: list[Sentinel] = []

    @property
    def url(self) -> str:
        places = ",".join(f"{HOST}:{sentinel.port}" for sentinel in self.sentinels)
        if self._certificate is None:
            return f"redis+sentinel://:{PASSWORD}@{places}/{SERVICE}"
        return f"rediss+sentinel://:{PASSWORD}@{places}/{SERVICE}?ssl_ca_certs={self._certificate.certificate}"

    @property
    def master(self) -> Server:
        """By the word of most sentinels."""
        said = sorted(sentinel.master() for sentinel in self.sentinels)
        return self.at(said[len(said) // 2])

    @property
    def replicas(self) -> list[Server]:
        """Those that follow it now."""
        master = self.master
        return [server for server in self.servers if server is not master and server.is_running]

    def at(self, port: int) -> Server:
        """The one that listens there."""
        return next(server for server in self.servers if server.entrance == port)

    def flush(self) -> None:
        """Have it forget all keys and scripts."""
        self.master.flush()

    def fail_over(self) -> Server:
        """By command; gives the new master, of which all sentinels know."""
        before = self.master
        until(lambda: self._is_left(before) or self._begins_to_leave(before), within=FAILED_OVER, told=self.told)
        return self.master

    def next_master(self, before: Server, *, within: float = FAILED_OVER) -> Server:
        """Wait until all sentinels say that it is another one."""
        until(lambda: self._is_left(before), within=within, told=self.told)
        return self.master

    def told(self) -> str:
        """What each of them says."""
        said = [sentinel.told() for sentinel in self.sentinels] + [server.told() for server in self.servers]
        return "\n".join(["the master does not change", *said])

    def cut_off(self, server: Server) -> None:
        """Neither sentinels nor replicas come to it any more; clients do."""
        self.copies_nothing(server)
        self._shut_out(server, "watch")

    def copies_nothing(self, server: Server) -> None:
        """Its replicas do not come to it any more: what it is told from now on, it alone knows."""
        self._shut_out(server, "copy")

    def heal(self, server: Server) -> None:
        """All come to it again."""
        for user in ("watch", "copy"):
            server.ask("ACL", "SETUSER", user, "on")

    def copied(self) -> None:
        """Wait until all that the master was told so far is on each replica that follows it."""
        wanted = _offset(self.master)
        until(lambda: all(_offset(replica) >= wanted for replica in self.replicas if _is_linked(replica)))

    def is_whole(self) -> bool:
        """Whether all agree, and all servers follow the one master."""
        with suppress(hiredis.ReplyError, redis.RedisError, OSError, StopIteration, KeyError):
            masters = {sentinel.master() for sentinel in self.sentinels}
            info = self.at(masters.pop()).ask("INFO", "replication")
            linked = info.count("state=online") == sum(map(_is_linked, self.servers)) == len(self.servers) - 1
            return not masters and linked and all(map(self._knows_all, self.sentinels))
        return False

    def _is_left(self, before: Server) -> bool:
        with suppress(redis.ConnectionError, redis.TimeoutError):  # one that does not answer does not say so either
            return all(sentinel.master() != before.entrance for sentinel in self.sentinels)
        return False

    def _begins_to_leave(self, before: Server) -> Literal[False]:
        """Never done at once. Asked for again and again: it is given up when a server takes too long."""
        with suppress(redis.RedisError):  # it is in progress, or no replica is known to be good
            if self.sentinels[0].master() == before.entrance:
                self.sentinels[0].ask("SENTINEL", "FAILOVER", SERVICE)
        return False

    def _knows_all(self, sentinel: Sentinel) -> bool:
        facts = sentinel.facts()
        others = facts["num-other-sentinels"] == len(self.sentinels) - 1
        return bool(others and facts["num-slaves"] == len(self.servers) - 1 and facts["is_master"])

    def __enter__(self) -> Self:
        with self._all:
            self.servers = [self._all.enter_context(self._server())]
            for _ in range(self._count):
                self.servers.append(self._all.enter_context(self._server(follow=self.servers[0])))
            master = self.servers[0]
            until(lambda: all(map(_is_linked, self.servers[1:])))
            self.sentinels = [self._sentinel() for _ in range(3)]
            for sentinel in self.sentinels:
                others = [other for other in self.sentinels if other is not sentinel]
                sentinel.watch(master, self.servers[1:], others)
                self._all.enter_context(sentinel)
            until(self.is_whole)
            self._all = self._all.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._all.close()

    def _server(self, follow: Server | None = None) -> Server:
        lines = [*self._lines, f"replicaof {HOST} {follow.entrance}" if follow else ""]
        return Server(self._kind, *lines, users=USERS, password=PASSWORD, certificate=self._certificate)

    def _sentinel(self) -> Sentinel:
        return Sentinel(self._kind, lines=self._sentinel_lines, login=self._login, certificate=self._certificate)

    def _shut_out(self, server: Server, user: str) -> None:
        server.ask("ACL", "SETUSER", user, "off")
        server.ask("CLIENT", "KILL", "USER", user)


def _is_linked(replica: Server) -> bool:
    """Whether it has all that its master had when it joined, and hears of the rest."""
    return "master_link_status:up" in replica.ask("INFO", "replication")


def _offset(server: Server) -> int:
    """How much it was told."""
    facts = dict(line.split(":", 1) for line in server.ask("INFO", "replication").splitlines() if ":" in line)
    return int(facts["master_repl_offset"])
