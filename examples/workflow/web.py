"""What each pod answers by HTTP, and what it does beside its steps: it reports, if no other pod does."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

import dibs
from dibs import web
from examples.workflow.orders import FLOW, d, ledger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request

    from dibs import StepView

REPORT_EVERY = float(os.environ.get("WORKFLOW_REPORT_EVERY", "2"))

log = logging.getLogger("workflow")


async def show_order(request: Request) -> JSONResponse:
    """How far an order is, step by step."""
    order = request.path_params["order"]
    steps = [step for job in FLOW if (step := await job.astep(order)) is not None]
    if not steps:
        return JSONResponse({"error": f"there is no order {order!r}"}, status_code=404)
    return JSONResponse({"order": order, "steps": [_shown(step) for step in steps]})


def _shown(step: StepView) -> dict[str, object]:
    return {"step": step.job, "state": step.state, "attempt": step.attempt, "node": step.node, "error": step.error}


async def report() -> None:
    """This code runs only on one instance at a time."""
    log.info("so far: %s", ", ".join(f"{effects} {job}" for job, effects in ledger.totals().items()) or "nothing")


@asynccontextmanager
async def reporting(_app: object) -> AsyncGenerator[None]:
    """While the pod answers, it also tries to report now and then; if another one is at it, it skips."""
    task = asyncio.create_task(_report_now_and_then())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _report_now_and_then() -> None:
    while True:
        await asyncio.sleep(REPORT_EVERY)
        try:
            await d.aexecute_with_lock("report-scheduler", report)
        except dibs.DibsError as trouble:
            log.warning("no report: %s", trouble)


def speak_as(pod: int) -> None:
    """Every line says which pod speaks; what goes well is told by nobody but us."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format=f"Pod {pod}: %(message)s")
    log.setLevel(logging.INFO)


if web.worker_id():
    speak_as(web.worker_id())
app = web.app(d, routes=[Route("/orders/{order}", show_order), *web.admin_routes(d)], lifespan=reporting)
