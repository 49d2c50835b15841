"""What a lock can be put around, and what is refused before it is ever called."""

from __future__ import annotations

import asyncio
import functools
import inspect
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from dibs import ConfigError, Dibs
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from tests.client import others
from tests.client.others import Blocking, Colour


@pytest.fixture
def d(anywhere: Dibs) -> Dibs:
    return anywhere


class Account:
    """Methods of every kind, in both colours."""

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def guarded(cls, d: Dibs) -> type[Account]:
        class Guarded(cls):  # type: ignore[misc, valid-type]
            @d.locked("account:{self.number}")
            def names(self) -> list[str]:
                return [view.name for view in d.locks()]

            @d.locked("aaccount:{self.number}")
            async def anames(self) -> list[str]:
                return [view.name for view in await d.alocks()]

            @d.locked("class:{cls.__name__}:{number}")
            @classmethod
            def outer_class(cls, number: int) -> list[str]:
                return [view.name for view in d.locks()]

            @classmethod
            @d.locked("class:{number}")
            def inner_class(cls, number: int) -> list[str]:
                return [view.name for view in d.locks()]

            @d.locked("static:{number}")
            @staticmethod
            def outer_static(number: int) -> list[str]:
                return [view.name for view in d.locks()]

            @staticmethod
            @d.locked("static:{number}")
            async def inner_static(number: int) -> list[str]:
                return [view.name for view in await d.alocks()]

        return Guarded


def test_methods_of_every_kind_can_be_locked(d: Dibs) -> None:
    kind: Any = Account.guarded(d)
    account = kind(7)
    assert account.names() == kind.names(account) == ["account:7"]
    assert asyncio.run(account.anames()) == ["aaccount:7"]
    assert account.outer_class(1) == kind.outer_class(number=1) == ["class:Guarded:1"]
    assert account.inner_class(1) == ["class:1"]
    assert account.outer_static(2) == kind.outer_static(number=2) == ["static:2"]
    assert asyncio.run(account.inner_static(2)) == ["static:2"]


def test_the_function_keeps_its_name_signature_and_colour(d: Dibs) -> None:
    def plain(account_id: int, *, amount: int = 5) -> int:
        """Says something."""
        return account_id + amount

    async def later(account_id: int) -> int:
        return account_id

    guarded, aguarded = d.locked("a:{account_id}")(plain), d.locked("a:{account_id}")(later)
    assert inspect.signature(guarded) == inspect.signature(plain)
    assert (guarded.__name__, guarded.__doc__) == ("plain", "Says something.")
    assert inspect.unwrap(guarded) is plain
    assert (guarded(1), guarded(account_id=1, amount=2)) == (6, 3)
    assert inspect.iscoroutinefunction(aguarded)
    assert not inspect.iscoroutinefunction(guarded)


def test_what_can_be_called_can_be_locked(d: Dibs) -> None:
    def add(first: int, second: int) -> int:
        return first + second

    assert d.locked("add:{second}")(functools.partial(add, 1))(2) == 3
    assert d.locked("add:{first}")(functools.partial(add, second=5))(2) == 7


def test_a_call_that_lacks_an_argument_fails_as_always_and_takes_no_lock(d: Dibs, diary: Diary) -> None:
    @d.locked("a:{account_id}")
    def work(account_id: int) -> int:
        return account_id

    with pytest.raises(TypeError, match=r"work\(\) is missing a required argument: 'account_id'"):
        work()  # type: ignore[call-arg]
    assert diary.events == []


# --- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("a:{account}", "{account} is no parameter: there are account_id, amount"),
        ("a:{}", "{} does not say which parameter it is: there are account_id, amount"),
        ("a:{0}", "{0} does not say which parameter it is"),
        ("a:{account_id", "expected '}'"),
        ("", "at least one character"),
        ("a\0b", "control or invisible"),
    ],
)
def test_a_template_is_checked_when_the_function_is_made(d: Dibs, template: str, fault: str) -> None:
    def transfer(account_id: int, amount: int) -> None: ...

    with pytest.raises(ConfigError) as refused:
        d.locked(template)(transfer)
    assert fault in str(refused.value)
    assert f"transfer ({__file__}:{transfer.__code__.co_firstlineno})" in str(refused.value)
    assert repr(template) in str(refused.value)


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (generator, "the lock would end before its body begins: take the lock inside of it"),
        (async_generator, "the lock would end before its body begins"),
        (staticmethod(generator), "the lock would end before its body begins"),
        (Account, "is a class, and the lock would only be held while an object is made: decorate its methods"),
        (property(lambda self: 5), "is no function: put the lock right above the def"),
        (None, "is no function"),
        (dict, "is a class"),
    ],
)
def test_what_would_outlive_its_lock_is_refused_when_it_is_made(d: Dibs, function: Any, fault: str) -> None:
    manners: list[Any] = ["raise", "skip"]
    for on_conflict in manners:
        with pytest.raises(ConfigError) as refused:
            d.locked("a", on_conflict=on_conflict)(function)
        assert fault in str(refused.value)


def test_a_decorator_without_its_name_is_refused(d: Dibs) -> None:
    with pytest.raises(ConfigError, match=r"write the name first, as in @d.locked\('report:daily'\)"):

        @d.locked  # type: ignore[call-overload]
        def work() -> None: ...


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"timeout": 5},
        (
            "no such option here: timeout; there are at_least, max_hold, on_conflict, on_lost, on_outage, purpose, "
            "renew, retries, retry_delay, ttl, wait"
        ),
    ),
    ({"ttl": 0}, "ttl=0 is out of range"),
    ({"wait": -1}, "wait: -1 is negative"),
    ({"purpose": 5}, "a purpose is text"),
    ({"on_lost": 5}, "on_lost=5: give a function"),
    ({"on_outage": "explode"}, "on_outage='explode': say 'closed', 'skip', 'open' or 'local'"),
    ({"on_outage": "skip"}, "on_outage='skip' needs on_conflict='skip', too"),
    ({"on_conflict": "maybe"}, "on_conflict='maybe': say 'raise' or 'skip'"),
    ({"on_conflict": []}, "on_conflict=[]: say 'raise' or 'skip'"),
    ({"retries": -1}, "retries=-1: say how many times"),
    ({"retries": True}, "retries=True: say how many times"),
    ({"retries": "3"}, "retries='3': say how many times"),
    ({"retry_delay": "soon"}, "retry_delay: 'soon' is not a duration"),
    ({"retries": 3, "wait": 5}, "retries=3 with wait=5: "),
    ({"retries": 3, "wait": None}, "retries=3 with wait=None: "),
    ({"retries": 3, "wait": 5, "on_conflict": "skip"}, "say wait= or retries=, not both"),
]


@pytest.mark.parametrize(("options", "fault"), WRONG, ids=str)
def test_wrong_keywords_are_refused_when_the_decorator_is_made(d: Dibs, options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError) as refused:
        d.locked("a", **options)
    assert fault in str(refused.value)


def test_retries_may_say_that_they_do_not_wait(d: Dibs) -> None:
    assert d.locked("a", retries=3, wait="0s")(lambda: 5)() == 5


def test_a_name_that_no_lock_may_have_names_the_function_and_its_template(d: Dibs, colour: Colour) -> None:
    work = colour.of(d.locked("job:{key}"), str.upper)
    for key in ("a\nb", "x" * 200, "a}b", "a "):
        with pytest.raises(ConfigError) as refused:
            work(key)
        for part in ("of.<locals>.work", others.__file__, "'job:{key}'", repr(f"job:{key}"), "names no lock"):
            assert part in str(refused.value)


def test_a_value_that_cannot_be_named_names_the_function_and_its_template(d: Dibs) -> None:
    work: Any = d.locked("job:{user.id}")(lambda user: 5)
    with pytest.raises(ConfigError, match=r"<lambda> .*, locked by 'job:\{user.id\}': \{user.id\} is not there"):
        work(None)
    anything: Any = d.locked("job:{user}")(lambda user: 5)
    with pytest.raises(ConfigError, match="another one in every process"):
        anything(object())


def test_a_plain_function_that_gives_a_coroutine_is_refused_within(d: Dibs) -> None:
    async def later(number: int = 5) -> int:
        return number

    with pytest.raises(ConfigError, match="later is async, but what was called is not"):
        _ = d.locked("job")(lambda: later(5))()
    assert not d.locks()


# --- one name for two ----------------------------------------------------------------------------------------


def test_one_constant_name_for_two_functions_is_a_warning_that_names_both(d: Dibs) -> None:
    def one() -> None: ...

    def two() -> None: ...

    d.locked("nightly")(one)
    with pytest.warns(UserWarning, match="are both locked by 'nightly'") as told:
        d.locked("nightly")(two)
    for function in (one, two):
        where = f"{__name__}.{function.__qualname__} ({__file__}:{function.__code__.co_firstlineno})"
        assert where in str(told[0].message)
    assert told[0].filename == __file__


def test_the_same_function_once_more_is_no_second_one(d: Dibs) -> None:
    """A module that is loaded again, a function made by a factory: with warnings as errors, this would fail."""

    def load() -> Callable[[], None]:
        @d.locked("nightly")
        def one() -> None: ...

        return one

    load()
    load()


def test_names_made_of_arguments_and_other_clients_are_no_reason_to_warn(d: Dibs) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d.locked("a:{x}")(lambda x: x)
        Blocking.of(d.locked("a:{key}"), str.upper)
        d.locked("nightly")(lambda: None)
        with Dibs(MemoryBackend()) as other:

            @other.locked("nightly")
            def one() -> None: ...
