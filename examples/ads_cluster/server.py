"""The routes of a worker: what it answers to whom."""

from __future__ import annotations

import logging

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import dibs
from examples.ads_cluster.config import WORKER, keys
from examples.ads_cluster.keys import KeysUnreachable
from examples.ads_cluster.services.ads_service import get_ads
from examples.ads_cluster.services.lock_service import perform_locked_operation
from examples.ads_cluster.wish import LONGEST_BODY, Refused, Wish

log = logging.getLogger("ads-cluster")

BUSY = "Could not acquire lock. Please try again later."
LOST = "The lock was lost, so this may not have been written. Please try again later."
PATIENT_BODY = 16 * LONGEST_BODY
"""So much of a body that is too large is read to the end: who still writes does not hear why it is refused."""


async def ads(request: Request) -> JSONResponse:
    """The value as it is."""
    try:
        return JSONResponse({"success": True, "data": await get_ads()})
    except KeysUnreachable as trouble:
        return _failed(500, str(trouble))


async def update(request: Request) -> JSONResponse:
    """One operation under the lock. Whoever gets a 200 has written; whoever gets another answer may try again."""
    try:
        wish = Wish.of(await _body(request))
        written = await perform_locked_operation(wish.operation_name, wish.duration)
    except Refused as refused:
        return _failed(refused.status, str(refused))
    except (dibs.LockBusy, dibs.StoreUnreachable):
        return _failed(503, BUSY)
    except (dibs.LeaseLost, dibs.StaleFence) as lost:
        log.warning("%s", lost)
        return _failed(503, LOST)
    except KeysUnreachable as trouble:
        return _failed(500, str(trouble))
    return JSONResponse({"success": True, "message": "Operation completed successfully", "data": written})


async def health(request: Request) -> JSONResponse:
    """Whether the keys can be reached."""
    try:
        await keys.ping()
    except KeysUnreachable as trouble:
        log.warning("%s is not healthy: %s", keys.name, trouble)
        return JSONResponse({"status": "unhealthy", "workerId": WORKER, "redis": "disconnected"}, 503)
    return JSONResponse({"status": "healthy", "workerId": WORKER, "redis": keys.health})


routes = [
    Route("/ads", ads, methods=["GET"]),
    Route("/update", update, methods=["POST"]),
    Route("/health", health, methods=["GET"]),
]
"""Beside `/status`, and the 404 that names them all, which dibs.web has for every application."""


async def _body(request: Request) -> bytes:
    read, size = bytearray(), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= LONGEST_BODY:
                read += chunk
            elif size > PATIENT_BODY:
                break
    except ClientDisconnect:
        raise Refused(400, "the body broke off") from None
    if size > LONGEST_BODY:
        raise Refused(413, f"the body is too large: it may have {LONGEST_BODY} bytes")
    return bytes(read)


def _failed(status: int, why: str) -> JSONResponse:
    return JSONResponse({"success": False, "message": why}, status)
