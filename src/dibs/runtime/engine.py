"""All that one client runs: its desk, its keeper, a world for threads and one for each event loop."""

from __future__ import annotations

import atexit
import os
import threading
from logging import getLogger
from typing import TYPE_CHECKING, Literal
from weakref import WeakSet

from dibs.errors import ClientClosed, DibsError
from dibs.events import ClosedWhileHolding, LockingDisabled, Stumbled
from dibs.flows.counting import Tally
from dibs.flows.desk import Desk, tell_loss
from dibs.flows.keeping import leave_queues, settle
from dibs.flows.locking import give_back
from dibs.flows.recording import Ledger
from dibs.model.request import PATIENCE
from dibs.ports.store import ChoosyStore, VotingStore
from dibs.runtime.blocking import BlockingWorld, run
from dibs.runtime.clock import boottime
from dibs.runtime.detour import Detours
from dibs.runtime.keeper import KeeperThread, KeeperWorld

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Sequence

    from dibs.errors import LeaseLost
    from dibs.events import Event, Observer
    from dibs.model.policy import OnOutageOfJob
    from dibs.ports.wire import Backend
    from dibs.runtime.aio import AsyncWorld

CLOSED = "its client was closed"
ENDED = "the program ended"
FORKED = "this process was forked from the one that holds it"


class Engine:
    """One client's moving parts. Opens nothing until they are used."""

    def __init__(
        self, backend: Backend, *, namespace: str, observers: Sequence[Observer], patience: float = PATIENCE
    ) -> None:
        self.backend, self.namespace, self._observers, self._patience = backend, namespace, observers, patience
        self._is_closed = False
        self._running_loop: Callable[[], AbstractEventLoop] = self._first_running_loop
        self._assemble()
        self.detours = Detours(self)
        _engines.add(self)

    def blocking(self, doing: str) -> BlockingWorld:
        """The world for threads."""
        if self._is_closed:
            raise ClientClosed(doing)
        return self._world

    def aio(self, doing: str) -> AsyncWorld:
        """The world for the running event loop."""
        if self._is_closed:
            raise ClientClosed(doing)
        loop = self._running_loop()
        return self._loops.get(loop) or self._settled_in(loop)

    def take_detours(
        self,
        on_outage: OnOutageOfJob,
        *,
        enabled: bool,
        mode: Literal["normal", "shadow"],
        local: Callable[[], Backend],
    ) -> None:
        """How this client takes its locks, if not by asking the store and believing it; `local` opens another one."""
        self.detours = Detours(self, on_outage=on_outage, enabled=enabled, mode=mode, local=local)
        if not enabled:
            self.tell(LockingDisabled(self.backend.server))

    def attend(self, observer: Observer) -> None:
        """Have one more who hears of all that is told, also of what it tells itself."""
        self._observers = (*self._observers, observer)

    def beside(self, backend: Backend) -> Engine:
        """Another one, on that store, for the same locks and the same observers, with the same patience."""
        return Engine(backend, namespace=self.namespace, observers=self._observers, patience=self._patience)

    def refuse_where_many_vote(self, what: str, *, sheet: str = "") -> None:
        """Refuse what one store decides in one step, where no server decides alone; unless the sheet is kept there."""
        store = self.desk.store
        if isinstance(store, ChoosyStore) and store.keeps(sheet):
            return
        if isinstance(store, VotingStore):
            raise store.refusal(what)

    def serves(self, desk: Desk) -> bool:
        """Whether what was taken at this desk can still be given back: not when closed, nor in a forked child."""
        return desk is self.desk and not self._is_closed

    def close(self) -> None:
        """Stop. Leases still in use end and are left to their TTL: the work under them may not have stopped yet."""
        if not self._begins_to_close():
            return
        self.detours.close()
        self._dismiss_waiters()
        holds = list(self.desk.holds.values())
        if holds:
            self.tell(ClosedWhileHolding(tuple(hold.name for hold in holds)))
        for hold in holds:
            hold.lose(CLOSED)
            self.desk.strike(hold)
            tell_loss(self.desk, hold)
        self._hang_up()

    async def aclose(self) -> None:
        """The same, while the event loop goes on."""
        from dibs.stores.aside import aside  # noqa: PLC0415 - see _first_running_loop

        await aside(self.close)

    def close_at_exit(self) -> None:
        """The interpreter ends, and with it all work: what is still held is given back."""
        if not self._begins_to_close():
            return
        self._dismiss_waiters()
        for hold in list(self.desk.holds.values()):
            try:
                run(give_back(self._world, self.desk, hold, reason=ENDED))
            except DibsError:
                break  # the store is silent, and the TTL will do it
        self._hang_up()

    def aside(self, callback: Callable[[LeaseLost], object]) -> Callable[[LeaseLost], object]:
        """A callback of the user's, on a thread of its own: it may take its time while the keeper goes on."""

        def call(loss: LeaseLost) -> None:
            try:
                callback(loss)
            except BaseException as error:  # noqa: BLE001 - there is nobody else to tell
                self.tell(Stumbled(f"telling of the loss of {loss.name!r}", repr(error)))

        return lambda loss: threading.Thread(target=call, args=(loss,), name="dibs-on-lost", daemon=True).start()

    def see_off(self, farewell: Callable[[], object]) -> None:
        """Say this on a thread of its own. The garbage collector may call it; closing waits until it was said."""

        def say() -> None:
            try:
                farewell()
            finally:
                self._farewells.discard(thread)

        thread = threading.Thread(target=say, name="dibs-farewell", daemon=True)
        self._farewells.add(thread)
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter ends
            self._farewells.discard(thread)

    def start_over_after_fork(self) -> None:
        """In a forked child: the leases, the keeper and the lines are the parent's."""
        holds, is_closed = list(self.desk.holds.values()), self._is_closed
        self._assemble()
        self.desk.is_closed = is_closed
        for hold in holds:
            hold.lose(FORKED)

    def tell(self, event: Event) -> None:
        """Show an event to every observer; one that fails must not hurt the lock."""
        for observer in self._observers:
            try:
                observer.on(event)
            except Exception:
                getLogger("dibs").exception("an observer failed: %r", observer)

    def _assemble(self) -> None:
        who = f"{os.uname().nodename}:{os.getpid()}" if hasattr(os, "uname") else f"pid:{os.getpid()}"
        store = self.backend.locks(self.namespace)
        is_heard = bool(self._observers)
        self.desk = Desk(store, self.backend.server, self.tell, who, self._nudge, is_heard, patience=self._patience)
        self.desk.tally = self.tally = Tally(threading.RLock())
        self.desk.ledger = Ledger(boottime, threading.RLock())
        self._wire = self.backend.blocking(self.desk, boottime)
        self._world = BlockingWorld(self._wire, boottime)
        self._keeper = KeeperThread(KeeperWorld(self._wire, boottime, self.desk), self.desk)
        self._loops: dict[AbstractEventLoop, AsyncWorld] = {}
        self._farewells: set[threading.Thread] = set()
        self._closing = threading.Lock()

    def _settled_in(self, loop: AbstractEventLoop) -> AsyncWorld:
        from dibs.runtime.aio import AsyncWorld  # noqa: PLC0415 - see _first_running_loop

        self._hang_up_closed_loops()
        wire = self.backend.aio(self.desk, boottime)
        world = self._loops[loop] = AsyncWorld(wire, boottime, self.backend.server)
        return world

    def _first_running_loop(self) -> AbstractEventLoop:
        from asyncio import get_running_loop  # noqa: PLC0415 - it alone would double the time that `import dibs` takes

        self._running_loop = get_running_loop
        return get_running_loop()

    def _hang_up_closed_loops(self) -> None:
        for loop, world in list(self._loops.items()):
            if loop.is_closed():
                world.close()
                self._loops.pop(loop, None)

    def _nudge(self) -> None:
        self._keeper.nudge()

    def _begins_to_close(self) -> bool:
        with self._closing:
            was_closed, self._is_closed = self._is_closed, True
        self._hear_farewells()
        self.desk.is_closed = True
        return not was_closed

    def _hear_farewells(self) -> None:
        """What was begun to be said is said, if the store listens."""
        give_up_at = boottime() + PATIENCE
        for thread in list(self._farewells):
            if thread is not threading.current_thread():
                thread.join(max(give_up_at - boottime(), 0.0))

    def _dismiss_waiters(self) -> None:
        """Whoever waits is woken and told, and leaves its queue. Before holds are struck: who holds does not wait."""
        self._keeper.stop(PATIENCE)
        run(leave_queues(self._world, self.desk))
        self.desk.ask_again()

    def _hang_up(self) -> None:
        """What is owed is said once more; then the lines are closed."""
        run(settle(self._world, self.desk))
        for world in list(self._loops.values()):
            world.close()
        self._wire.close()


_engines: WeakSet[Engine] = WeakSet()


def _for_each(act: Callable[[Engine], None]) -> Callable[[], None]:
    def act_on_all() -> None:
        for engine in list(_engines):
            act(engine)

    return act_on_all


atexit.register(_for_each(Engine.close_at_exit))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_for_each(Engine.start_over_after_fork))
