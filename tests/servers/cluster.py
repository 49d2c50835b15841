"""A cluster of three masters and three replicas, for tests to fail over, kill and reshard."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Self

import hiredis

from tests.servers.certificate import Certificate
from tests.servers.kinds import Kind
from tests.servers.patience import until
from tests.servers.ports import HOST, Port
from tests.servers.server import Server

MASTERS = 3
SLOTS = 16_384
NODE_TIMEOUT = "1000"
LINES = (
    "cluster-enabled yes",
    "cluster-config-file nodes.conf",
    f"cluster-node-timeout {NODE_TIMEOUT}",
    "enable-debug-command local",
    "cluster-replica-validity-factor 0",
    "masteruser copy",
    "masterauth copying",
    "repl-diskless-sync yes",
    "repl-diskless-sync-delay 0",
    "repl-diskless-load on-empty-db",
    "repl-ping-replica-period 1",
)
USERS = {"copy": "on >copying ~* &* +@all"}
"""Replicas have a user of their own: whoever shuts it out is not copied any more, and clients still come in."""
FAILED_OVER = 15.0
"""How long a failover may take: a second of silence, an election, and another one if that came to nothing."""


class Cluster:
    """All of them: the first three begin as masters."""

    def __init__(self, kind: Kind, *, certificate: Certificate | None = None) -> None:
        self._kind, self._all, self._certificate = kind, ExitStack(), certificate
        self._lines = [*LINES, *(("tls-cluster yes", "tls-replication yes") if certificate else ())]
        self.servers: list[Server] = []
        self.buses: dict[Server, int] = {}

    @property
    def url(self) -> str:
        return self.url_of(*self.servers[:2])

    def url_of(self, *servers: Server) -> str:
        """For a client that hears of these first."""
        places = ",".join(f"{HOST}:{server.entrance}" for server in servers)
        if self._certificate is None:
            return f"redis+cluster://{places}"
        return f"rediss+cluster://{places}?ssl_ca_certs={self._certificate.certificate}"

    def url_without(self, server: Server) -> str:
        """For one that does not hear of this one first."""
        first, second, *_ = (each for each in self.servers if each is not server)
        return self.url_of(first, second)

    def masters(self) -> list[Server]:
        """Those that are one now."""
        return [server for server in self.servers if server.is_running and server.ask("ROLE")[0] == "master"]

    def master_of(self, key: str, *, by: Server | None = None) -> Server:
        """By the word of this one, or of one that runs."""
        asked = by or next(server for server in self.servers if server.is_running)
        slot = asked.ask("CLUSTER", "KEYSLOT", key)
        [port] = [port for first, last, port in _shares(asked) if first <= slot <= last]
        return next(server for server in self.servers if server.port == port)

    def replica_of(self, master: Server) -> Server:
        """One that follows it."""
        running = (server for server in self.servers if server.is_running)
        return next(server for server in running if server.ask("ROLE")[2:3] == [master.entrance])

    def flush(self) -> None:
        for master in self.masters():
            master.flush()

    def keys(self, pattern: str) -> set[str]:
        """Of all masters."""
        return {key for master in self.masters() for key in master.ask("KEYS", pattern)}

    def fail_over(self, master: Server) -> Server:
        """By command; gives the new master, of which all know."""
        replica = self.replica_of(master)
        replica.ask("CLUSTER", "FAILOVER")
        until(lambda: replica.ask("ROLE")[0] == "master" and self.is_whole(), within=FAILED_OVER, told=self.told)
        return replica

    def next_master(self, before: Server, key: str) -> Server:
        """Wait until another one has the slot of this key, by the word of all that run."""
        until(lambda: self.master_of(key) is not before and self.is_whole(), within=FAILED_OVER, told=self.told)
        return self.master_of(key)

    def copies_nothing(self, master: Server) -> None:
        """Its replica does not come to it any more: what it is told from now on, it alone knows."""
        master.ask("ACL", "SETUSER", "copy", "off")
        master.ask("CLIENT", "KILL", "USER", "copy")

    def heal(self, master: Server) -> None:
        """Its replica comes to it again."""
        master.ask("ACL", "SETUSER", "copy", "on")

    def isolate(self, master: Server) -> Server:
        """It hears of no other server any more, and goes on; its replica takes over, of which all others know.

        By itself it would stop after a second of silence. That it is slow to notice is what makes it dangerous.
        """
        replica, others = self.replica_of(master), [server for server in self.servers if server is not master]
        self.copies_nothing(master)
        master.ask("CONFIG", "SET", "cluster-node-timeout", "60000")
        master.ask("DEBUG", "DROP-CLUSTER-PACKET-FILTER", "-2")
        replica.ask("CLUSTER", "FAILOVER", "TAKEOVER")
        until(lambda: all(_knows(other, replica) for other in others), within=FAILED_OVER, told=self.told)
        return replica

    def rejoin(self, master: Server) -> None:
        """It hears of the others again, and follows the one that has its slots."""
        self.heal(master)
        master.ask("CONFIG", "SET", "cluster-node-timeout", NODE_TIMEOUT)
        master.ask("DEBUG", "DROP-CLUSTER-PACKET-FILTER", "-1")
        until(self.is_whole, within=FAILED_OVER, told=self.told)

    def told(self) -> str:
        """What each of them says."""
        return "\n".join(["the cluster does not come to be so", *(server.told() for server in self.servers)])

    def copied(self) -> None:
        """Wait until all that the masters were told so far is on their replicas."""
        wanted = {self.replica_of(master): _offset(master, "master") for master in self.masters()}
        until(lambda: all(_offset(replica, "slave") >= offset for replica, offset in wanted.items()))

    def move(self, slot: int, source: Server, target: Server) -> None:
        """A slot with all that is in it, key by key, as the tools of old do it."""
        names = {server: server.ask("CLUSTER", "MYID") for server in (source, target)}
        target.ask("CLUSTER", "SETSLOT", str(slot), "IMPORTING", names[source])
        source.ask("CLUSTER", "SETSLOT", str(slot), "MIGRATING", names[target])
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", str(slot), "100"):
            source.ask("MIGRATE", HOST, str(target.port), "", "0", "5000", "KEYS", *keys)
        for server in (target, source, *self.masters()):
            server.ask("CLUSTER", "SETSLOT", str(slot), "NODE", names[target])

    def is_whole(self) -> bool:
        """Whether all say that all is well, and all replicas follow their masters."""
        with suppress(hiredis.ReplyError, OSError):
            running = [server for server in self.servers if server.is_running]
            is_well = all("cluster_state:ok" in server.ask("CLUSTER", "INFO") for server in running)
            infos = [server.ask("INFO", "replication") for server in running]
            linked = sum("master_link_status:up" in info for info in infos)
            first, *others = map(_shares, running)
            is_agreed = all(other == first for other in others)
            return is_well and is_agreed and linked == len(running) - MASTERS
        return False

    def __enter__(self) -> Self:
        with self._all:
            for _ in range(2 * MASTERS):
                bus = Port()
                self._all.callback(bus.close)
                lines = [*self._lines, f"cluster-port {bus.number}"]
                server = Server(self._kind, *lines, users=USERS, certificate=self._certificate)
                self.buses[server] = bus.number
                self.servers.append(self._all.enter_context(server))
            self._join()
            self._all = self._all.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._all.close()

    def _join(self) -> None:
        first, *others = self.servers
        share = -(-SLOTS // MASTERS)
        for number, server in enumerate(self.servers[:MASTERS]):
            last = min((number + 1) * share, SLOTS) - 1
            server.ask("CLUSTER", "ADDSLOTSRANGE", str(number * share), str(last))
            server.ask("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
        for server in others:
            first.ask("CLUSTER", "MEET", HOST, str(server.entrance), str(self.buses[server]))
        known = f"cluster_known_nodes:{2 * MASTERS}"
        until(lambda: all(known in server.ask("CLUSTER", "INFO") for server in self.servers))
        for master, replica in zip(self.servers[:MASTERS], self.servers[MASTERS:], strict=True):
            name = master.ask("CLUSTER", "MYID")
            until(lambda name=name, replica=replica: _follows(replica, name))  # type: ignore[misc]
        until(self.is_whole)


def _shares(server: Server) -> list[tuple[int, int, int]]:
    """Who has which slots, by its word: the first, the last and a port."""
    return sorted((first, last, port) for first, last, (_, port, *_), *_ in server.ask("CLUSTER", "SLOTS"))


def _knows(server: Server, master: Server) -> bool:
    return any(port == master.port for _, _, port in _shares(server))


def _offset(server: Server, of: str) -> int:
    """How much it was told."""
    info = server.ask("INFO", "replication")
    return int(info.partition(f"{of}_repl_offset:")[2].split()[0])


def _follows(replica: Server, name: str) -> bool:
    with suppress(hiredis.ReplyError):
        return bool(replica.ask("CLUSTER", "REPLICATE", name))
    return False
