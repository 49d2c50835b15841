"""The product's own snippets: they run, and their types are what they say. Misuses are refused by both checkers.

Each misuse carries an ignore that both mypy and pyright report as unneeded once they accept it.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import assert_type

import pytest

import dibs
from dibs.events import Acquired


def test_blocking_snippets() -> None:
    d = dibs.connect("memory://snippets", namespace="shop")
    assert_type(d, dibs.Dibs)
    with d.lock("report:daily", ttl="30s") as lease:
        assert_type(lease, dibs.Lease)
        assert_type(lease.fence, int)
        assert_type(lease.remaining, float)
        assert_type(lease.lost, bool)
    with d.try_lock("cache:warm") as tried:
        assert_type(tried, dibs.Lease | None)
        if tried is None:
            return
        assert_type(tried.fence, int)
    assert_type(d.inspect("report:daily"), dibs.LockView)
    assert_type(d.locks(), Sequence[dibs.LockView])
    assert_type(d.guarantee, dibs.Guarantee)
    assert_type(d.lock("a").acquire(), dibs.Lease).release()
    for term in d.leader("billing", ttl="15s", on_ended=lambda term, reason: print(term.fence, reason.upper())).terms():
        assert_type(term, dibs.Term)
        assert_type(term.ended, bool)
        break
    with d.leader("billing", on_elected=lambda term: term.ensure()).terms() as terms:
        assert_type(next(terms), dibs.Term).resign()
    token = d.lock("b").acquire().to_token()
    assert_type(token, str)
    assert_type(d.adopt(token), dibs.Lease).release()
    with dibs.connect("memory://snippets") as same:
        assert_type(same, dibs.Dibs)


def test_async_snippets() -> None:
    async def main() -> None:
        async with dibs.connect("memory://snippets") as d:
            async with d.lock("stock:42", wait="2s") as lease:
                assert_type(lease, dibs.Lease)
                await lease.aextend()
            async with d.try_lock("cache:warm") as tried:
                assert_type(tried, dibs.Lease | None)
            assert_type(await d.ainspect("a"), dibs.LockView)
            assert_type(await d.aforce_release("a", fence=7), bool)
            async for term in d.leader("billing").terms():
                assert_type(term, dibs.Term)
                break
            async with d.leader("billing").terms() as terms:
                await assert_type(await anext(terms), dibs.Term).aresign()
            token = (await d.lock("b").aacquire()).to_token()
            await assert_type(await d.aadopt(token), dibs.Lease).arelease()

    asyncio.run(main())


def test_durations_are_seconds_timedelta_or_text() -> None:
    d = dibs.connect("memory://snippets")
    d.lock("a", ttl=30, wait=0.5, max_hold=timedelta(hours=1))
    d.lock("a", ttl="1h30m", wait=None, purpose="nightly", renew=False, on_lost=lambda loss: loss.reason)


def test_errors_carry_their_facts() -> None:
    with dibs.connect("memory://snippets", namespace="facts") as d, d.lock("a", purpose="nightly"):
        with pytest.raises(dibs.LockBusy) as raised:
            d.lock("a", wait=0).acquire()
        busy = raised.value
        assert_type(busy.holder, str)
        assert_type(busy.since, float)
        assert_type(busy.waiters, int)
        assert busy.purpose == "nightly"


def misuses(d: dibs.Dibs) -> None:
    """Never run: each line is refused by the type checkers."""
    with d.try_lock("a") as tried:
        print(tried.fence)  # type: ignore[union-attr]
    d.lock("a", wait=object())  # type: ignore[arg-type]
    d.lock("a", timeout=5)  # type: ignore[call-arg]
    d.try_lock("a", wait=5)  # type: ignore[call-arg]
    d.lock(7)  # type: ignore[arg-type]
    d.lock("a", ttl=None)  # type: ignore[arg-type]
    d.lock("a", renew="no")  # type: ignore[arg-type]
    d.lock("a", on_lost=5)  # type: ignore[arg-type]
    d.lock("a", on_outage="skip")  # type: ignore[arg-type]
    d.try_lock("a", on_outage="skip")  # type: ignore[arg-type]
    d.lock("a", on_outage="ajar")  # type: ignore[arg-type]
    d.leader("a", wait=5)  # type: ignore[call-arg]
    d.leader("a", on_ended=lambda term: None)  # type: ignore[arg-type,misc]
    d.adopt(b"token")  # type: ignore[arg-type]
    d.force_release("a")  # type: ignore[call-arg]
    d.force_release("a", 7)  # type: ignore[call-arg]
    with d.lock("a") as lease:
        lease.fence = 5  # type: ignore[misc]
        lease.extend(30)  # type: ignore[call-arg]
    dibs.connect("memory://", "shop")  # type: ignore[call-arg]
    Acquired("a", 7, 0.0).fence = 8  # type: ignore[misc]
    print(dibs.nonsense)  # type: ignore[attr-defined]


async def async_misuses(d: dibs.Dibs) -> None:
    """Never run: each line is refused by the type checkers."""
    async with d.try_lock("a") as tried:
        tried.ensure()  # type: ignore[union-attr]
    lease = d.lock("a").aacquire()
    print(lease.fence)  # type: ignore[attr-defined]
    await lease
