"""The users that deploy/ gives the store may do what docs/redis.md lists, nothing else, and that is enough for dibs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import hiredis
import pytest

import dibs
from dibs.stores.redis.checkup import findings
from tests.deploy.manifests import COMPOSE, PASSWORD, documents, only
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.server import Server
from tests.stores.redis.test_permissions import documented


def on_kubernetes() -> str:
    return str(only("Secret")["stringData"]["users.acl"])


def with_compose() -> str:
    [compose] = documents(COMPOSE)
    return str(compose["configs"]["users.acl"]["content"]).replace("${DIBS_PASSWORD}", PASSWORD)


@pytest.fixture(params=[on_kubernetes, with_compose])
def users(request: pytest.FixtureRequest) -> str:
    read: Callable[[], str] = request.param
    return read()


@pytest.fixture
def server_kind() -> Kind:
    """As it is deployed: an older one drops, at its start, what scripts wrote, as its default user may not write."""
    return there(VALKEY_9)


@pytest.fixture
def store(start_server: Callable[..., Server], users: str, tmp_path: Path) -> Server:
    """A server with these users, and with the settings that it is deployed with, but for its places."""
    (tmp_path / "users.acl").write_text(users)
    return start_server(*settings(), f"aclfile {tmp_path / 'users.acl'}")


def settings() -> Iterator[str]:
    for line in only("ConfigMap")["data"]["valkey.conf"].splitlines():
        if not line.startswith(("dir ", "aclfile ")):
            yield line


def test_the_user_of_the_nodes_may_do_exactly_what_the_manual_lists(users: str) -> None:
    [_, nodes] = users.splitlines()
    assert nodes == f"user dibs {documented().replace('>password', f'>{PASSWORD}')}"


def test_the_password_of_the_secret_is_that_of_its_user() -> None:
    secret = only("Secret")["stringData"]
    assert f"user {secret['username']} on >{secret['password']} " in secret["users.acl"]
    assert secret["password"] == PASSWORD


def test_they_are_enough_to_take_a_lock_and_to_run_a_job(store: Server) -> None:
    with dibs.connect(store.url_of("dibs", PASSWORD), quiet=True) as d:

        @d.every("1s")
        def poll() -> str:
            with d.lock("a", ttl="5s") as lease:
                d.stop_serving()
                return f"held {lease.name}"

        d.serve()
        [view, *_] = poll.history()
        assert (view.outcome, view.result) == ("ok", "held a")


def test_nothing_of_the_store_s_settings_may_cost_locks(store: Server) -> None:
    redis = pytest.importorskip("redis", reason="no redis-py on this machine")
    with redis.Redis.from_url(store.url_of("dibs", PASSWORD)) as client:
        info = client.info()
    assert info["aof_enabled"] == 1
    assert not findings("\n".join(f"{name}:{fact}" for name, fact in info.items()))


def test_who_gives_no_name_may_ping_and_nothing_else(store: Server) -> None:
    assert store.ask("PING") == "PONG"
    for words in (("GET", "dibs:a"), ("INFO",), ("ACL", "WHOAMI"), ("CONFIG", "GET", "dir"), ("KEYS", "*")):
        with pytest.raises(hiredis.ReplyError, match="NOPERM"):
            store.ask(*words)


def test_a_wrong_password_is_refused(store: Server) -> None:
    with (
        dibs.connect(store.url_of("dibs", "password"), quiet=True) as d,
        pytest.raises(dibs.StoreUnreachable, match=r"WRONGPASS|invalid username-password"),
    ):
        d.lock("a", ttl="5s", wait=0.3).acquire()


def test_every_change_is_written_down_before_it_is_answered_and_none_is_dropped(store: Server) -> None:
    with dibs.connect(store.url_of("dibs", PASSWORD), quiet=True) as d:
        lease = d.lock("a", ttl="60s").acquire()
        store.kill()
        store.start()
        assert [held.fence for held in d.inspect("a").holders] == [lease.fence]
    assert {"appendfsync always", "maxmemory-policy noeviction"} <= set(settings())
