"""In whatever order they come, a lower fence never writes over a higher one."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs import StaleFence, fenced
from dibs.fenced.keys import Writes
from tests.chaos.moments import LONG
from tests.fenced.places import Holder
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.ports import HOST
from tests.servers.server import Server

ROOT = Path(__file__).parents[2]
WAYS: dict[str, Callable[[Writes], object]] = {
    "set": lambda writes: writes.set("text", "whole"),
    "delete": lambda writes: writes.delete("text"),
    "hset": lambda writes: writes.hset("hash", {"field": "value"}),
    "append": lambda writes: writes.write("APPEND", "text", "."),
}
fences = st.integers(1, 6) | st.integers(2**53 - 2, 2**53 + 3) | st.integers(2**63 - 3, 2**63 - 1)


class Writer:
    """One transaction, step by step: it guards, writes and commits, and may be held up before each."""

    def __init__(self, file: Path, fence: int) -> None:
        self.fence, self._holder = fence, Holder(fence)
        self.connection = sqlite3.connect(file, timeout=0)
        self._steps = self._story()

    def go_on(self) -> None:
        """The next step; where another is in the way, this turn is lost."""
        next(self._steps, None)

    def _story(self) -> Iterator[None]:
        while True:
            try:
                fenced.sql.guard(self.connection, self._holder)
            except sqlite3.OperationalError:  # another writes just now
                self.connection.rollback()
                yield
                continue
            except StaleFence:
                self.connection.rollback()
                return
            break
        yield
        self.connection.execute("INSERT INTO accepted (fence) VALUES (?)", (self.fence,))
        yield
        self.connection.commit()


def table(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE accepted (place INTEGER PRIMARY KEY AUTOINCREMENT, fence BIGINT)")
        fenced.sql.create(connection)
        connection.commit()


def accepted(file: Path) -> list[int]:
    with closing(sqlite3.connect(file)) as connection:
        return [fence for (fence,) in connection.execute("SELECT fence FROM accepted ORDER BY place")]


@settings(deadline=None)
@given(st.lists(fences, min_size=1, max_size=5), st.lists(st.integers(0, 4), max_size=40))
def test_transactions_in_any_order_are_accepted_with_rising_fences(wanted: list[int], turns: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        file = Path(folder, "file.sqlite")
        table(file)
        writers = [Writer(file, fence) for fence in wanted]
        for writer in writers:
            opened.enter_context(closing(writer.connection))
        for turn in turns:
            writers[turn % len(writers)].go_on()
        for _ in range(4 * len(writers)):  # and at last everybody is let through
            for writer in writers:
                writer.go_on()
        assert accepted(file) == sorted(accepted(file))
        assert accepted(file)[-1] == max(wanted)


@pytest.fixture(scope="module")
def client() -> Iterator[redis.Redis]:
    kind: Kind = there(VALKEY_9)
    with Server(kind) as server, redis.Redis(host=HOST, port=server.port) as client:
        yield client


@settings(deadline=None)
@given(st.lists(st.tuples(fences, st.sampled_from(sorted(WAYS))), min_size=1, max_size=12))
def test_writes_to_a_key_in_any_order_are_accepted_with_rising_fences(
    client: redis.Redis, wishes: list[tuple[int, str]]
) -> None:
    client.flushall()
    newest = 0
    for fence, way in wishes:
        writes = fenced.redis(client, Holder(fence), resource="account")
        before = client.dump("text"), client.dump("hash")
        if fence >= newest:
            WAYS[way](writes)
            newest = fence
        else:
            with pytest.raises(StaleFence) as refused:
                WAYS[way](writes)
            assert refused.value.newest == newest
            assert (client.dump("text"), client.dump("hash")) == before
        assert client.get("{account}~fence") == b"%d" % newest


def test_processes_with_shuffled_fences_are_accepted_with_rising_fences(tmp_path: Path) -> None:
    file, order = tmp_path / "file.sqlite", random.Random(7)
    table(file)
    shares = [order.sample(range(1, 1_000), 40) for _ in range(3)]
    with ExitStack() as running:
        writers = [running.enter_context(started(file, share)) for share in shares]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        told = [writer.communicate("go\n", timeout=3 * LONG)[0] for writer in writers]
        assert [writer.returncode for writer in writers] == [0, 0, 0]
    refused = [int(line) for lines in told for line in lines.split()]
    assert accepted(file) == sorted(accepted(file))
    assert sorted(accepted(file) + refused) == sorted(fence for share in shares for fence in share)
    assert accepted(file)[-1] == max(max(share) for share in shares)


def started(file: Path, share: list[int]) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.fenced.writers", str(file), *map(str, share)]
    return subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
