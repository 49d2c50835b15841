"""What the workers of these tests serve."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import dibs
import dibs.web

FOLDER = os.environ.get("SHOP_FOLDER", ".")
d = dibs.connect(os.environ.get("SHOP_URL", "memory://"))


@d.job
def tidy() -> None:
    """So that there is something to serve."""


async def leave(request: Request) -> JSONResponse:
    d.stop_serving()
    return JSONResponse({})


async def hang(request: Request) -> JSONResponse:
    """It tells that it was asked, and never answers."""
    (Path(FOLDER) / "hangs").write_text("now")
    await asyncio.Event().wait()
    raise AssertionError


@asynccontextmanager
async def refuse(app: object) -> AsyncGenerator[None]:
    if app is not None:
        raise LookupError("the till is locked")
    yield


app = dibs.web.app(d, routes=[Route("/leave", leave, methods=["POST"]), Route("/hang", hang)])
own_app = dibs.web.app(d, lifespan=d.lifespan)
no_start = dibs.web.app(d, lifespan=refuse)
no_app = 7
