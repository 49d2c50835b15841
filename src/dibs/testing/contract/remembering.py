"""What every store must remember of work that was done under a lock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from dibs.errors import LeaseLost
from dibs.events import JoinedQueue
from dibs.runtime.blocking import run
from dibs.skipped import Skipped
from dibs.testing.contract.clients import Clients
from dibs.testing.contract.faces import AsyncFace, BlockingFace, Face

if TYPE_CHECKING:
    from dibs.ports.wire import Backend

LONG = "366d"
"""A window that no test meets the end of."""

Body: TypeAlias = Callable[[str], Coroutine[Any, Any, object]]


class RememberingContract(Clients):
    """Doing something once a window, and sharing what was done."""

    def test_what_was_done_is_known_to_all(self, backend: Backend, face: Face) -> None:
        other = BlockingFace(backend)

        async def scene() -> None:
            work = _function(face, face.client.once("job:{key}", per=LONG), _upper)
            assert await work("a") == "A"
            assert _why(await work("a")) == "done"
            theirs = _function(other, other.client.once("job:{key}", per=LONG), _upper)
            assert _why(run(_awaited(theirs("a")))) == "done"
            assert run(_awaited(theirs("b"))) == "B"
            assert not await face.locks()

        face.play(scene())
        other.client.close()

    def test_a_run_that_fails_leaves_nothing_behind(self, face: Face) -> None:
        failures = [KeyError("first"), KeyError("second")]

        async def scene() -> None:
            async def body(key: str) -> str:
                if failures:
                    raise failures.pop(0)
                return key.upper()

            work = _function(face, face.client.once("job:{key}", per=LONG), body)
            for _ in range(2):
                with pytest.raises(KeyError):
                    await work("a")
            assert await work("a") == "A"
            assert _why(await work("a")) == "done"

        face.play(scene())

    def test_a_run_that_was_robbed_of_its_lock_leaves_nothing_behind(self, face: Face) -> None:
        async def scene() -> None:
            async def body(key: str) -> str:
                held = (await face.inspect("job:a")).held
                assert held is not None
                await face.force_release("job:a", fence=held.fence)
                return "too late"

            with pytest.raises(LeaseLost):
                await _function(face, face.client.once("job:{key}", per=LONG), body)("a")
            assert await _function(face, face.client.once("job:{key}", per=LONG), _upper)("a") == "A"

        face.play(scene())

    def test_results_are_remembered_as_they_were(self, face: Face) -> None:
        results: list[Any] = [None, 0, "ü\n\t\0'\"\\ 路径", {"a": [1.5, None, {}]}, "x" * 60_000]

        async def scene() -> None:
            async def body(key: str) -> Any:
                return results[int(key)]

            work = _function(face, face.client.once("job:{key}", per=LONG, remember=True), body)
            for _ in range(2):
                assert [await work(str(number)) for number in range(len(results))] == results

        face.play(scene())

    def test_what_was_done_is_forgotten_when_its_window_ends(self, face: Face) -> None:
        async def scene() -> None:
            once = face.client.once("job:{key}", per=self.brief, since="success")
            work = _function(face, once, _upper)
            assert await work("a") == "A"
            meanwhile = await face.acquire("meanwhile", ttl=2 * self.brief, renew=False)
            await face.release(await face.acquire("meanwhile", wait=20))
            assert meanwhile.lost
            assert await work("a") == "A"

        face.play(scene())

    def test_who_waits_for_a_shared_run_gets_its_result_and_who_comes_later_does_not(self, face: Face) -> None:
        runs: list[str] = []

        async def scene() -> None:
            async def body(key: str) -> list[int]:
                runs.append(key)
                if len(runs) == 1:
                    waiters.extend(face.start(wait()) for _ in range(3))
                    await face.seen(JoinedQueue, 3)
                return [len(runs)]

            async def wait() -> None:
                found.append(await work("a"))

            work, waiters, found = _function(face, face.client.shared("job:{key}"), body), list[Any](), list[object]()
            assert await work("a") == [1]
            for waiter in waiters:
                await waiter.finish()
            assert found == [[1]] * 3
            assert await work("a") == [2]

        face.play(scene())


async def _upper(key: str) -> str:
    return key.upper()


def _why(found: object) -> str:
    assert isinstance(found, Skipped)
    return found.why


def _function(face: Face, decorate: Any, body: Body) -> Callable[[str], Awaitable[object]]:
    """A function of the face's colour with that body, decorated, and then to be awaited in either."""

    @decorate  # type: ignore[untyped-decorator]
    def blocking(key: str) -> object:
        return run(body(key))

    @decorate  # type: ignore[untyped-decorator]
    async def aio(key: str) -> object:
        return await body(key)

    async def call(key: str) -> object:
        return await aio(key) if isinstance(face, AsyncFace) else blocking(key)

    return call


async def _awaited(found: Awaitable[object]) -> object:
    return await found
