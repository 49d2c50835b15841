"""Clients of one server in one colour, what they may never do, and what they may never leave behind."""

from __future__ import annotations

import asyncio
import secrets
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar, Unpack

from dibs import Dibs, Lease, StoreUnreachable
from dibs.options import LockOptions
from dibs.runtime.blocking import run
from dibs.stores.redis import open_store
from dibs.testing.contract.faces import AsyncFace, BlockingFace, Face
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.server import Server

Case = TypeVar("Case")

NAME = "stock"
PATIENCE = 2.0
"""How long a call may take that has no wait of its own, when the server says nothing."""


HISTORIES = ("~entries", "~ends", "~lines", "~tagged")
"""So end the keys of what is kept of who held what."""


class Witness:
    """What the lock protects: it sees who is inside, and refuses a fence that is not above all before."""

    def __init__(self) -> None:
        self._looking, self._inside, self.fence = threading.Lock(), set[Lease](), 0

    def enters(self, lease: Lease) -> None:
        """Somebody has come in; nobody else may still believe to be inside."""
        with self._looking:
            believers = [other for other in self._inside if not other.lost]
            assert not believers, f"{lease!r} came in while {believers!r} were inside"
            self.counts(lease)
            self._inside.add(lease)

    def counts(self, lease: Lease) -> None:
        """The fence is a new one."""
        assert lease.fence > self.fence, f"fence {lease.fence} after {self.fence}"
        self.fence = lease.fence

    def leaves(self, lease: Lease) -> None:
        """It is about to go."""
        with self._looking:
            self._inside.discard(lease)


class Party:
    """Any number of clients with a namespace of their own, all for threads or all for tasks."""

    def __init__(self, colour: str) -> None:
        self._colour, self.namespace = colour, f"party-{secrets.token_hex(4)}"
        self.witness = Witness()
        self._clients: list[Dibs] = []

    def join(self, url: str) -> Face:
        """One more client."""
        store = open_store(url)
        made = BlockingFace if self._colour == "blocking" else AsyncFace
        face: Face = made(store, namespace=self.namespace)
        self._clients.append(face.client)
        return face

    def play(self, scene: Coroutine[Any, Any, None]) -> None:
        """Run the scene, and close all clients."""
        if self._colour == "blocking":
            with ExitStack() as stack:
                for client in self._clients:
                    stack.enter_context(client)
                run(scene)
        else:
            asyncio.run(self._played(scene))
        for client in self._clients:
            self._ends(client)

    def _ends(self, client: Dibs) -> None:
        """A closed client has no thread left that talks: it would meet a proxy that is about to end."""
        trunk = client._engine._wire._trunk._thread  # type: ignore[attr-defined]
        if trunk is not None:
            trunk.join(2 * PATIENCE)
            assert not trunk.is_alive()

    async def _played(self, scene: Coroutine[Any, Any, None]) -> None:
        try:
            await scene
        finally:
            for client in self._clients:
                await client.aclose()

    async def enter(self, face: Face, **options: Unpack[LockOptions]) -> Lease:
        """Take the lock, and be alone with it."""
        lease = await face.acquire(NAME, **options)
        self.witness.enters(lease)
        return lease

    async def leave(self, face: Face, lease: Lease) -> None:
        """Give it back."""
        self.witness.leaves(lease)
        await face.release(lease)

    async def leave_somehow(self, face: Face, lease: Lease, server: Server) -> None:
        """Give it back over a connection that may have ended: said or owed, it is done."""
        try:
            await self.leave(face, lease)
        except StoreUnreachable:
            mine = f"\n1\n{lease.fence}\n"
            await face.happened(so(lambda: mine not in (server.ask("GET", self.key()) or "")))

    async def visit(self, face: Face, *, ttl: float, wait: float = 10.0) -> None:
        """Get in while the wait lasts, be alone, and leave."""
        with ends_within(wait + IN_TIME):
            lease = await self.enter(face, ttl=ttl, wait=wait)
        await self.leave(face, lease)

    async def follow(self, face: Face, *, ttl: float, wait: float = 10.0) -> None:
        """The same where the last one may still believe to be inside: the fence shuts it out."""
        with ends_within(wait + IN_TIME):
            lease = await face.acquire(NAME, ttl=ttl, wait=wait)
        self.witness.counts(lease)
        await face.release(lease)

    def key(self, name: str = NAME) -> str:
        """Where the lock itself is kept."""
        return f"{self.namespace}:{name}"

    def keys(self, server: Server) -> set[str]:
        """All that the server has of us."""
        return set(server.ask("KEYS", f"*{self.namespace}:*"))

    def leaves_nothing(self, server: Server) -> None:
        """When all have gone nothing of them stays but what is remembered; whoever comes next need not wait."""
        counted = {f"{self.namespace}:~fence", f"{self.namespace}:~counts"}
        for_good = {*counted, f"{self.namespace}:~index"}
        assert so(lambda: self._of_locks(server) <= for_good).wait(10), self.keys(server)
        newcomer = Party(self._colour)
        newcomer.namespace, newcomer.witness = self.namespace, self.witness
        newcomer.play(newcomer._comes_and_goes(newcomer.join(server.url)))
        assert self._of_locks(server) <= counted

    def _of_locks(self, server: Server) -> set[str]:
        """Without what was noted of them for good."""
        return {key for key in self.keys(server) if not key.endswith(HISTORIES)}

    async def _comes_and_goes(self, face: Face) -> None:
        lease = await face.try_acquire(NAME)
        assert lease is not None, "somebody still has it"
        self.witness.enters(lease)
        await face.extend(lease)
        self.witness.leaves(lease)
        await face.release(lease)


def renewed(lease: Lease) -> threading.Event:
    """Set as soon as the server has agreed to it once more, or it is lost."""
    asked_at = lease._hold.tenure.asked_at
    return so(lambda: lease._hold.tenure.asked_at > asked_at or lease.lost)


def at_once(cases: Iterable[Case], play: Callable[[Case], None], *, hands: int = 16) -> None:
    """Play all cases, many beside one another, since nearly all they do is wait; tells of each that failed."""
    with ThreadPoolExecutor(hands) as pool:
        played: dict[Case, Future[None]] = {case: pool.submit(play, case) for case in cases}
    assert played
    failed = {case: error for case, future in played.items() if (error := future.exception()) is not None}
    texts = {f"{case}: {error!r}": "".join(traceback.format_exception(error)) for case, error in failed.items()}
    assert not failed, "\n".join([f"{len(failed)} of {len(played)} failed", *texts, *texts.values()])
