"""The relatives of the lock: their snippets run, their types are what they say. Misuses are refused by both checkers.

Each misuse carries an ignore that both mypy and pyright report as unneeded once they accept it.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import assert_type

import dibs


def test_blocking_snippets() -> None:
    d = dibs.connect("memory://snippets", namespace="family", quiet=True)
    assert_type(d.semaphore("gpu", 4), dibs.Lock)
    assert_type(d.rwlock("config"), dibs.RWLock)
    assert_type(d.rwlock("config").read(), dibs.RLock)
    assert_type(d.rwlock("config").write(), dibs.RLock)
    assert_type(d.lock_all("acct:1", "acct:2"), dibs.LockAll)
    assert_type(d.rlock("x"), dibs.RLock)
    with d.rlock("x") as outer, d.rlock("x", within=outer) as inner:
        assert_type(inner, dibs.Lease)
        assert_type(inner.fence, int)
    with d.rwlock("config", ttl="10s").read() as reading:
        assert_type(reading, dibs.Lease)
    with d.semaphore("gpu", 4, wait=0, at_least=timedelta(seconds=0)) as permit:
        assert_type(permit, dibs.Lease)
    with d.lock_all("acct:1", "acct:2", wait="2s") as leases:
        assert_type(leases, dibs.Leases)
        assert_type(leases["acct:1"], dibs.Lease)
        assert_type(iter(leases), Iterator[dibs.Lease])
        assert_type(leases.remaining, float)
        assert_type(leases.lost, bool)
    assert_type(d.lock_all("acct:1").acquire(), dibs.Leases).release()
    assert_type(d.rlock("x").acquire(), dibs.Lease).release()
    d.close()


def test_async_snippets() -> None:
    async def main() -> None:
        async with dibs.connect("memory://snippets", namespace="family", quiet=True) as d:
            async with d.rlock("x") as lease:
                assert_type(lease, dibs.Lease)
            async with d.rwlock("config").write() as lease:
                assert_type(lease, dibs.Lease)
            async with d.semaphore("gpu", 4) as permit:
                assert_type(permit, dibs.Lease)
            async with d.lock_all("acct:1", "acct:2") as leases:
                assert_type(leases, dibs.Leases)
            await assert_type(await d.lock_all("acct:1").aacquire(), dibs.Leases).arelease()
            await assert_type(await d.rwlock("config").read().aacquire(), dibs.Lease).arelease()

    asyncio.run(main())


def misuses(d: dibs.Dibs) -> None:
    """Never run: each line is refused by the type checkers."""
    d.semaphore("gpu")  # type: ignore[call-arg]
    d.semaphore("gpu", "4")  # type: ignore[arg-type]
    d.semaphore("gpu", None)  # type: ignore[arg-type]
    d.semaphore(4, 4)  # type: ignore[arg-type]
    d.semaphore("gpu", 4, permits=4)  # type: ignore[misc]
    with d.rwlock("config"):  # type: ignore[attr-defined]
        pass
    d.rwlock("config").acquire()  # type: ignore[attr-defined]
    d.rwlock("config").read(wait=5)  # type: ignore[call-arg]
    d.lock_all("a", 7)  # type: ignore[arg-type]
    d.lock_all(["a", "b"])  # type: ignore[arg-type]
    with d.lock_all("a", "b") as leases:
        print(leases.fence)  # type: ignore[attr-defined]
        print(leases[0])  # type: ignore[index]
    d.rlock("a", within="a")  # type: ignore[arg-type]
    d.rlock("a", within=d.lock("a"))  # type: ignore[arg-type]
    d.rlock("a", d.rlock("a").acquire())  # type: ignore[call-arg]
    d.rlock("a", on_outage="skip")  # type: ignore[arg-type]
    d.lock("a", at_least=None)  # type: ignore[arg-type]


async def async_misuses(d: dibs.Dibs) -> None:
    """Never run: each line is refused by the type checkers."""
    async with d.rwlock("config"):  # type: ignore[attr-defined]
        pass
    leases = d.lock_all("a", "b").aacquire()
    leases.ensure()  # type: ignore[attr-defined]
    await leases
