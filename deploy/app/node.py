"""A node of the fleet: it serves a job, and answers on a socket how it is. Run it with `python -m app.node`.

Which store it uses, and what its labels and its version are, the environment says (docs/configuration.md). Of its own
it has `NODE_SOCKET`, `NODE_GRACE` (how long runs may go on when it is to leave) and `NODE_EVERY` (how often its job is
due).
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys

import dibs
from app.ask import SOCKET, YES
from dibs.events import Event, Serving, ServingEnded

GRACE = os.environ.get("NODE_GRACE", "30s")
EVERY = os.environ.get("NODE_EVERY", "1m")
PATIENCE = 2.0
"""How long the store may take to say that it knows us, and who asks to say what."""


class Node:
    """This process, from its start to its end. To drain it has it leave the fleet; it ends when it is told to."""

    def __init__(self) -> None:
        self._name = ""
        self._was_asked = False
        self._leaving, self._left, self._ending = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def on(self, event: Event, /) -> None:
        """Take note of what becomes of it in the fleet: who stops to serve without being asked ends, to be replaced."""
        match event:
            case Serving(node=name):
                self._name = name
            case ServingEnded():
                self._leaving.set()
            case _:
                pass

    async def serve(self, d: dibs.Dibs) -> int:
        """Take part until it is drained or ended; gives the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.end)

        async def heed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._answer(d, reader, writer)

        async with await asyncio.start_unix_server(heed, SOCKET):
            async with d.lifespan(grace=GRACE):
                await self._leaving.wait()
            self._left.set()
            if self._was_asked:
                await self._ending.wait()
        return 0 if self._was_asked else 1

    def leave(self) -> None:
        """Claim nothing more, and let runs finish. It may be asked for as often as one likes."""
        self._was_asked = True
        self._leaving.set()

    def end(self) -> None:
        """Leave, and end the process then."""
        self.leave()
        self._ending.set()

    async def _answer(self, d: dibs.Dibs, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                word = (await reader.readline()).decode(errors="replace").strip()
            writer.write(f"{await self._said(d, word)}\n".encode())
            await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass  # who asked has gone, or has said nothing that ends
        finally:
            writer.close()

    async def _said(self, d: dibs.Dibs, word: str) -> str:
        match word:
            case "live":
                return YES  # the loop answers. A silent store is no reason to start it anew
            case "ready":
                return await self._readiness(d)
            case "drain":
                self.leave()
                await self._left.wait()
                return f"{YES}: it has left the fleet"
            case _:
                return f"no: {word!r} is nothing to ask"

    async def _readiness(self, d: dibs.Dibs) -> str:
        """Whether the fleet has heard of it: then the store answers, too, and lets it in."""
        if self._leaving.is_set():
            return "no: it leaves the fleet"
        try:
            async with asyncio.timeout(PATIENCE):
                states = {node.name: node.state for node in await d.anodes()}
        except (dibs.DibsError, TimeoutError) as fault:
            return f"no: {' '.join(str(fault).split()) or 'the store is silent'}"
        state = states.get(self._name, "unknown")
        return f"{YES if state in ('up', 'slow') else 'no'}: to the fleet it is {state}"


def main() -> int:
    """Serve the jobs of this application. Put yours where `tidy` is."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    node = Node()
    with dibs.connect(observers=[node]) as d:

        @d.every(EVERY, max_attempts=2)
        def tidy(run: dibs.Run) -> str:
            run.log.info("tidying up for %s, fence %s", run.tick, run.fence)
            return "tidy"

        return asyncio.run(node.serve(d))


if __name__ == "__main__":
    sys.exit(main())
