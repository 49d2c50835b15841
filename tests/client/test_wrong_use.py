"""Whatever is said wrongly gets an error that names the value and what would be right."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dibs import ConfigError, Dibs

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"ttl": 0}, "ttl=0 is out of range; it goes from 100ms to 7d"),
    ({"ttl": "8d"}, "ttl='8d' is out of range"),
    ({"ttl": -1}, "ttl: -1 is negative"),
    ({"ttl": "soon"}, "ttl: 'soon' is not a duration; write it as"),
    ({"ttl": float("nan")}, "ttl: nan has no end"),
    ({"ttl": True}, "ttl: True is not a duration"),
    ({"ttl": None}, "ttl: None is not a duration"),
    ({"wait": -0.1}, "wait: -0.1 is negative"),
    ({"wait": float("inf")}, "wait: inf has no end"),
    ({"wait": "1 hour"}, "wait: '1 hour' is not a duration"),
    ({"ttl": 10**5000}, "ttl: a number of thousands of digits is longer than any clock counts"),
    ({"ttl": "9" * 1000}, "ttl: '999"),
    ({"max_hold": 0}, "max_hold=0 is out of range"),
    ({"purpose": "x" * 201}, "a purpose may have at most 200 bytes"),
    ({"purpose": "a\nb"}, "control or invisible"),
    ({"purpose": 5}, "a purpose is text, not int"),
    ({"renew": "no"}, "renew='no': say True or False"),
    ({"on_lost": 5}, "on_lost=5: give a function"),
    (
        {"timeout": 5},
        "no such option here: timeout; there are at_least, max_hold, on_lost, on_outage, purpose, renew, ttl, wait",
    ),
]


@pytest.mark.parametrize(
    ("options", "text"), WRONG, ids=lambda value: "-".join(value) if isinstance(value, dict) else ""
)
def test_a_wrong_option_is_named(d: Dibs, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        d.lock("a", **options)
    assert text in str(refused.value)
    assert isinstance(refused.value, ValueError)


def test_a_tried_lock_takes_no_wait(d: Dibs) -> None:
    with pytest.raises(ConfigError, match="no such option here: wait"):
        d.try_lock("a", wait=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["", " a", "a ", "a\n", "\x00", "x" * 201, "\ud800", "a\u200bb", 5, None, b"a"])
def test_a_wrong_name_is_named(d: Dibs, name: Any) -> None:
    for use in (d.lock, d.try_lock, d.inspect, lambda name: d.force_release(name, fence=1)):
        with pytest.raises(ConfigError) as refused:
            use(name)
        assert repr(name) in str(refused.value)


@pytest.mark.parametrize("fence", [-1, True, "7", 1.5])
def test_a_wrong_fence_is_named(d: Dibs, fence: Any) -> None:
    with pytest.raises(ConfigError, match="inspect"):
        d.force_release("a", fence=fence)


def test_a_wrong_limit_is_named(d: Dibs) -> None:
    with pytest.raises(ConfigError, match="limit=0"):
        d.locks(limit=0)


def test_durations_may_be_said_in_three_ways(d: Dibs) -> None:
    for ttl in (90, 90.0, timedelta(seconds=90), "90s", "1m30s", "1.5m"):
        with d.lock("a", ttl=ttl) as lease:
            assert lease.ttl == 90


def test_every_object_shows_what_it_is(d: Dibs) -> None:
    lock = d.lock("a", ttl=5)
    assert repr(lock) == "<Lock 'a' ttl=5s open=0>"
    with lock as lease:
        assert repr(lock).endswith("open=1>")
        assert repr(lease) == f"<Lease 'a' fence={lease.fence} keep>"
    assert repr(lease).endswith("released>")
    assert lock.name == "a"
