"""What `on_outage`, `enabled` and `mode` say holds for every kind of lock, and for functions under one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, cast

import pytest

from dibs import Dibs, Lease, Skipped, StoreUnreachable
from dibs.config import Config
from dibs.events import CallSkipped, PolicyOver, PolicyUsed
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage, Trouble

WAIT = 0.2

Make = Callable[..., Any]

KINDS: dict[str, Callable[..., Any]] = {
    "rlock": lambda d, **options: d.rlock("a", **options),
    "read": lambda d, **options: d.rwlock("a", **options).read(),
    "write": lambda d, **options: d.rwlock("a", **options).write(),
    "semaphore": lambda d, **options: d.semaphore("a", 2, **options),
    "lock_all": lambda d, **options: d.lock_all("a", "b", **options),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
every_reentrant_kind = pytest.mark.parametrize("make", [KINDS[kind] for kind in ("rlock", "read", "write")])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's own store, of which each test has one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def store() -> MemoryBackend:
    return MemoryBackend()


@pytest.fixture
def outage(store: MemoryBackend) -> Outage:
    return Outage(store)


def policies(got: Any) -> list[str | None]:
    leases = [got] if isinstance(got, Lease) else list(cast("Sequence[Lease]", got))
    return [lease.policy for lease in leases]


def in_a_thread(block: AbstractContextManager[Any]) -> list[str | None]:
    with block as got:
        return policies(got)


def in_a_task(block: AbstractAsyncContextManager[Any]) -> list[str | None]:
    async def main() -> list[str | None]:
        async with block as got:
            return policies(got)

    return asyncio.run(main())


in_both_colours = pytest.mark.parametrize("enter", [in_a_thread, in_a_task], ids=["blocking", "asyncio"])


@every_kind
@pytest.mark.parametrize(
    ("enter", "on_outage"),
    [
        pytest.param(in_a_thread, "open", id="blocking-open"),
        pytest.param(in_a_task, "local", id="asyncio-local"),
        pytest.param(in_a_thread, "local", id="blocking-local", marks=pytest.mark.thorough),
        pytest.param(in_a_task, "open", id="asyncio-open", marks=pytest.mark.thorough),
    ],
)
def test_every_kind_of_lock_can_be_done_without(
    d: Dibs, outage: Outage, diary: Diary, make: Make, enter: Make, on_outage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.flows.outage.ASK_EVERY", 0.0)
    outage.trouble = "refused"
    seen = enter(make(d, wait=WAIT, on_outage=on_outage))
    assert seen == [on_outage] * len(seen)
    assert [used.policy for used in diary.of(PolicyUsed)] == seen
    outage.trouble = "says no"
    with pytest.raises(StoreUnreachable):
        enter(make(d, wait=WAIT, on_outage=on_outage))
    outage.trouble = "none"
    assert enter(make(d, wait=10, on_outage=on_outage)) == [None] * len(seen)
    assert len(diary.of(PolicyOver)) == 1


@every_reentrant_kind
@pytest.mark.parametrize("on_outage", ["open", "local"])
def test_what_may_be_entered_again_may_be_during_an_outage(d: Dibs, outage: Outage, make: Make, on_outage: str) -> None:
    outage.trouble = "refused"
    with make(d, wait=WAIT, on_outage=on_outage) as outer:
        with make(d, wait=WAIT, on_outage=on_outage) as inner:
            assert inner.policy == on_outage
        outer.ensure()
        assert not outer.lost


@every_kind
@in_both_colours
def test_every_kind_of_lock_can_be_switched_off(outage: Outage, make: Make, enter: Make) -> None:
    outage.trouble = "asks lost"
    with Dibs(outage, config=Config(enabled=False)) as d, make(d):
        assert set(enter(make(d))) == {None}
    assert outage.asks == 0


@every_kind
@in_both_colours
def test_every_kind_of_lock_can_be_only_watched(outage: Outage, store: MemoryBackend, make: Make, enter: Make) -> None:
    with Dibs(outage, config=Config(mode="shadow")) as d, Dibs(store) as other:
        assert set(enter(make(d))) == {None}
        with other.lock("a"):
            enter(make(d, wait=5))
        outage.trouble = "refused"
        enter(make(d))
        found = {lock.name: lock for lock in d.shadow_report()}
        outage.trouble = "none"
    assert (found["a"].runs, found["a"].waited, found["a"].failed) == (3, 1, 1)


@every_reentrant_kind
def test_who_enters_again_is_alone_in_the_shadow_too(outage: Outage, make: Make) -> None:
    with Dibs(outage, config=Config(mode="shadow")) as d:
        with make(d) as outer, make(d) as inner:
            assert inner.fence == outer.fence
        assert [lock.stopped for lock in d.shadow_report()] == [0]


class TestFunctions:
    """What is decorated can be skipped, too."""

    @pytest.fixture(params=["by a lock", "by the client"])
    def job(self, outage: Outage, diary: Diary, request: pytest.FixtureRequest) -> Iterator[Callable[[], Any]]:
        is_client = request.param == "by the client"
        config = Config(on_outage="skip", patience=0.5) if is_client else Config(patience=0.5)
        options: dict[str, Any] = {} if is_client else {"on_outage": "skip"}
        with Dibs(outage, config=config, observers=[diary]) as d:

            @d.locked("job", on_conflict="skip", **options)
            def job() -> int:
                return 7

            yield job

    def test_one_is_skipped_while_the_store_is_silent(
        self, outage: Outage, diary: Diary, job: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("dibs.flows.outage.ASK_EVERY", 0.0)
        assert job() == 7
        troubles: list[Trouble] = ["refused", "says no"]
        for trouble in troubles:
            outage.trouble = trouble
            skipped = job()
            assert isinstance(skipped, Skipped)
            assert skipped.why == "outage"
        outage.trouble = "none"
        assert job() == 7
        assert [used.policy for used in diary.of(PolicyUsed)] == ["skip", "skip"]
        assert [skip.why for skip in diary.of(CallSkipped)] == ["outage", "outage"]
        assert len(diary.of(PolicyOver)) == 1

    def test_an_async_one_too(self, outage: Outage) -> None:
        async def main() -> None:
            async with Dibs(outage, config=Config(patience=0.5)) as d:

                @d.locked("job", on_conflict="skip", on_outage="skip")
                async def job() -> int:
                    return 7

                outage.trouble = "refused"
                skipped = await job()
                assert isinstance(skipped, Skipped)
                assert skipped.why == "outage"
                outage.trouble = "none"

        asyncio.run(main())

    @pytest.mark.parametrize("on_outage", ["open", "local"])
    def test_or_runs_without_the_store(self, outage: Outage, on_outage: Any) -> None:
        outage.trouble = "refused"
        with Dibs(outage) as d:

            @d.locked("job", wait=WAIT, on_outage=on_outage)
            def job() -> int:
                return 7

            assert job() == 7
            assert d.execute_with_lock("other", lambda: 8, wait=WAIT, on_outage=on_outage) == 8
