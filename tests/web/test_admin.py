"""How a lock stands, by HTTP."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import dibs
from dibs import Config, ConfigError, Dibs, web
from dibs.stores.memory import MemoryBackend
from dibs.testing.outage import Outage
from dibs.web.admin import admin_routes
from tests.servers.server import Server
from tests.web.asking import FREE, PATH, Caller, calling, wherever

HOLDER = """
import sys, dibs
with dibs.connect(sys.argv[1], namespace="workflow", quiet=True) as d, d.lock("retry-scheduler", ttl=60):
    print("in", flush=True)
    sys.stdin.read()
"""


@wherever
def test_a_lock_is_shown_as_it_stands(d: Dibs, caller: Caller) -> None:
    assert caller.get(PATH).said == FREE
    with d.rlock("retry-scheduler", ttl=30) as lease:
        answer = caller.get(PATH)
    remaining = answer.said.pop("remainingTime")
    assert answer.said == {"lockKey": "workflow:retry-scheduler", "locked": True, "threadId": os.getpid()}
    assert isinstance(remaining, int)
    assert 25_000 < remaining <= 30_000
    assert answer.headers["dibs-fence"] == str(lease.fence)
    assert answer.headers["dibs-holder"].endswith(f":{os.getpid()}")
    assert answer.headers["cache-control"] == "no-store"
    answer = caller.get(PATH)
    assert (answer.status, answer.said) == (200, FREE)
    assert "dibs-fence" not in answer.headers


@pytest.mark.parametrize("place", ["sqlite"])
def test_the_thread_is_the_process_that_holds_it(url: str, caller: Caller) -> None:
    command = [sys.executable, "-c", HOLDER, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "in\n"
        assert caller.get(PATH).said["threadId"] == holder.pid
        assert holder.pid != os.getpid()
        holder.stdin.close()
    assert caller.get(PATH).said == FREE


def test_of_another_program_that_holds_it_little_is_known(server: Server) -> None:
    with dibs.connect(server.url, namespace="", quiet=True) as d:
        caller = calling(d)
        server.ask("SET", "cron:close", "somebody")
        shown = caller.get("/admin/locks/cron:close")
        assert shown.said == {"lockKey": "cron:close", "locked": True, "remainingTime": -1, "threadId": None}
        server.ask("PEXPIRE", "cron:close", "60000")
        assert 50_000 < caller.get("/admin/locks/cron:close").said["remainingTime"] <= 60_000
        refused = caller.post("/admin/locks/cron:close/unlock")
        assert (refused.status, server.ask("EXISTS", "cron:close")) == (400, 1)
        assert 'say {"fence": 0} if you mean it' in refused.said["error"]
        assert caller.post("/admin/locks/cron:close/unlock", {"fence": 0}).status == 200
        assert server.ask("EXISTS", "cron:close") == 0


@pytest.mark.parametrize(
    "words", [("RPUSH", "17"), ("SADD", "17"), ("HSET", "17", "apples")], ids=lambda words: words[0]
)
def test_data_that_was_never_a_lock_is_not_deleted(server: Server, words: tuple[str, ...]) -> None:
    with dibs.connect(server.url, namespace="", quiet=True) as d:
        server.ask(words[0], "orders", *words[1:])
        answer = calling(d).post("/admin/locks/orders/unlock", {"fence": 0})
        assert (answer.status, server.ask("EXISTS", "orders")) == (400, 1)
        assert "no lock of any program, but data" in answer.said["error"]


def test_a_hash_that_expires_may_be_redisson_s_lock_and_is_released(server: Server) -> None:
    with dibs.connect(server.url, namespace="", quiet=True) as d:
        server.ask("HSET", "orders", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1")
        server.ask("PEXPIRE", "orders", "60000")
        assert calling(d).post("/admin/locks/orders/unlock", {"fence": 0}).status == 200
        assert server.ask("EXISTS", "orders") == 0


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/admin/locks/orders%2F2026%3Fa%23b", "workflow:orders/2026?a#b"),
        ("/admin/locks/orders/2026/unlock", "workflow:orders/2026/unlock"),
        ("/admin/locks/J%C3%BCrgen's%20lock", "workflow:Jürgen's lock"),
    ],
)
def test_any_name_that_a_lock_may_have_can_be_asked_for(d: Dibs, caller: Caller, path: str, key: str) -> None:
    lease = d.lock(key.removeprefix("workflow:")).acquire()
    assert (caller.get(path).said["lockKey"], caller.get(path).said["locked"]) == (key, True)
    assert caller.post(f"{path}/unlock").said["fence"] == lease.fence
    assert caller.get(path).said["locked"] is False


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "a lock's name needs at least one character"),
        ("x" * 201, "at most 200 bytes"),
        ("a~line", "a lock's name may not end in '~line'"),
        ("%20a", "a lock's name may not begin or end with a blank"),
    ],
)
def test_what_names_no_lock_is_refused_with_the_reason(caller: Caller, name: str, why: str) -> None:
    for answer in (caller.get(f"/admin/locks/{name}"), caller.post(f"/admin/locks/{name}/unlock")):
        assert answer.status == 400
        assert why in answer.said["error"]


def test_a_silent_store_is_told_as_such() -> None:
    outage = Outage(MemoryBackend())
    with Dibs(outage, config=Config(namespace="workflow", patience=0.1)) as d:
        caller = calling(d)
        outage.trouble = "refused"
        for answer in (caller.get(PATH), caller.post(f"{PATH}/unlock")):
            assert answer.status == 503
            assert answer.said["error"].startswith("no word from memory://")
        outage.trouble = "none"
        assert caller.get(PATH).said == FREE


def test_a_closed_client_is_told_as_such(d: Dibs, caller: Caller) -> None:
    d.close()
    answer = caller.get(PATH)
    assert answer.status == 503
    assert "cannot inspect a lock: this client is closed" in answer.said["error"]


def test_the_routes_stand_where_they_are_wanted(d: Dibs) -> None:
    assert calling(d, prefix="/ops/dibs").get("/ops/dibs/locks/retry-scheduler").said == FREE
    assert calling(d, prefix="").get("/locks/retry-scheduler").said == FREE
    for prefix in ("admin", "/admin/", "/"):
        with pytest.raises(ConfigError, match=f"prefix='{prefix}': write it as in '/admin'"):
            admin_routes(d, prefix)


def test_the_routes_go_into_the_application_of_a_worker(d: Dibs) -> None:
    caller = Caller(web.app(d, routes=web.admin_routes(d)))
    assert caller.get(PATH).said == FREE
    assert caller.get("/admin/lock").status == 404
