"""The application that each worker serves by HTTP: how it is, beside what the user adds."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from dibs.errors import DibsError
from dibs.web.presence import draining, worker_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from dibs.client import Dibs

PATIENCE = 2.0
"""How long the store may take to answer before we are called unready."""
NOBODYS_LOCK = "dibs:health"
"""What is looked at to see whether the store answers. Nobody holds it."""


def app(
    d: Dibs, routes: Sequence[BaseRoute] = (), lifespan: Callable[[Any], AbstractAsyncContextManager[Any]] | None = None
) -> Starlette:
    """An application with your `routes`, and after them `/status`, `/health`, `/health/live` and `/health/ready`.

    What is nowhere to be found is told as JSON, with the endpoints that there are.
    """
    health = Health(d)
    own = [
        Route("/status", status),
        Route("/health", health.whole),
        Route("/health/live", live),
        Route("/health/ready", health.ready),
    ]
    every = [*routes, *own]
    app = Starlette(routes=every, lifespan=lifespan, exception_handlers={HTTPException: _refusals(every)})
    app.router.redirect_slashes = False  # what is nowhere is nowhere
    return app


async def status(request: Request) -> JSONResponse:
    """Which worker this is, and whether it is about to leave."""
    return JSONResponse(
        {
            "workerId": worker_id(),
            "processId": os.getpid(),
            "status": "draining" if draining.is_set() else "running",
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
    )


async def live(request: Request) -> JSONResponse:
    """The loop answers: whatever the store does, there is no reason to start this process anew."""
    return JSONResponse({"status": "live", "workerId": worker_id()})


class Health:
    """Whether a worker is fit to be asked for something."""

    def __init__(self, d: Dibs) -> None:
        self._d = d

    async def whole(self, request: Request) -> JSONResponse:
        """Both at once, for people and for those who probe one address only."""
        why_not = await self._unready()
        shown = {
            "status": "unhealthy" if why_not else "healthy",
            "workerId": worker_id(),
            "live": True,
            "ready": not why_not,
        }
        return _probed(shown, why_not)

    async def ready(self, request: Request) -> JSONResponse:
        """The store answers, and nobody has told this process to leave."""
        why_not = await self._unready()
        return _probed({"status": "unready" if why_not else "ready", "workerId": worker_id()}, why_not)

    async def _unready(self) -> str:
        """Why it is not; empty if it is."""
        if draining.is_set():
            return "it was told to leave, and finishes what it has"
        try:
            async with asyncio.timeout(PATIENCE):
                await self._d.ainspect(NOBODYS_LOCK)
        except (DibsError, TimeoutError) as fault:
            return str(fault) or f"the store was silent for {PATIENCE:g}s"
        return ""


def _probed(shown: Mapping[str, object], why_not: str) -> JSONResponse:
    if not why_not:
        return JSONResponse(shown)
    return JSONResponse({**shown, "reason": why_not}, status_code=503)


def _refusals(routes: Sequence[BaseRoute]) -> Any:
    """How requests are refused, by us or by an endpoint of the user's: as JSON."""
    endpoints = list(dict.fromkeys(line for route in routes for line in _endpoints(route)))  # yours may replace ours

    async def refuse(request: Request, refusal: HTTPException) -> JSONResponse:
        told: dict[str, object] = {"error": refusal.detail}
        is_ours = "endpoint" not in request.scope
        if is_ours or refusal.status_code == 405:  # noqa: PLR2004 - a method that the route does not know
            told["availableEndpoints"] = endpoints
        return JSONResponse(told, refusal.status_code, headers=refusal.headers)

    return refuse


def _endpoints(route: BaseRoute) -> list[str]:
    if isinstance(route, Route):
        path = route.path.replace(":path}", "}")
        return [f"{method} {path}" for method in sorted((route.methods or {"GET"}) - {"HEAD"})]
    return [f"{route.path}/*"] if isinstance(route, Mount) else []
