"""Names made of a call's arguments, and functions as they are seen before a lock is put around them."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from inspect import signature
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.function import Function, guard_fault, is_async
from dibs.model.template import Template


def transfer(account_id: int, amount: int = 5, /, *rest: int, currency: str = "EUR", **more: Any) -> None:
    """A function with a parameter of nearly every kind."""


def plain(user: Any, count: int = 3) -> None:
    """A function as most are."""


def named(text: str, *args: Any, of: Callable[..., Any] = plain, **kwargs: Any) -> str:
    return Template.of(text, signature(of)).name(args, kwargs)


def test_a_field_is_the_argument_of_that_name() -> None:
    assert named("account:{user}", 7) == "account:7"
    assert named("account:{user}", user=7) == "account:7"
    assert named("{user}:{count}:{user}", 7) == "7:3:7"
    assert named("{user}:{count}", 7, count=4) == "7:4"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("{account_id}", "1"),
        ("{amount}", "2"),
        ("{rest}", "(3, 4)"),
        ("{rest[1]}", "4"),
        ("{currency}", "USD"),
        ("{more[note]}", "x"),
        ("{more}", "{'note': 'x'}"),
    ],
)
def test_parameters_of_every_kind_can_be_named(text: str, name: str) -> None:
    assert named(text, 1, 2, 3, 4, of=transfer, currency="USD", note="x") == name


def test_defaults_hold_where_a_call_says_nothing() -> None:
    assert named("{amount}:{currency}:{rest}:{more}", 1, of=transfer) == "5:EUR:():{}"


def test_what_is_positional_only_may_be_a_keyword_beside() -> None:
    assert named("{account_id}:{more[account_id]}", 1, of=transfer, account_id=2) == "1:2"


def test_a_field_may_go_on_to_attributes_and_members() -> None:
    user = SimpleNamespace(id=7, tags=["a", "b"], address={"zip code": 123})
    assert named("{user.id}:{user.tags[1]}:{user.address[zip code]}", user) == "7:b:123"


def test_formats_and_conversions_are_those_of_python() -> None:
    assert named("{user:05d}|{count!r:>4}|{user!s}", 7) == "00007|   3|7"
    assert named("{user:{count}d}", 7) == "  7"
    assert named("{user!r}", "x") == "'x'"


def test_two_braces_are_one() -> None:
    template = Template.of("{{shop}}:cart", signature(plain))
    assert template.is_constant
    assert template.name((), {}) == "{shop}:cart"
    assert named("{{shop}}:{user}", 7) == "{shop}:7"


@given(st.text())
def test_any_text_without_fields_is_itself(text: str) -> None:
    escaped = text.replace("{", "{{").replace("}", "}}")
    assert named(escaped, 1) == text


@given(st.text(), st.integers())
def test_values_are_put_in_as_they_are(text: str, number: int) -> None:
    assert named("{user}/{count}", text, number) == f"{text}/{number}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{nobody}", "{nobody} is no parameter: there are user, count"),
        ("{nobody.id}", "{nobody.id} is no parameter: there are user, count"),
        ("{}", "{} does not say which parameter it is: there are user, count"),
        ("{0}", "{0} does not say which parameter it is"),
        ("{.id}", "{.id} does not say which parameter it is"),
        ("{user:{width}}", "{width} is no parameter"),
        ("{user.}", "{user.} cannot be read"),
        ("{user[]}", "{user[]} cannot be read"),
        ("{user]}", "{user]} cannot be read"),
        ("{user[0]x}", "{user[0]x} cannot be read"),
        ("{user!x}", "{user!x}: a conversion is !s, !r or !a"),
        ("{user", "expected '}'"),
        ("user}", "Single '}'"),
    ],
)
def test_what_no_call_could_fill_is_refused_beforehand(text: str, fault: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is looked at below
        Template.of(text, signature(plain))
    assert fault in str(refused.value)


def test_a_function_without_parameters_is_told_so() -> None:
    with pytest.raises(ValueError, match="the function has none"):
        Template.of("{user}", signature(lambda: None))


def test_a_call_that_lacks_the_argument_is_a_type_error_as_always() -> None:
    for text, of in (("{user}", plain), ("{account_id}", transfer)):
        with pytest.raises(TypeError, match="missing a required argument"):
            named(text, of=of, **({"account_id": 1} if of is transfer else {}))


@pytest.mark.parametrize(
    ("text", "value", "fault"),
    [
        ("{user.id}", None, r"\{user.id\} is not there \(AttributeError: "),
        ("{user[0]}", [], r"\{user\[0\]\} is not there \(IndexError: "),
        ("{user[a]}", {}, r"\{user\[a\]\} is not there \(KeyError: "),
        ("{user[a]}", [1], r"\{user\[a\]\} is not there \(TypeError: "),
        ("{user:>5}", None, "unsupported format string"),
        ("{user:d}", "x", "Unknown format code"),
    ],
)
def test_what_cannot_be_filled_in_is_named(text: str, value: object, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        named(text, value)


@pytest.mark.parametrize(
    "value", [object(), [object()], plain, iter([])], ids=["object", "list", "function", "iterator"]
)
def test_a_text_that_differs_in_every_process_makes_no_name(value: object) -> None:
    with pytest.raises(ValueError, match=r"another one in every process: name a part of it, as in \{user.id\}"):
        named("{user}", value)


@pytest.mark.parametrize("value", [{1}, frozenset()])
def test_a_set_makes_no_name_because_it_has_no_order(value: object) -> None:
    with pytest.raises(ValueError, match="sort it first"):
        named("{user}", value)


def test_a_text_of_the_user_s_own_may_look_like_anything() -> None:
    assert named("{user}", "meet me at 0x7f00") == "meet me at 0x7f00"


def test_values_that_say_what_they_are_make_names() -> None:
    key = UUID(int=7)
    assert named("{user}:{count}", key, 2.5) == f"{key}:2.5"
    assert named("{user}", None) == "None"


# --- functions ----------------------------------------------------------------------------------------------


class Callables:
    """Things that can be called, and are not functions."""

    def __call__(self) -> None: ...

    async def later(self) -> None: ...

    @property
    def size(self) -> int:
        return 1


class Later:
    async def __call__(self) -> None: ...


async def coroutine() -> None: ...


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


def test_a_function_is_known_by_module_name_file_and_line() -> None:
    about = Function.of(plain)
    assert about.name == f"{__name__}.plain"
    assert about.place == f"{__file__}:{plain.__code__.co_firstlineno}"
    assert str(about) == f"{about.name} ({about.place})"


def test_what_is_not_written_in_python_has_no_place() -> None:
    assert str(Function.of(len)) == "builtins.len"
    assert Function.of(Callables()).name == f"{__name__}.Callables"
    assert Function.of(functools.partial(plain, 1)).name == f"{__name__}.plain"


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (plain, False),
        (coroutine, True),
        (functools.partial(coroutine), True),
        (Callables(), False),
        (Callables().later, True),
        (Later(), True),
        (5, False),
    ],
)
def test_colours_are_told_apart(function: object, answer: bool) -> None:
    assert is_async(function) is answer


@pytest.mark.parametrize("function", [plain, coroutine, Callables(), functools.partial(plain, 1), len])
def test_what_ends_when_its_call_ends_can_be_guarded(function: object) -> None:
    assert guard_fault(function) is None


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (generator, "is a generator, and the lock would end before its body begins: take the lock inside of it"),
        (async_generator, "is a generator"),
        (Callables, "is a class"),
        (Callables.size, "is no function: put the lock right above the def"),
        (None, "is no function"),
    ],
)
def test_what_would_outlive_its_lock_cannot(function: object, fault: str) -> None:
    assert fault in (guard_fault(function) or "")


def test_names_are_the_same_in_every_process() -> None:
    """With another seed for hashes, too: what a name is made of must not depend on it."""
    script = (
        "from inspect import signature; from dibs.model.template import Template; "
        "print(Template.of('{x}:{y}', signature(lambda x, y: 0)).name(('ä', {'b': 1, 'a': 2.5}), {}))"
    )
    heard = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert heard == {"ä:{'b': 1, 'a': 2.5}\n"}
