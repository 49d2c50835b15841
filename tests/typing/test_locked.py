"""Functions under a lock keep their types, and one that may be skipped says so. Misuses are refused by both checkers.

Each misuse carries an ignore that both mypy and pyright report as unneeded once they accept it.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import assert_type

import dibs
from dibs import Skipped

d = dibs.connect("memory://snippets", namespace="locked", quiet=True)


@d.locked("account:{account_id}", ttl="15s", wait="5s")
def transfer(account_id: int, amount: int) -> int:
    return account_id + amount


@d.locked("hourly-task", ttl=300, retries=3, retry_delay=0.5, on_conflict="skip")
async def hourly() -> int:
    return 5


@d.locked("nightly:{shop}", on_conflict="skip", on_outage="skip")
def nightly(shop: str, *, dry: bool = False) -> list[str]:
    return [] if dry else [shop]


@d.locked("plain:{key}")
async def plain(key: str) -> bytes:
    return key.encode()


class Account:
    def __init__(self, number: int) -> None:
        self.number = number

    @d.locked("account:{self.number}")
    def balance(self) -> int:
        return self.number

    @d.locked("account:{self.number}:close", on_conflict="skip")
    def close(self, reason: str) -> int:
        return len(reason)

    @d.locked("account:{self.number}:audit", on_conflict="skip")
    async def audit(self, depth: int) -> str:
        return str(depth)

    @classmethod
    @d.locked("accounts:{number}", on_conflict="skip")
    def found(cls, number: int) -> Account:
        return cls(number)

    @staticmethod
    @d.locked("rates:{day}", on_conflict="skip")
    def rates(day: str) -> float:
        return float(len(day))


def test_types_are_kept_and_the_skipped_ones_say_so() -> None:
    assert_type(transfer(1, amount=2), int)
    assert_type(nightly("berlin", dry=True), list[str] | Skipped)
    account = Account(7)
    assert_type(account.balance(), int)
    assert_type(account.close("moved"), int | Skipped)
    assert_type(Account.found(7), Account | Skipped)
    assert_type(account.rates("monday"), float | Skipped)
    work: Callable[[int, int], int] = transfer
    assert work(1, 2) == 3


def test_async_types_are_kept_too() -> None:
    async def main() -> None:
        assert_type(await hourly(), int | Skipped)
        assert_type(await plain("a"), bytes)
        assert_type(await Account(7).audit(2), str | Skipped)
        assert_type(await d.aexecute_with_lock("retry-scheduler", hourly), int | Skipped)
        assert_type(await d.aexecute_with_lock("retry-scheduler", Account(7).balance), int | Skipped)
        assert_type(await d.aexecute_with_lock("a", lambda: asyncio.ensure_future(plain("a"))), bytes | Skipped)
        assert_type(await d.aacquire_lock("cron:x", 300), dibs.Lease | None)
        assert_type(await d.ais_locked("cron:x"), bool)
        assert_type(await d.arelease_lock("cron:x"), bool)

    asyncio.run(main())


def test_a_result_is_told_from_a_skip_by_type_or_by_truth() -> None:
    shops = nightly("berlin")
    if isinstance(shops, Skipped):
        assert_type(shops.holder, str | None)
        return
    assert_type(shops, list[str])
    found = Account.found(7)
    if found:
        assert_type(found, Account)
    assert_type(d.execute_with_lock("retry-scheduler", lambda: 5, wait=0), int | Skipped)
    assert_type(d.acquire_lock("cron:x", 300), dibs.Lease | None)
    assert_type(d.is_locked("cron:x"), bool)
    assert_type(d.release_lock("cron:x"), bool)


def misuses() -> None:
    """Never run: each line is refused by the type checkers."""
    transfer("1", 2)  # type: ignore[arg-type]
    transfer(1)  # type: ignore[call-arg]
    print(nightly("berlin").pop())  # type: ignore[union-attr]
    print(Account(7).close("moved") + 1)  # type: ignore[operator]
    nightly("berlin", wet=True)  # type: ignore[call-arg]
    d.locked("a", on_conflict="maybe")  # type: ignore[call-overload]
    d.locked("a", retries="3")  # type: ignore[call-overload]
    d.locked("a", on_outage="skip")  # type: ignore[call-overload]
    d.locked("a", timeout=5)  # type: ignore[call-overload]
    d.locked(transfer)  # type: ignore[call-overload]
    d.locked("a")(5)  # type: ignore[type-var]
    d.acquire_lock("cron:x")  # type: ignore[call-arg]
    print(d.acquire_lock("cron:x", 300).fence)  # type: ignore[union-attr]
    value: int = d.execute_with_lock("a", lambda: 5)  # type: ignore[assignment]
    print(value)


async def async_misuses() -> None:
    """Never run: each line is refused by the type checkers."""
    print(hourly() + 1)  # type: ignore[operator]
    print(await hourly() + 1)  # type: ignore[operator]
    later: Callable[[], Awaitable[int]] = hourly  # type: ignore[assignment]
    print(later)
    print(await d.aexecute_with_lock("a", hourly) + 1)  # type: ignore[operator]


def misuse_that_never_returns() -> None:
    """What is async is never executed by the blocking verb: no line after it can be reached."""
    d.execute_with_lock("a", hourly)
