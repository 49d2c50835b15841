"""A user that may do what docs/redis.md says, and nothing else, can do all that dibs does."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dibs
from dibs.errors import StoreRefused
from dibs.events import JoinedQueue, StoreRisky
from dibs.testing.contract.faces import Diary
from tests.servers.kinds import VALKEY_9
from tests.servers.server import Server

DOCS = Path(__file__).parents[3] / "docs" / "redis.md"
TTL = 1.0


def documented() -> str:
    """The rules that the manual gives."""
    [rules] = re.findall(r"^user dibs (on .*)$", DOCS.read_text("utf-8"), re.MULTILINE)
    return str(rules)


def granted(rules: str) -> list[str]:
    return re.findall(r"\+\S+", rules)


@pytest.fixture
def start(start_server: Callable[..., Server]) -> Callable[[str], str]:
    """A server whose user has these rules, by its URL."""

    def url(rules: str) -> str:
        return start_server(users={"dibs": rules}).url_of("dibs", "password")

    return url


def test_what_the_manual_allows_is_enough(start: Callable[[str], str]) -> None:
    diary = Diary()
    with dibs.connect(start(documented()), observers=[diary], quiet=True) as d, ThreadPoolExecutor(1) as pool:
        with d.lock("a", ttl=TTL) as lease:
            waiter = pool.submit(lambda: d.lock("a", ttl=TTL, wait=10).acquire())
            diary.wait_for(JoinedQueue, 1)
            lease.extend()
            assert len(d.inspect("a").waiters) == 1
        handed = waiter.result()
        assert [view.name for view in d.locks()] == ["a"]
        assert d.force_release("a", fence=handed.fence)
        diary.wait_for(StoreRisky, 1)


@pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)
def test_no_key_and_no_channel_of_others_can_be_touched(start: Callable[[str], str]) -> None:
    with (
        dibs.connect(start(documented()), namespace="other", quiet=True) as d,
        pytest.raises(StoreRefused, match=r"NOPERM.*docs/redis.md"),
    ):
        d.try_lock("a", ttl=TTL).acquire()


@pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)
@pytest.mark.parametrize("command", ["+evalsha", "+subscribe", "+set"])
def test_less_is_told_by_name(start: Callable[[str], str], command: str) -> None:
    assert command in granted(documented())
    url = start(documented().replace(f" {command} ", " "))
    with dibs.connect(url, quiet=True) as d, pytest.raises(dibs.StoreUnreachable, match=r"(?i)perm|can't run|acl"):
        d.try_lock("a", ttl=TTL).acquire()
