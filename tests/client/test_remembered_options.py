"""What a client remembers of the options that locks are made with."""

from __future__ import annotations

import gc
from weakref import ref

import pytest

import dibs
from dibs.errors import ConfigError


class Listener:
    """Somebody's own object."""

    def __call__(self, loss: dibs.LeaseLost) -> None:
        raise NotImplementedError


def test_it_keeps_nobody_s_function_alive() -> None:
    with dibs.connect("memory://remembered", quiet=True) as d:
        listener = Listener()
        known = ref(listener)
        d.lock("a", ttl=10, on_lost=listener)
        del listener
        gc.collect()
        assert known() is None


def test_values_that_are_equal_but_not_the_same_kind_are_told_apart() -> None:
    with dibs.connect("memory://remembered", quiet=True) as d:
        d.lock("a", renew=True)
        with pytest.raises(ConfigError, match="renew=1"):
            d.lock("a", renew=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_ttl_that_a_client_was_told_goes_for_locks_of_which_none_is_said() -> None:
    with (
        dibs.connect("memory://remembered-1", quiet=True, ttl=7) as one,
        dibs.connect("memory://remembered-2", quiet=True, ttl=9) as other,
    ):
        for d, ttl in ((one, 7.0), (other, 9.0)):
            with d.lock("a") as lease:
                assert lease.ttl == ttl
