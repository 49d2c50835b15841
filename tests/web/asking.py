"""Asking an ASGI app as a server would, without one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message

from dibs import Dibs
from dibs.web.admin import admin_routes

ADDRESS = "10.0.0.9"
PATH = "/admin/locks/retry-scheduler"
FREE = {"lockKey": "workflow:retry-scheduler", "locked": False, "remainingTime": 0, "threadId": None}

wherever = pytest.mark.parametrize("place", ["memory", "sqlite", "valkey"])
"""For a test that asks for a `place`."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    said: Any
    """What its JSON says; the text itself if it is none."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody at that address, with curl unless the headers tell of a browser."""

    app: ASGIApp

    def get(self, path: str) -> Answer:
        return asyncio.run(self._ask("GET", path, b"", {}))

    def post(self, path: str, body: object = b"", **headers: str) -> Answer:
        return asyncio.run(self.apost(path, body, **headers))

    async def apost(self, path: str, body: object = b"", **headers: str) -> Answer:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self._ask("POST", path, sent, {name.replace("_", "-"): value for name, value in headers.items()})

    async def _ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        heard: list[Message] = []
        parts = [body[place : place + 1000] for place in range(0, len(body), 1000)] or [b""]

        async def receive() -> Message:
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message: Message) -> None:
            heard.append(message)

        await self.app(_scope(method, path, {"host": "pod:3000", **headers}), receive, send)
        return _answer(heard)


def calling(d: Dibs, prefix: str = "/admin") -> Caller:
    """Of the locks of this client."""
    return Caller(Starlette(routes=admin_routes(d, prefix)))


def _scope(method: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": (ADDRESS, 5000),
        "server": ("pod", 3000),
    }


def _answer(heard: list[Message]) -> Answer:
    text = b"".join(message.get("body", b"") for message in heard[1:]).decode()
    headers = {name.decode(): value.decode() for name, value in heard[0]["headers"]}
    is_json = headers.get("content-type", "").startswith("application/json")
    return Answer(heard[0]["status"], headers, json.loads(text) if is_json else text)
