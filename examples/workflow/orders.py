"""The steps of an order. Each is done once in the whole fleet, and the last thing it does is to submit the next one.

A step that is begun anew, because it failed, hung or died with its pod, finds what it has done: its effect at the
ledger, and its successor in the store. So an order goes on wherever it was.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import dibs
from examples.workflow.fate import Chances, Fate
from examples.workflow.ledger import Attempt, Ledger

if TYPE_CHECKING:
    from dibs.jobs.terms import JobTerms

os.environ.setdefault("DIBS_CONFIG", str(Path(__file__).with_name("application.yaml")))
d = dibs.connect(namespace="workflow")  # so the schedulers' locks are "workflow:retry-scheduler" and so on

TERMS: JobTerms = {
    "retries": 3,  # after it failed or took too long
    "retry_delay": "200ms",  # then 400 ms, and 800 ms
    "timeout": "2s",
    "max_attempts": 8,  # of all kinds, those that died with their pod included
    "ttl": "3s",  # so soon others go on for a dead pod
    "keep_for": "7d",
}
TAKES = 0.02
INVOICED = 25
"""Every so manieth order gets an invoice, too."""

chances = Chances.told()
ledger = Ledger(os.environ.get("WORKFLOW_LEDGER", "ledger.sqlite"))


class DeclinedError(Exception):
    """A step that was to fail did."""


@d.job(**TERMS)
async def reserve(run: dibs.Run, order: str) -> str:
    """Reserve what was ordered."""
    done = await acted(run, order)
    await charge.asubmit(order, {"order": order})
    return done


@d.job(**TERMS)
async def charge(run: dibs.Run, order: str) -> str:
    """Charge whoever has ordered it."""
    done = await acted(run, order)
    await ship.asubmit(order, {"order": order})
    return done


@d.job(**TERMS)
async def ship(run: dibs.Run, order: str) -> str:
    """Ship it."""
    done = await acted(run, order)
    if wants_invoice(order):
        await invoice.asubmit(order, {"order": order})
    return done


@d.job(**(TERMS | {"timeout": "10s", "process": True}))
def invoice(run: dibs.Run, order: str) -> str:
    """Print an invoice, by a library that never looks up: so it has a process of its own, which can be killed."""
    fate = chances.fate(run.job, order, run.attempt)
    if fate.trouble == "hangs":
        threading.Event().wait()
    if fate.trouble == "fails":
        raise DeclinedError(f"no paper for {order}")
    return _act(run, order)


FLOW = (reserve, charge, ship, invoice)


def wants_invoice(order: str) -> bool:
    """By its number."""
    return int(order.rpartition("-")[2]) % INVOICED == 0


async def acted(run: dibs.Run, order: str) -> str:
    """Do the step, in the way that fate has in mind for this attempt."""
    fate = chances.fate(run.job, order, run.attempt)
    if not fate.is_late:
        await _meet(fate, order)
    await asyncio.sleep(TAKES)
    done = _act(run, order)
    if fate.is_late:
        await _meet(fate, order)
    return done


def _act(run: dibs.Run, order: str) -> str:
    return ledger.act(Attempt(run.job, order, run.attempt, run.fence))


async def _meet(fate: Fate, order: str) -> None:
    match fate.trouble:
        case "fails":
            raise DeclinedError(f"declined {order}")
        case "hangs":
            await asyncio.sleep(3600)  # until the timeout cancels it
        case "crashes":
            os.kill(os.getpid(), signal.SIGKILL)
        case None:
            pass
