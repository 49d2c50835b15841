"""How a client goes on with a lease that another process has handed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from dibs.errors import LeaseLost
from dibs.lease import Bearer, Lease
from dibs.options import checked_callback
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dibs.flows.hold import Hold
    from dibs.ports.world import World
    from dibs.runtime.engine import Engine

    Adopting: TypeAlias = Coroutine[Any, Any, Hold | LeaseLost]
    OnLost: TypeAlias = Callable[[LeaseLost], object]

DOING = "adopt a lease"


class Adoption:
    """How a client goes on with a lease of another's."""

    namespace: str
    _engine: Engine

    def adopt(self, token: str, *, on_lost: OnLost | None = None) -> Lease:
        """Go on with a lease that was handed on by `lease.to_token()`; `LeaseLost` if that was too long ago.

        It has a whole TTL from now, up to its `max_hold`, and is renewed, released and fenced like any other.
        """
        bearer, adopting = self._adopting(self._engine.blocking(DOING), token, on_lost)
        return self._adopted(bearer, run(adopting))

    async def aadopt(self, token: str, *, on_lost: OnLost | None = None) -> Lease:
        """Go on with a lease that was handed on by `lease.to_token()`; `LeaseLost` if that was too long ago.

        It has a whole TTL from now, up to its `max_hold`, and is renewed, released and fenced like any other.
        """
        bearer, adopting = self._adopting(self._engine.aio(DOING), token, on_lost)
        return self._adopted(bearer, await adopting)

    def _adopting(self, world: World, token: str, on_lost: OnLost | None) -> tuple[Bearer, Adopting]:
        from dibs.flows.adopting import adopt  # noqa: PLC0415 - needed by few
        from dibs.token import read  # noqa: PLC0415

        baton, bearer = read(token, self.namespace), Bearer()
        checked_callback("on_lost", on_lost, takes="the LeaseLost")
        watchers = () if on_lost is None else (self._engine.aside(on_lost),)
        return bearer, adopt(world, self._engine.desk, baton, watchers=watchers, bearer=bearer)

    def _adopted(self, bearer: Bearer, taken: Hold | LeaseLost) -> Lease:
        if isinstance(taken, LeaseLost):
            raise taken
        return Lease(self._engine, taken, bearer)
