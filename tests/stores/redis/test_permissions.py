"""A user that may do what docs/redis.md says, and nothing else, can do all that dibs does."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import Literal, Protocol

import pytest

import dibs
from dibs.errors import StoreRefused
from dibs.events import JoinedQueue, StoreRisky
from dibs.model.asks import Memo, Queued, Said
from dibs.model.counts import Count
from dibs.model.sheet import Change, Entry
from dibs.stores.redis import open_store
from dibs.stores.redis.scripts import ALL
from dibs.testing.contract.faces import AsyncFace, BlockingFace, Diary
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.stores.redis.asker import NAMESPACE, PLAIN, REENTRANT, Asker

DOCS = Path(__file__).parents[3] / "docs" / "redis.md"
TTL, WAIT = 1.0, 0.3


def documented() -> str:
    """The rules that the manual gives."""
    [rules] = re.findall(r"^user dibs (on .*)$", DOCS.read_text("utf-8"), re.MULTILINE)
    return str(rules)


def allowed(rules: str) -> set[str]:
    return set(re.findall(r"\+(\S+)", rules))


class Start(Protocol):
    """A server whose user has these rules, by its URL."""

    def __call__(self, rules: str, *, database: int = 0) -> str: ...


@pytest.fixture
def start(start_server: Callable[..., Server]) -> Start:
    def url(rules: str, *, database: int = 0) -> str:
        return f"{start_server(users={'dibs': rules}).url_of('dibs', 'password').removesuffix('/0')}/{database}"

    return url


def test_what_the_manual_allows_is_all_used() -> None:
    by_scripts = {word.lower() for script in ALL for word in re.findall(r"redis\.p?call\('(\w+)'", script.text)}
    by_lines = {"evalsha", "script|load", "subscribe", "select", "info"}
    assert {
        word.partition("|")[0] if "pubsub" in word else word for word in allowed(documented())
    } == by_scripts | by_lines


def test_what_the_manual_allows_is_enough(start: Start) -> None:
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


@pytest.mark.parametrize("colour", ["blocking", "asyncio"])
def test_it_is_enough_for_every_kind_of_lock_and_all_that_is_kept_beside_them(
    start_server: Callable[..., Server], colour: Literal["blocking", "asyncio"]
) -> None:
    rules = documented().replace("dibs:", f"{NAMESPACE}:")
    asker = Asker(start_server(users={"dibs": rules}).url_of("dibs", "password"), colour)
    fences = [asker.enter(owner, (room, 1)) for owner, room in {"ann": 4, "bob": 2}.items()]
    assert isinstance(asker.acquire("cid", (4, 1)), Queued)  # who is the narrowest has to be looked for
    assert isinstance(asker.acquire("dan", REENTRANT), Queued)
    assert asker.renew("ann", fences[0], depth=2) is Said.KEPT
    assert asker.leave("bob", memo=Memo("done", asker.now() + 60)) is Said.RELEASED
    assert asker.recall().text == "done"
    assert isinstance(asker.acquire("eve"), Queued)  # dan stops her: it has to be known whether it is there
    assert len(asker.together(("b", asker.wish("fay")), ("c", asker.wish("fay", PLAIN)))) == 2
    assert asker.hindered(("d", asker.wish("guy")), ("a", asker.wish("guy")))[:2] == (1, "ann")
    assert asker.evict(fences[0]) is Said.EVICTED
    assert [push.kind for push in asker.told(2)] == ["handed", "evicted"]
    assert asker.who() == ["cid"]
    assert asker.listed() == ["a", "b", "c"]
    assert asker.count(Count("a", "acquired", 1)) == [Count("a", "acquired", 1)]
    asker.close()


@pytest.mark.parametrize("colour", ["blocking", "asyncio"])
def test_it_is_enough_for_jobs_also_if_what_is_kept_of_them_is_deleted_by_hand(
    start_server: Callable[..., Server], colour: Literal["blocking", "asyncio"]
) -> None:
    server = start_server(users={"dibs": documented().replace("dibs:", f"{NAMESPACE}:")})
    asker = Asker(server.url_of("dibs", "password"), colour)
    revision = asker.keep_sheet(acts_at=1.0, entries=[Entry(asker.now(), "noted", ("ok",))], keep=1)
    asker.note("audit", *[Entry(asker.now(), text, ("ok",)) for text in ("first", "last")], keep=1)
    asker.keep_sheet("b", acts_at=None, entries=[Entry(asker.now(), "b")], keep_for=0.0)
    assert (asker.history(), asker.history("ok"), asker.history("b")) == (["noted"], ["last", "noted"], [])
    run, _, begun = asker.due().life.partition("/")
    assert (len(run), begun) == (40, str(revision))
    server.ask("DEL", "{n:~fence}~due", "{n:~fence}~names")
    assert asker.named() == ["a", "b"]
    assert [sheet.name for sheet in asker.due().sheets] == ["a"]
    server.ask("DEL", "{n:~fence}~entries")
    assert (asker.history("ok"), asker.history("audit")) == ([], [])
    server.ask("HDEL", "{n:~fence}~jobs", "b")
    assert asker.named() == ["a"]
    [dropped] = asker.ask(asker.locks.amend([Change("a", revision, None, None, -inf, inf)]))
    assert dropped > revision
    asker.note("audit", Entry(0.0, "long ago"))
    assert server.ask("KEYS", "*") == ["n:~fence"]
    asker.close()


@on_valkey_9
def test_who_may_not_ask_for_information_does_not_know_the_server_s_life_and_can_do_all_else(
    start_server: Callable[..., Server],
) -> None:
    rules = documented().replace("dibs:", f"{NAMESPACE}:").replace(" +info ", " ")
    asker = Asker(start_server(users={"dibs": rules}).url_of("dibs", "password"), "blocking")
    revision = asker.keep_sheet(acts_at=1.0)
    look = asker.due()
    assert (look.life, [sheet.name for sheet in look.sheets]) == (f"/{revision}", ["a"])
    asker.close()


@on_valkey_9
def test_it_is_enough_for_another_database_too(start: Start) -> None:
    with dibs.connect(start(documented(), database=1), quiet=True) as d, d.lock("a", ttl=TTL) as lease:
        lease.extend()


@on_valkey_9
@pytest.mark.parametrize("face", [BlockingFace, AsyncFace])
def test_another_database_without_the_right_to_it_is_told_with_the_fix(
    start: Start, face: type[BlockingFace | AsyncFace]
) -> None:
    party = face(open_store(start(documented().replace(" +select", ""), database=1)))

    async def scene() -> None:
        with pytest.raises(StoreRefused, match=r"no permissions to run the 'select' command.*docs/redis.md"):
            await party.acquire("a", ttl=TTL, wait=WAIT)

    party.play(scene())


@on_valkey_9
def test_no_key_and_no_channel_of_others_can_be_touched(start: Start) -> None:
    with (
        dibs.connect(start(documented()), namespace="other", quiet=True) as d,
        pytest.raises(StoreRefused, match=r"NOPERM.*docs/redis.md"),
    ):
        d.lock("a", ttl=TTL, wait=WAIT).acquire()


@on_valkey_9
@pytest.mark.parametrize("command", ["evalsha", "subscribe", "set"])
def test_less_is_told_by_name(start: Start, command: str) -> None:
    assert command in allowed(documented())
    url = start(documented().replace(f" +{command} ", " "))
    told = f"no permissions to run the '{command}' command"
    with dibs.connect(url, quiet=True) as d, pytest.raises(dibs.StoreUnreachable, match=told):
        d.lock("a", ttl=TTL, wait=WAIT).acquire()


def test_less_within_a_script_is_told_with_the_fix(start_server: Callable[..., Server]) -> None:
    server = start_server(users={"dibs": documented().replace(" +set ", " ")})
    with (
        dibs.connect(server.url_of("dibs", "password"), quiet=True) as d,
        pytest.raises(dibs.StoreUnreachable, match=r"docs/redis.md"),
    ):
        d.lock("a", ttl=1, wait=0.3).acquire()
