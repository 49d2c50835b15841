"""Functions that are done once, or shared, keep their types. Misuses are refused by both checkers.

Each misuse carries an ignore that both mypy and pyright report as unneeded once they accept it.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import asyncio
from datetime import UTC, timedelta
from typing import assert_type

import dibs
from dibs import Skipped

d = dibs.connect("memory://snippets", namespace="once", quiet=True)


@d.once("digest:{user_id}", per="1d")
def send_digest(user_id: int) -> str:
    return f"sent to {user_id}"


@d.once("close:{shop}", per="month", tz="Europe/Berlin", wait="5s", on_outage="skip")
async def close_books(shop: str) -> list[int]:
    return [len(shop)]


@d.once("warm", per=timedelta(minutes=5), since="success", remember=True)
def warm() -> dict[str, int]:
    return {"warm": 1}


@d.shared("rates:{day}", ttl="10s", wait="30s")
def rates(day: str, *, fresh: bool = False) -> dict[str, float]:
    return {day: float(fresh)}


@d.shared("arates:{day}")
async def arates(day: str) -> float:
    return float(len(day))


class Mailer:
    @d.once("mail:{number}", per="1h", tz=UTC)
    def send(self, number: int) -> int:
        return number

    @staticmethod
    @d.once("ping:{host}", per="1m")
    async def ping(host: str) -> float:
        return float(len(host))

    @d.shared("state")
    def state(self) -> str:
        return "up"


def test_types_are_kept_and_the_skipped_ones_say_so() -> None:
    assert_type(send_digest(7), str | Skipped)
    assert_type(warm(), dict[str, int] | Skipped)
    assert_type(rates("monday", fresh=True), dict[str, float])
    assert_type(Mailer().send(7), int | Skipped)
    assert_type(Mailer().state(), str)
    sent = send_digest(8)
    if not isinstance(sent, Skipped):
        assert_type(sent, str)
        assert sent == "sent to 8"


def test_async_types_are_kept_too() -> None:
    async def main() -> None:
        assert_type(await close_books("berlin"), list[int] | Skipped)
        assert_type(await Mailer.ping("localhost"), float | Skipped)
        assert_type(await arates("monday"), float)

    asyncio.run(main())


def misuses() -> None:
    """Never run: each line is refused by the type checkers."""
    print(send_digest(7).upper())  # type: ignore[union-attr]
    send_digest("7")  # type: ignore[arg-type]
    d.once("a")  # type: ignore[call-arg]
    d.once("a", per="1d", since="start")  # type: ignore[arg-type]
    d.once("a", per="1d", remember="yes")  # type: ignore[arg-type]
    d.once("a", per="1d", retries=3)  # type: ignore[call-arg]
    d.shared("a", per="1d")  # type: ignore[call-arg]
    d.shared("a", on_outage="skip")  # type: ignore[arg-type]
    d.shared(rates)  # type: ignore[arg-type]
    print(rates("monday").why)  # type: ignore[attr-defined]


async def async_misuses() -> None:
    """Never run: each line is refused by the type checkers."""
    print(await close_books("berlin") + [1])  # type: ignore[operator]
    print(arates("monday") + 1)  # type: ignore[operator]
