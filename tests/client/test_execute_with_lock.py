"""Work that is done under a lock or left out, in one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from dibs import ConfigError, Dibs, Skipped
from dibs.config import Config
from dibs.events import CallAdmitted, CalledUnlocked, CallSkipped, JoinedQueue
from dibs.ports.wire import Backend
from dibs.testing.contract import Diary
from tests.client.others import somebody_else


@pytest.fixture
def d(anywhere: Dibs) -> Dibs:
    return anywhere


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


def test_work_is_executed_under_the_lock_or_skipped(d: Dibs, diary: Diary) -> None:
    def work() -> str:
        return d.inspect("retry-scheduler").state

    async def awork() -> str:
        return (await d.ainspect("retry-scheduler")).state

    async def main() -> list[object]:
        execute = d.aexecute_with_lock
        return [await execute("retry-scheduler", awork), await execute("retry-scheduler", work)]

    assert d.execute_with_lock("retry-scheduler", work) == "held"
    assert asyncio.run(main()) == ["held", "held"]
    assert not d.locks()
    with somebody_else(d, "retry-scheduler", purpose="mine"):
        results = [d.execute_with_lock("retry-scheduler", work), *asyncio.run(main())]
    assert [isinstance(result, Skipped) and result.purpose for result in results] == ["mine"] * 3
    assert [told.attempt for told in diary.of(CallAdmitted)] == [1, 1, 1]
    assert len(diary.of(CallSkipped)) == 3


def test_its_exception_passes_and_the_lock_is_free(d: Dibs) -> None:
    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        d.execute_with_lock("a", fail)
    with pytest.raises(KeyError):
        asyncio.run(d.aexecute_with_lock("a", fail))
    assert not d.locks()


def test_it_does_not_wait_unless_told_to(d: Dibs, diary: Diary) -> None:
    with somebody_else(d, "a"):
        assert isinstance(d.execute_with_lock("a", list), Skipped)
        assert not diary.of(JoinedQueue)
        assert isinstance(d.execute_with_lock("a", list, wait=0.05), Skipped)
        assert diary.of(JoinedQueue)
    assert d.execute_with_lock("a", lambda: d.inspect("a").held, ttl=7).ttl == 7  # type: ignore[union-attr]


def test_the_wrong_thing_to_execute_is_refused(d: Dibs) -> None:
    async def later(number: int = 5) -> int:
        return number

    with pytest.raises(ConfigError, match=r"later .* is async: await aexecute_with_lock\('a', ...\) instead"):
        d.execute_with_lock("a", later)
    with pytest.raises(ConfigError, match="what was called is not"):
        d.execute_with_lock("a", lambda: later(5))
    refused: list[Any] = [generator, async_generator, 5]
    for wrong in refused:
        with pytest.raises(ConfigError, match="cannot be called under 'a': it is"):
            d.execute_with_lock("a", wrong)
        with pytest.raises(ConfigError, match="cannot be called under 'a': it is"):
            asyncio.run(d.aexecute_with_lock("a", wrong))
    with pytest.raises(ConfigError, match="no such option here: timeout"):
        d.execute_with_lock("a", list, timeout=5)  # type: ignore[call-overload]
    assert asyncio.run(d.aexecute_with_lock("a", lambda: later(5))) == 5
    assert not d.locks()


def test_the_configuration_says_how_long_and_whether_at_all(backend: Backend) -> None:
    with Dibs(backend, config=Config(workflow_ttl=7.0, workflow_wait=0.05)) as d:
        held = d.execute_with_lock("a", lambda: d.inspect("a").held)
        assert held
        assert held.ttl == 7.0
    with Dibs(backend, config=Config(workflow_enabled=False)) as d, somebody_else(d, "a"):
        assert d.execute_with_lock("a", lambda: "ran") == "ran"
        assert asyncio.run(d.aexecute_with_lock("a", lambda: "ran")) == "ran"
        with pytest.raises(ConfigError, match="names no lock"):
            d.execute_with_lock("", list)


def retry_failed_steps() -> int:
    return 2


@pytest.mark.parametrize("verb", ["execute_with_lock", "aexecute_with_lock"])
def test_that_there_is_no_lock_is_told_once_by_each_client(backend: Backend, diary: Diary, verb: str) -> None:
    for _ in range(2):
        with Dibs(backend, config=Config(workflow_enabled=False), observers=[diary]) as d:
            for name in ("retry-scheduler", "timeout-scheduler"):
                done: Any = getattr(d, verb)(name, retry_failed_steps)
                assert (asyncio.run(done) if verb.startswith("a") else done) == 2
    told = CalledUnlocked("retry-scheduler", f"{__name__}.retry_failed_steps")
    assert diary.events == [told, told]


def test_a_client_that_executes_nothing_has_nothing_to_tell(backend: Backend, diary: Diary) -> None:
    with Dibs(backend, config=Config(workflow_enabled=False), observers=[diary]) as d, d.lock("a"):
        pass
    assert not diary.of(CalledUnlocked)
