"""A cluster of three masters and three replicas, for tests to fail over, kill and reshard."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Self

import hiredis

from tests.servers.kinds import Kind
from tests.servers.patience import until
from tests.servers.ports import HOST, Port
from tests.servers.server import Server

MASTERS = 3
SLOTS = 16_384
LINES = (
    "cluster-enabled yes",
    "cluster-config-file nodes.conf",
    "cluster-node-timeout 1000",
    "cluster-replica-validity-factor 0",
    "repl-diskless-sync yes",
    "repl-diskless-sync-delay 0",
    "repl-diskless-load on-empty-db",
    "repl-ping-replica-period 1",
)


class Cluster:
    """All of them: the first three begin as masters."""

    def __init__(self, kind: Kind) -> None:
        self._kind, self._all = kind, ExitStack()
        self.servers: list[Server] = []
        self.buses: dict[Server, int] = {}

    @property
    def url(self) -> str:
        places = ",".join(f"{HOST}:{server.port}" for server in self.servers[:2])
        return f"redis+cluster://{places}"

    def masters(self) -> list[Server]:
        """Those that are one now."""
        return [server for server in self.servers if server.is_running and server.ask("ROLE")[0] == "master"]

    def master_of(self, key: str) -> Server:
        """By the word of one that runs."""
        slot = self._any().ask("CLUSTER", "KEYSLOT", key)
        for first, last, (_, port, *_), *_ in self._any().ask("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(server for server in self.servers if server.port == port)
        raise AssertionError(f"nobody has slot {slot}")

    def replica_of(self, master: Server) -> Server:
        """One that follows it."""
        running = (server for server in self.servers if server.is_running)
        return next(server for server in running if server.ask("ROLE")[2:3] == [master.port])

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
        until(lambda: replica.ask("ROLE")[0] == "master" and self.is_whole())
        return replica

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
            views = [str(sorted(server.ask("CLUSTER", "SLOTS"), key=str)) for server in running]
            is_well = all("cluster_state:ok" in server.ask("CLUSTER", "INFO") for server in running)
            infos = [server.ask("INFO", "replication") for server in running]
            linked = sum("master_link_status:up" in info for info in infos)
            ports = [[(each[0], each[2][1]) for each in sorted(server.ask("CLUSTER", "SLOTS"))] for server in running]
            is_agreed = all(each == ports[0] for each in ports) and bool(views)
            return is_well and is_agreed and linked == len(running) - MASTERS
        return False

    def __enter__(self) -> Self:
        with self._all:
            for _ in range(2 * MASTERS):
                bus = Port()
                self._all.callback(bus.close)
                server = Server(self._kind, *LINES, f"cluster-port {bus.number}")
                self.buses[server] = bus.number
                self.servers.append(self._all.enter_context(server))
            self._join()
            self._all = self._all.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._all.close()

    def _any(self) -> Server:
        return next(server for server in self.servers if server.is_running)

    def _join(self) -> None:
        first, *others = self.servers
        share = -(-SLOTS // MASTERS)
        for number, server in enumerate(self.servers[:MASTERS]):
            last = min((number + 1) * share, SLOTS) - 1
            server.ask("CLUSTER", "ADDSLOTSRANGE", str(number * share), str(last))
            server.ask("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
        for server in others:
            first.ask("CLUSTER", "MEET", HOST, str(server.port), str(self.buses[server]))
        known = f"cluster_known_nodes:{2 * MASTERS}"
        until(lambda: all(known in server.ask("CLUSTER", "INFO") for server in self.servers))
        for master, replica in zip(self.servers[:MASTERS], self.servers[MASTERS:], strict=True):
            name = master.ask("CLUSTER", "MYID")
            until(lambda name=name, replica=replica: _follows(replica, name))  # type: ignore[misc]
        until(self.is_whole)


def _follows(replica: Server, name: str) -> bool:
    with suppress(hiredis.ReplyError):
        return bool(replica.ask("CLUSTER", "REPLICATE", name))
    return False
