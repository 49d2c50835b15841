"""Starts the pods and gives them orders: `python -m examples.workflow --steps 60`, from the root of the repository."""

from __future__ import annotations

import logging
import os
import secrets
import sys
import tempfile
import threading
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import dibs
from dibs.events import WorkerEvent
from examples.workflow.fate import Chances

if TYPE_CHECKING:
    from examples.workflow.pods import Pods

STEPS_OF_AN_ORDER = 3


def main() -> int:
    """All of it; or only a lock that is held, to be looked at."""
    said = _parser().parse_args()
    speak()
    Chances(said.fail, said.hang, said.crash, said.seed).tell()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORKFLOW_LEDGER"] = str(said.ledger or Path(folder, "ledger.sqlite"))
        return hold(said.hold) if said.hold else work(said)


def work(said: Namespace) -> int:
    """Pods and orders, until all orders are done; or until Ctrl-C, if they are to stay."""
    from examples.workflow.orders import ledger  # noqa: PLC0415 - by now the environment says what it is to know
    from examples.workflow.pods import Pods  # noqa: PLC0415

    ledger.create()
    pods = Pods(said.pods, port=said.port, kill_every=said.kill_every)
    failures: list[BaseException] = []
    threading.Thread(target=_give_orders, args=(said, pods, failures), daemon=True).start()
    return pods.run() or bool(failures)


def speak() -> None:
    """What dibs tells here goes where the pods speak, but for what is told of the pods: that we say ourselves."""
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(lambda record: not isinstance(getattr(record, "event", None), WorkerEvent))
    logging.basicConfig(handlers=[handler], format="Conductor: %(message)s")


def _give_orders(said: Namespace, pods: Pods, failures: list[BaseException]) -> None:
    from examples.workflow.story import Story  # noqa: PLC0415 - as above

    pods.up.wait()
    try:
        story = Story(said.batch, -(-said.steps // STEPS_OF_AN_ORDER))
        story.play()
        pods.spare()
        print(*story.summary(), sep="\n", flush=True)
    except Exception as error:  # noqa: BLE001 - whatever it is, the pods are not to go on without us
        failures.append(error)
        print(f"No summary: {error}", file=sys.stderr)
        if isinstance(error, dibs.StoreUnreachable):
            print("Without a server: REDISSON_ENABLED=false python -m examples.workflow", file=sys.stderr)
    if failures or not said.stay:
        pods.end()


def hold(name: str) -> int:
    """Keep a scheduler's lock, so that it can be looked at and be taken from us."""
    from examples.workflow.orders import d  # noqa: PLC0415 - as above

    with d:
        try:
            held = d.execute_with_lock(name, lambda: input(f"{name} is held; Enter gives it back. "), reentrant=True)
        except dibs.LeaseLost as lost:
            print(lost)
            return 1
    print(held if isinstance(held, dibs.Skipped) else f"{name} was given back")
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m examples.workflow", description="Orders in steps, on three pods.")
    parser.add_argument("--steps", type=int, default=60, metavar="N", help="so many, three for each order (60)")
    parser.add_argument("--fail", type=float, default=0.2, metavar="SHARE", help="of the attempts that fail (0.2)")
    parser.add_argument("--hang", type=float, default=0.05, metavar="SHARE", help="of those that hang (0.05)")
    parser.add_argument("--crash", type=float, default=0.0, metavar="SHARE", help="of those that kill their pod (0)")
    parser.add_argument("--kill-every", type=float, default=0.0, metavar="SECONDS", help="kill a pod, in turn")
    parser.add_argument("--seed", default="7", help="another one brings other troubles (7)")
    parser.add_argument("--pods", type=int, default=3, metavar="N", help="so many (3)")
    parser.add_argument("--port", type=int, default=3000, metavar="PORT", help="pod 1 is at the next one (3000)")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="keep the ledger of effects there")
    parser.add_argument("--batch", default=secrets.token_hex(3), help="what the orders' names begin with")
    parser.add_argument("--stay", action="store_true", help="go on serving when all orders are done")
    parser.add_argument("--hold", metavar="LOCK", help="only hold this lock, as in retry-scheduler")
    return parser


if __name__ == "__main__":
    sys.exit(main())
