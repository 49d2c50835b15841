"""One who stands for a leadership, leads, and stands again."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from dibs.errors import ClientClosed, ConfigError
from dibs.flows import electing, locking
from dibs.leader.term import RESIGNED, Term
from dibs.lease import Bearer, Lease
from dibs.model.value import value
from dibs.runtime import inside
from dibs.runtime.blocking import run
from dibs.runtime.farewell import Farewell

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from dibs.errors import LeaseLost
    from dibs.flows.desk import Desk
    from dibs.flows.hold import Hold
    from dibs.model.request import Request
    from dibs.runtime.detour import Way
    from dibs.runtime.engine import Engine

    Elected: TypeAlias = Callable[[Hold], Term]
    OnElected: TypeAlias = Callable[[Term], object]
    OnEnded: TypeAlias = Callable[[Term, str], object]

DOING = "stand for a lock"


@value
class Rules:
    """What a leadership is, and who is told."""

    engine: Engine
    wish: Request
    on_elected: OnElected | None
    on_ended: OnEnded | None
    on_lost: Callable[[LeaseLost], object] | None


@value
class _Reign:
    """A term from the inside."""

    term: Term
    hold: Hold
    desk: Desk
    farewell: Farewell[Term]
    whose: object


class Candidate:
    """One who stands for a leadership, leads, and stands again."""

    _reign: _Reign | None = None
    _has_stood = _is_over = False
    is_in_block = False
    """Whether a block of its own will resign the last term: it can wait for the store, as the end of a loop cannot."""

    def __init__(self, rules: Rules) -> None:
        self._rules, self._engine = rules, rules.engine
        self._turns = {"step"}

    def step(self) -> Term | None:
        """The next term, once the last is over; `None` if the client was closed meanwhile, or we were."""
        with self._alone() as me:
            if (reign := self._reign) is not None:
                reign.term.resign()
                reign.farewell.wait()
            try:
                elected, campaign = self._campaign(self._engine.blocking(DOING), me)
                term = elected(run(campaign))
            except ClientClosed:
                return None
            if self._is_over:  # we were told to stop while we stood
                term.resign()
                return None
            return term

    async def astep(self) -> Term | None:
        """The next term, once the last is over; `None` if the client was closed meanwhile, or we were."""
        with self._alone() as me:
            if (reign := self._reign) is not None:
                await reign.term.aresign()
                await reign.farewell.await_it()
            try:
                elected, campaign = self._campaign(self._engine.aio(DOING), me)
                term = elected(await campaign)
            except ClientClosed:
                return None
            if self._is_over:  # we were told to stop while we stood
                await term.aresign()
                return None
            return term

    def close(self) -> Term | None:
        """Stand no more; gives the term to resign."""
        self._is_over = True
        return None if self._reign is None else self._reign.term

    def drop(self, term: Term) -> None:
        """The loop was left in this term. The garbage collector may call this: the keeper does the rest."""
        reign = self._reign
        if self.is_in_block or reign is None or reign.term is not term or reign.hold.is_over:
            return
        if not self._engine.serves(reign.desk):  # closed, and so lost; or forked, and not ours
            return
        if reign.hold.is_loose:
            reign.hold.end()
        with suppress(ClientClosed):
            reason = electing.step_down(self._engine.blocking(DOING), reign.desk, reign.hold)
            reign.farewell.end_aside(term, reason or RESIGNED)

    def __repr__(self) -> str:
        return repr(self._rules.wish.name)

    @contextmanager
    def _alone(self) -> Generator[object, None, None]:
        """One step at a time, and none by others while a term stands: it would be taken from whoever leads."""
        me, reign = inside.actor(), self._reign
        if reign is not None and reign.whose != me and not reign.term.ended:
            raise self._shared()
        try:
            self._turns.remove("step")
        except KeyError:
            raise self._shared() from None
        try:
            if not self._has_stood:
                self._engine.blocking(DOING)  # a client closed before is an error; one closed later just ends the loop
            self._has_stood = True
            yield me
        finally:
            self._turns.add("step")

    def _shared(self) -> ConfigError:
        return ConfigError(
            f"these terms of {self._rules.wish.name!r} are iterated by another thread or task: "
            "call terms() once for each that is to stand"
        )

    def _campaign(self, world: Way, me: object) -> tuple[Elected, Coroutine[Any, Any, Hold]]:
        """The way to the next term, and what to do at its end."""
        if self._is_over:
            raise ClientClosed(DOING)
        rules, desk, bearer = self._rules, self._engine.desk, Bearer()
        detour = self._engine.detours.by("closed")  # two who lead while the store is silent are none
        farewell = Farewell[Term](self._engine, rules.wish.name, rules.on_elected, rules.on_ended)
        watchers = [self._engine.aside(farewell.lost)] if rules.on_ended else []
        if rules.on_lost is not None:
            watchers.append(self._engine.aside(rules.on_lost))

        def stand() -> Coroutine[Any, Any, Hold | locking.Denied]:
            here = inside.holds_here(desk, rules.wish.name, me)
            if detour is not None:
                return detour.taking(world, rules.wish, inside=here, watchers=watchers, bearer=bearer)
            return locking.acquire(world, desk, rules.wish, inside=here, watchers=watchers, bearer=bearer)

        def elected(hold: Hold) -> Term:
            term = Term(Lease(self._engine, hold, bearer), farewell)
            self._reign = _Reign(term, hold, desk, farewell, me)
            inside.leave()
            inside.enter(desk, hold, me)
            farewell.begin(term)
            return term

        return elected, electing.campaign(world, desk, rules.wish.name, stand)
