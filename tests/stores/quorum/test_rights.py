"""What a user of the servers must be allowed is what the page says."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest

import dibs
from dibs.events import StoreRisky
from dibs.testing.contract import Diary
from tests.chaos.stage import ROOT
from tests.servers.fixtures import FIRST, there
from tests.servers.ports import HOST
from tests.servers.server import Server


@pytest.mark.parametrize("more", ["", " +config|get"], ids=["that of one server", "and to see its settings"])
def test_the_rights_of_one_server_are_enough_for_locks_and_workers(more: str) -> None:
    rule = re.search(r"^user dibs (on .*)$", (ROOT / "docs" / "redis.md").read_text(), re.MULTILINE)
    assert rule is not None
    diary = Diary()
    with ExitStack() as stack:
        users = {"dibs": rule[1] + more}
        three = [stack.enter_context(Server(there(FIRST), appendonly=True, users=users)) for _ in range(3)]
        places = ",".join(f"{HOST}:{server.port}" for server in three)
        client = stack.enter_context(dibs.connect(f"redlock://dibs:password@{places}", quiet=True, observers=[diary]))
        with client.lock("a", wait=5), client.rwlock("b", wait=5).read():
            assert [view.name for view in client.locks()] == ["a", "b"]
            if more:
                assert "appendfsync" in str(diary.wait_for(StoreRisky, 1))
        assert not client.locks()
        for attempt in client.worker("c").attempts():
            attempt.done()
        assert [run.outcome for run in client.runs("c")] == ["ok"]
