"""The cluster of examples/ads_cluster: where it keeps its keys, and how it is asked by HTTP."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tests.chaos.stage import LONG
from tests.examples.fleets import Fleet, environment
from tests.servers.ports import HOST, Row
from tests.servers.server import Server


class Answer(NamedTuple):
    status: int
    told: Any


class Place(Protocol):
    """Where locks and keys are."""

    name: str
    health: str
    url: str

    def said(self) -> dict[str, str]:
        """How the environment names it."""
        ...

    def value(self, key: str) -> str | None: ...

    def log(self) -> list[tuple[int, str]]:
        """Each write: with which fence, and by whom."""
        ...


class Embedded:
    """What the cluster chooses by itself."""

    name, health = "Embedded store", "embedded"

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "state" / "dibs"
        self.url = f"sqlite:///{self._folder / 'dibs.sqlite'}"

    def said(self) -> dict[str, str]:
        return {}

    def value(self, key: str) -> str | None:
        [*rows] = self._rows("SELECT value FROM ads_keys WHERE key = ?", key)
        return rows[0][0] if rows else None

    def log(self) -> list[tuple[int, str]]:
        return self._rows("SELECT fence, name FROM ads_log ORDER BY number")

    def _rows(self, statement: str, *values: str) -> list[Any]:
        with closing(sqlite3.connect(self._folder / "dibs-ads.sqlite")) as file:
            return file.execute(statement, values).fetchall()


class OnRedis:
    """A server, named in pieces as the document does it."""

    name, health = "Redis", "connected"

    def __init__(self, server: Server) -> None:
        self._server, self.url = server, server.url

    def said(self) -> dict[str, str]:
        return {"REDIS_HOST": HOST, "REDIS_PORT": str(self._server.port)}

    def value(self, key: str) -> str | None:
        value: str | None = self._server.ask("GET", key)
        return value

    def log(self) -> list[tuple[int, str]]:
        lines = [json.loads(line) for line in self._server.ask("LRANGE", "ADS_LOG", "0", "-1")]
        return [(line["fence"], line["name"]) for line in lines]


class OnQuorum(OnRedis):
    """Several servers, of which the first has the keys."""

    def __init__(self, servers: Sequence[Server]) -> None:
        super().__init__(servers[0])
        self._places = ",".join(f"{HOST}:{server.port}" for server in servers)
        self.url = f"redlock://{self._places}"

    def said(self) -> dict[str, str]:
        return {"REDIS_SERVERS": self._places}


class Cluster:
    """A primary and its workers, on ports that nobody else takes."""

    def __init__(self, fleet: Fleet, before: int) -> None:
        self.fleet, self._before = fleet, before

    def port(self, worker: int) -> int:
        return self._before + worker

    def ask(self, worker: int, method: str, path: str, body: bytes | None = None) -> Answer:
        """One question, and the answer to it."""
        with closing(HTTPConnection(HOST, self.port(worker), timeout=LONG)) as line:
            line.request(method, path, body)
            reply = line.getresponse()
            return Answer(reply.status, json.loads(reply.read()))

    def update(self, worker: int, name: str, duration: float = 0) -> Answer:
        return self.ask(worker, "POST", "/update", wish(name, duration))

    async def aask(self, worker: int, method: str, path: str, body: bytes = b"") -> Answer:
        """The same beside others; `OSError` or `EOFError` if nobody is there, or the answer breaks off."""
        reader, writer = await asyncio.open_connection(HOST, self.port(worker))
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            writer.write(head.encode() + body)
            status, *headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            [size] = [int(line.partition(":")[2]) for line in headers if line.startswith("content-length:")]
            return Answer(int(status.split()[1]), json.loads(await reader.readexactly(size)))
        finally:
            writer.transport.abort()

    def pid(self, worker: int) -> int:
        return int(self.ask(worker, "GET", "/status").told["processId"])

    def hear(self, worker: int, words: str) -> None:
        """Listen until that worker has said it."""
        self.fleet.hear(rf"\[Worker {worker} \(PID: \d+\)\] {words}")

    def are_at_rest(self, count: int) -> None:
        """Listen until each has done its first operation."""
        ended = r"\] ✓ Lock released for: Cache Update Operation 1"
        self.fleet.hear_all({rf"\[Worker {worker} \(PID: \d+\){ended}" for worker in range(1, count + 1)})


@contextmanager
def cluster(place: Place, folder: Path, *, workers: int = 2, **said: str) -> Iterator[Cluster]:
    """So many workers, whose first operation lasts but a moment."""
    row = Row(workers)
    terms = {"NUM_WORKERS": str(workers), "HTTP_PORT": str(row.before), "ADS_DURATION": "20", **place.said(), **said}
    try:
        with Fleet("examples.ads_cluster", env=environment(folder, **terms)) as fleet:
            yield Cluster(fleet, row.before)
    finally:
        row.close()


def wish(name: str, duration: float) -> bytes:
    return json.dumps({"operationName": name, "duration": duration}).encode()
