"""Jobs keep the types of their functions. Misuses are refused by both checkers.

Each misuse carries an ignore that both mypy and pyright report as unneeded once they accept it.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

import dibs
from dibs import Job, JobMethod, Run, RunView, StepView

d = dibs.connect("memory://snippets", namespace="jobs", quiet=True)


@d.every("90s")
def poll() -> None: ...


@d.cron("0 3 * * *", tz="Europe/Berlin", grace="10m", catch_up="latest", timeout="1h", retries=2)
def nightly(run: dibs.Run) -> int:
    assert_type(run.tick, datetime)
    assert_type(run.attempt, int)
    assert_type(run.policy == "open", bool)
    run.progress(0.4, "invoices")
    run.log.info("at %s", run.tick)
    return run.attempt


@d.every(timedelta(minutes=5), name="fetch", overlap="queue", jitter="10s", on_outage="local")
async def fetch(run: Run) -> list[str]:
    return [run.job]


@d.cron("*/10 * * * * *", seconds=True, tz=UTC, overlap="cancel", max_attempts=3, ttl=10, keep=50, keep_for="7d")
async def ping() -> str:
    return "pong"


@d.every("10m", labels=("gpu", "eu"))
def batches(run: Run, *, batch: int = 100) -> int:
    return batch


@d.job
def report(customer: str, *, day: int = 1) -> list[str]:
    return [customer] * day


@d.job(name="letter", timeout="10m", labels="gpu")
async def letter(run: Run, customer: str) -> str:
    assert_type(run.arguments, Mapping[str, Any])
    assert_type(run.schedule, str)
    assert_type(run.source == "trigger", bool)
    return customer


class Shop:
    @d.job
    def sell(self, what: str) -> str:
        return what

    @d.cron("@daily")
    def close(self) -> int:
        return 7

    @d.cron("@hourly", expect="5m", catch_up="all", catch_up_limit=10)
    async def count(self, run: Run) -> str:
        return run.job

    @staticmethod
    @d.every("1h")
    def sweep() -> float:
        return 0.5


def test_types_are_kept() -> None:
    assert_type(poll, Job[None])
    assert_type(nightly, Job[int])
    assert_type(nightly(), int)
    assert_type(nightly(Run.detached("nightly")), int)
    assert_type(nightly.next(3), Sequence[datetime])
    assert_type(nightly.history(5), Sequence[RunView])
    assert_type(nightly.name, str)
    assert_type(nightly.rule, str)
    shop = d.bind(Shop())
    assert_type(shop, Shop)
    assert_type(Shop.close, JobMethod[Shop, int])
    assert_type(shop.close, Job[int])
    assert_type(shop.close(), int)
    assert_type(Shop.sweep(), float)


def test_arguments_are_kept() -> None:
    assert_type(batches, Job[int])
    assert_type(batches(batch=5), int)
    assert_type(batches(Run.detached("batches"), batch=5), int)
    assert_type(report("acme", day=2), list[str])
    assert_type(report.history(5), Sequence[RunView])
    assert_type(Shop().sell("bread"), str)
    as_any_job: Job[list[str]] = report
    assert as_any_job.rule == ""


def test_steps_are_views() -> None:
    assert_type(report.submit("one", {"customer": "acme"}, by="ann", reason="asked"), StepView)
    assert_type(report.step("one"), StepView | None)
    assert_type(report.steps(10, after="a"), Sequence[StepView])
    assert_type(nightly.steps(), Sequence[StepView])


def test_async_types_are_kept_too() -> None:
    async def main() -> None:
        assert_type(await letter("acme"), str)
        assert_type(await letter(Run.detached("letter"), customer="acme"), str)
        assert_type(await fetch(), list[str])
        assert_type(await ping(), str)
        assert_type(await Shop().count(), str)
        assert_type(await nightly.ahistory(), Sequence[RunView])
        assert_type(await letter.asubmit("one", {"customer": "acme"}), StepView)
        assert_type(await letter.astep("one"), StepView | None)
        assert_type(await letter.asteps(), Sequence[StepView])

    asyncio.run(main())


def misuses() -> None:
    """Never run: each line is refused by the type checkers."""
    print(nightly() + "1")  # type: ignore[operator]
    nightly(7)  # type: ignore[call-overload]
    report(7)  # type: ignore[call-overload]
    report()  # type: ignore[call-overload]
    report(custmer="acme")  # type: ignore[call-overload]
    letter(7)  # type: ignore[call-overload]
    Shop().sell(7)  # type: ignore[call-overload]
    d.job("report")  # type: ignore[call-overload]
    d.job(tz="UTC")  # type: ignore[call-overload]
    d.every("90s", labels=7)  # type: ignore[arg-type]
    d.serve(labels=7)  # type: ignore[arg-type]
    d.serve(version=2)  # type: ignore[arg-type]
    nightly.next("3")  # type: ignore[arg-type]
    d.every("90s", overlap="wait")  # type: ignore[arg-type]
    d.every("90s", catch_up="some")  # type: ignore[arg-type]
    d.every("90s", on_outage="skip")  # type: ignore[arg-type]
    d.every("90s", retry=3)  # type: ignore[call-arg]
    d.every("90s", tz="Europe/Berlin")  # type: ignore[call-arg]
    d.every()  # type: ignore[call-arg]
    d.cron("@daily", seconds="yes")  # type: ignore[arg-type]
    d.cron(poll)  # type: ignore[arg-type]
    d.serve(4)  # type: ignore[call-arg]
    d.serve(workers="4")  # type: ignore[arg-type]


async def async_misuses() -> None:
    """Never run: each line is refused by the type checkers."""
    print(fetch().upper())  # type: ignore[attr-defined]
    await nightly()  # type: ignore[misc]
