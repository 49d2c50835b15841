"""Locks by HTTP: how one stands, and how it is taken from its holder in an emergency."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import quote

from starlette.responses import JSONResponse
from starlette.routing import Route

from dibs.errors import ChangedHands, ConfigError, DibsError
from dibs.model.value import value
from dibs.options import checked_text
from dibs.oversight import checked_fence

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from dibs.client import Dibs
    from dibs.model.asks import Held
    from dibs.model.views import LockView

    Endpoint: TypeAlias = Callable[[Request], Awaitable[JSONResponse]]

ENDLESS = -1
"""What is left of a lock that never expires, as only other programs can have it; so says Redis, too."""
LONGEST_BODY = 10_000
UNDERSTOOD = ("fence", "reason")
EXAMPLE = '{"fence": 7, "reason": "its pod is gone"}'

_PROCESS = re.compile(r":(\d+)$")


def admin_routes(d: Dibs, prefix: str = "/admin") -> list[Route]:
    """`GET /admin/locks/{name}` and `POST /admin/locks/{name}/unlock`; who may ask is for your own program to say."""
    if prefix and (not prefix.startswith("/") or prefix.endswith("/")):
        raise ConfigError(f"prefix={prefix!r}: write it as in '/admin', or '' for none")
    porter, path = Porter(d), f"{prefix}/locks/{{name:path}}"
    return [
        Route(f"{path}/unlock", _answering(porter.unlock), methods=["POST"], name="dibs-unlock"),
        Route(path, _answering(porter.show), methods=["GET"], name="dibs-lock"),
    ]


class Porter:
    """Shows the locks of a client, and opens them."""

    def __init__(self, d: Dibs) -> None:
        self._d = d

    async def show(self, request: Request) -> JSONResponse:
        """The lock as it stands; who holds it, and by which fence, is told in headers."""
        seen = await self._d.ainspect(request.path_params["name"])
        shown = {
            "lockKey": self._key(seen.name),
            "locked": seen.held is not None,
            "remainingTime": _remaining(seen),
            "threadId": None if seen.held is None else _process(seen.held),
        }
        return JSONResponse(shown, headers={"Cache-Control": "no-store", **_named(seen.held)})

    async def unlock(self, request: Request) -> JSONResponse:
        """Take the lock from the holder whose fence the asker has seen, or from the one that we see now."""
        if not _is_of_this_site(request.headers):
            return _refused(HTTPStatus.FORBIDDEN, "a page of another site asked for this, and may not")
        name, wish = request.path_params["name"], await _wish(request)
        seen = await self._d.ainspect(name)
        held = _meant(seen, wish.fence)
        if held is None or not await self._d.aforce_release(name, fence=held.fence, reason=wish.reason):
            return _refused(HTTPStatus.NOT_FOUND, f"{self._key(name)!r} is free: there is nothing to unlock")
        others = f"; {more} more hold it" if (more := len(seen.holders) - 1) else ""
        told = f"{self._key(name)!r} was taken from {held.who} (fence {held.fence}): {wish.reason}{others}"
        return JSONResponse({"lockKey": self._key(name), "released": True, "fence": held.fence, "message": told})

    def _key(self, name: str) -> str:
        return f"{self._d.namespace}:{name}" if self._d.namespace else name


@value
class Wish:
    """What was said with an unlock: which holder is meant, if not any, and why."""

    fence: int | None
    reason: str


def _answering(endpoint: Endpoint) -> Endpoint:
    """The same, with each of our errors as the answer that it is."""

    async def answer(request: Request) -> JSONResponse:
        try:
            return await endpoint(request)
        except ChangedHands as error:
            return _refused(HTTPStatus.CONFLICT, str(error))
        except ConfigError as error:
            return _refused(HTTPStatus.BAD_REQUEST, str(error))
        except DibsError as error:  # the store is silent, or the client closed
            return _refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    return answer


def _refused(status: HTTPStatus, why: str) -> JSONResponse:
    return JSONResponse({"error": why}, status)


def _remaining(seen: LockView) -> int:
    """After how many milliseconds it is free, unless somebody renews it."""
    if not seen.holders:
        return 0
    left = max(held.ttl_left for held in seen.holders)
    return ENDLESS if left == inf else max(round(left * 1000), 1)


def _process(held: Held) -> int | None:
    """The number of the process that holds it, which is all that a store knows; none of a program that is not dibs."""
    found = _PROCESS.search(held.who)
    return None if found is None else int(found[1])


def _named(held: Held | None) -> Mapping[str, str]:
    return {} if held is None else {"Dibs-Fence": str(held.fence), "Dibs-Holder": quote(held.who, safe=":, ")}


def _meant(seen: LockView, fence: int | None) -> Held | None:
    """The holder with that fence, or the first if none is named; `None` if the lock is free."""
    if seen.held is None:
        return None
    if fence is None:
        if not seen.held.fence:
            raise ConfigError(
                'it is held by a program that is not dibs, and may be data: say {"fence": 0} if you mean it'
            )
        return seen.held
    for held in seen.holders:
        if held.fence == fence:
            return held
    raise ChangedHands(seen.name, fence=fence)


def _is_of_this_site(headers: Mapping[str, str]) -> bool:
    """Whether no page of another site sent this. A browser says where it comes from; other programs say nothing."""
    if site := headers.get("sec-fetch-site"):
        return site == "same-origin"
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower()


async def _wish(request: Request) -> Wish:
    """What the body says; an empty one is allowed, for hands in a hurry."""
    said = _understood(await _body(request))
    fence = checked_fence(said["fence"]) if "fence" in said else None  # null names nobody: it is refused
    by = request.client.host if request.client else "an unknown address"
    return Wish(fence, checked_text("reason", said.get("reason", "")) or f"no reason given, by HTTP from {by}")


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_BODY:
            raise ConfigError(f"the body is longer than {LONGEST_BODY} bytes: say no more than fence and reason")
    return body


def _understood(body: bytes) -> Mapping[str, Any]:
    """What it says. A misspelt key is refused, or the wrong holder might lose the lock."""
    try:
        said: object = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the body is no JSON ({error}): write it as in {EXAMPLE}, or leave it out") from None
    if not isinstance(said, dict):
        raise ConfigError(f"the body is no JSON object: write it as in {EXAMPLE}, or leave it out")
    found = cast("dict[str, Any]", said)
    if unknown := [key for key in found if key not in UNDERSTOOD]:
        raise ConfigError(f"the body says {', '.join(map(repr, unknown))}, and nobody knows that here: write {EXAMPLE}")
    return found
