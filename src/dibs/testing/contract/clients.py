"""The clients of a test, in either colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.testing.contract.faces import AsyncFace, BlockingFace, Face

if TYPE_CHECKING:
    from dibs.ports.wire import Backend


class Clients:
    """What each part of the contract is asked of. Its heir gives the `backend`."""

    brief = 0.4
    """A TTL or a wait that a test may well sit out; where it takes long to connect, an heir may want a longer one."""

    @pytest.fixture(params=[BlockingFace, AsyncFace], ids=["blocking", "asyncio"])
    def face(self, request: pytest.FixtureRequest, backend: Backend) -> Face:
        """A client of the store, in one colour."""
        made: Face = request.param(backend)
        return made

    @pytest.fixture(params=[BlockingFace, AsyncFace], ids=["blocking", "asyncio"])
    def other(self, request: pytest.FixtureRequest, backend: Backend) -> Face:
        """Another client of the same store, in the same or the other colour."""
        made: Face = request.param(backend)
        return made
