"""What no majority can decide is refused at once, with what to use instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import dibs
from dibs.errors import ConfigError


@pytest.fixture
def client() -> Iterator[dibs.Dibs]:
    with dibs.connect("redlock://a.invalid,b.invalid,c.invalid", quiet=True) as client:
        yield client


def _serve(client: dibs.Dibs) -> None:
    @client.every("1s")
    def poll() -> None:
        pass

    client.serve(signals=False)


def _submit(client: dibs.Dibs) -> None:
    @client.job
    def work() -> None:
        pass

    work.submit("a")


def _trigger(client: dibs.Dibs) -> None:
    @client.job
    def work() -> None:
        pass

    work.trigger()


WAYS: dict[str, Callable[[dibs.Dibs], object]] = {
    "lock_all": lambda client: client.lock_all("a", "b").acquire(),
    "serve": _serve,
    "trigger": _trigger,
    "schedules": lambda client: client.schedules.list(),
    "step": _submit,
}


@pytest.mark.parametrize("way", WAYS)
def test_what_one_server_must_decide_is_refused_with_the_store_to_use(client: dibs.Dibs, way: str) -> None:
    with pytest.raises(ConfigError, match=r"redlock:// has no .*redis://.*sqlite://"):
        WAYS[way](client)
