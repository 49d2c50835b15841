"""How a job's body is called for a run, and what is noted of what came of it."""

from __future__ import annotations

import json
import traceback
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any

from dibs.errors import LeaseLost, RunStopped
from dibs.flows.duty import TIMEOUT
from dibs.model.bounded import bounded, bounded_end
from dibs.model.rota import Ending
from dibs.runtime.crew import stopped
from dibs.skipped import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.flows.duty import Underway
    from dibs.run import Run
    from dibs.runtime.crew import Performed

MOST_RESULT = 4_000
MOST_ERROR = 4_000
MOST_REASON = 300
LAST_FRAMES = 8
"""In characters, what is kept of a result, of an error and of its reason; and how many frames of its way."""
OURS = frozenset({"dibs.jobs.apart", "dibs.jobs.body", "dibs.jobs.performance"})
"""The rooms in which every way begins: they tell nobody anything."""


def perform(mine: Underway, run: Run, body: Callable[[Run], Any]) -> Performed:
    """Call it, in a thread of its own; whatever it raises is a failure of this run and of nothing else."""
    try:
        value = body(run)
        if iscoroutine(value):
            value.close()
            raise TypeError("it gave a coroutine, though it is no async def: await it there")  # noqa: TRY301
    except BaseException as error:  # noqa: BLE001 - as above: a SystemExit is meant for the run's thread
        return raised(mine, run, error)
    return returned(mine, run, value)


async def aperform(mine: Underway, run: Run, body: Callable[[Run], Any]) -> Performed:
    """The same in a task of its own."""
    from asyncio import CancelledError  # noqa: PLC0415 - see Engine.aio

    try:
        value = await body(run)
    except CancelledError as error:
        return stopped(mine, log=run.lines.kept()) if mine.asked_to_stop else raised(mine, run, error)
    except BaseException as error:  # noqa: BLE001 - as above
        return raised(mine, run, error)
    return returned(mine, run, value)


def returned(mine: Underway, run: Run, value: object) -> Performed:
    """What is noted of a body that came to its end."""
    log = run.lines.kept()
    if mine.asked_to_stop == TIMEOUT:
        return stopped(mine, log=log)
    if isinstance(value, Skipped):
        return Ending("skipped", value.reason, log=log)
    return Ending("ok", result=_kept(value), log=log)


def raised(mine: Underway, run: Run, error: BaseException) -> Performed:
    """What is noted of a body that raised something."""
    log = run.lines.kept()
    if mine.asked_to_stop and isinstance(error, LeaseLost | RunStopped):
        return stopped(mine, log=log)
    text = told(error)
    if mine.asked_to_stop == TIMEOUT:
        return stopped(mine, error=text, log=log)
    return Ending("failed", bounded(text.partition("\n")[0], MOST_REASON), error=text, log=log)


def told(error: BaseException) -> str:
    """An error's type and words, and then the last frames of its way."""
    words = "".join(traceback.format_exception_only(error)).strip()
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in OURS:
        trace = trace.tb_next
    way = "".join(traceback.format_tb(trace, -LAST_FRAMES)).rstrip()
    words = bounded(words, MOST_ERROR // 2)
    return f"{words}\n{bounded_end(way, MOST_ERROR - len(words))}" if way else words


def _kept(value: object) -> str | None:
    """A result as JSON; what has no such form or is too long, as its repr."""
    if value is None:
        return None
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        text = ""
    return bounded(text, MOST_RESULT) if 0 < len(text) <= MOST_RESULT else json.dumps(_shown(value), ensure_ascii=False)


def _shown(value: object) -> str:
    try:
        return bounded(repr(value), MOST_RESULT // 2)
    except Exception as error:  # noqa: BLE001 - its own repr fails: the run has not
        return f"<{type(value).__name__} whose repr fails: {type(error).__name__}>"
