"""What every worker answers by HTTP, beside what the user adds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

import dibs.web
from dibs import ConfigError, Dibs
from dibs.stores.memory import MemoryBackend
from dibs.testing.outage import Outage
from dibs.web.presence import draining
from tests.web.asking import Caller

OWN = ["GET /status", "GET /health", "GET /health/live", "GET /health/ready"]


@pytest.fixture
def d() -> Iterator[Dibs]:
    with dibs.connect("memory://", quiet=True) as client:
        yield client


@pytest.fixture
def leaving() -> Iterator[None]:
    draining.set()
    yield
    draining.clear()


async def hello(request: Request) -> JSONResponse:
    return JSONResponse({"hello": "you"})


async def refuse(request: Request) -> JSONResponse:
    raise HTTPException(404, "no such order")


def test_status_tells_who_it_is(d: Dibs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_WORKER_ID", "3")
    answer = Caller(dibs.web.app(d)).get("/status")
    moment = answer.said.pop("timestamp")
    assert (answer.status, answer.said) == (200, {"workerId": 3, "processId": os.getpid(), "status": "running"})
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", moment)


def test_a_worker_that_leaves_says_so_and_is_not_ready_but_live(d: Dibs, leaving: None) -> None:
    caller = Caller(dibs.web.app(d))
    assert caller.get("/status").said["status"] == "draining"
    assert caller.get("/health/live").status == 200
    for path in ("/health", "/health/ready"):
        answer = caller.get(path)
        assert (answer.status, answer.said["reason"]) == (503, "it was told to leave, and finishes what it has")


def test_a_worker_whose_store_answers_is_live_and_ready(d: Dibs) -> None:
    caller = Caller(dibs.web.app(d))
    answers = {path: caller.get(path) for path in ("/health", "/health/live", "/health/ready")}
    assert {answer.status for answer in answers.values()} == {200}
    assert answers["/health"].said == {"status": "healthy", "workerId": 0, "live": True, "ready": True}
    assert answers["/health/live"].said == {"status": "live", "workerId": 0}
    assert answers["/health/ready"].said == {"status": "ready", "workerId": 0}


def test_a_worker_whose_store_is_silent_is_live_but_not_ready() -> None:
    outage = Outage(MemoryBackend())
    with Dibs(outage) as d:
        outage.trouble = "refused"
        caller = Caller(dibs.web.app(d))
        assert caller.get("/health/live").status == 200
        answer = caller.get("/health")
        assert (answer.status, answer.said["status"], answer.said["ready"]) == (503, "unhealthy", False)
        assert answer.said["reason"]
        outage.trouble = "none"
        assert caller.get("/health/ready").status == 200


def test_what_is_not_there_is_answered_with_what_is(d: Dibs) -> None:
    routes = [Route("/hello", hello, methods=["GET", "POST"]), Mount("/files", routes=[])]
    answer = Caller(dibs.web.app(d, routes=routes)).get("/nowhere")
    endpoints = ["GET /hello", "POST /hello", "/files/*", *OWN]
    assert (answer.status, answer.said) == (404, {"error": "Not Found", "availableEndpoints": endpoints})


def test_a_method_that_is_not_known_is_answered_in_the_same_way(d: Dibs) -> None:
    answer = Caller(dibs.web.app(d)).post("/status")
    assert (answer.status, answer.said) == (405, {"error": "Method Not Allowed", "availableEndpoints": OWN})
    assert "GET" in answer.headers["allow"]


def test_what_the_user_refuses_keeps_its_words(d: Dibs) -> None:
    answer = Caller(dibs.web.app(d, routes=[Route("/order", refuse)])).get("/order")
    assert (answer.status, answer.said) == (404, {"error": "no such order"})


def test_the_users_routes_come_first(d: Dibs) -> None:
    assert Caller(dibs.web.app(d, routes=[Route("/health", hello)])).get("/health").said == {"hello": "you"}


@pytest.mark.parametrize("said", ["one", "-1", "1.5"])
def test_a_worker_id_that_is_none_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_WORKER_ID", said)
    with pytest.raises(ConfigError, match=f"DIBS_WORKER_ID={said}"):
        dibs.web.worker_id()


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'ap'"):
        dibs.web.ap  # type: ignore[attr-defined]  # noqa: B018
