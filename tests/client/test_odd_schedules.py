"""What people say of schedules that makes no sense, or is far too much: they are told what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dibs import ActRefused, ConfigError, Dibs
from dibs.control.errand import MOST_BYTES
from dibs.model.control import MOST_BYTES_ASKED_FOR
from dibs.stores.memory import MemoryBackend

SHORT = 1_000
"""So long may what somebody is told be, whatever was said."""


@pytest.fixture
def d() -> Iterator[Dibs]:
    with Dibs(MemoryBackend()) as d:
        d.schedules.add("berlin", job="report", every="1h")
        yield d


def nested(depth: int) -> dict[str, Any]:
    told = dict[str, Any]()
    for _ in range(depth):
        told = {"more": told}
    return told


@pytest.mark.parametrize(
    "arguments",
    [nested(100_000), {"count": 10**5_000}, {"all": [object()] * 100_000}, {object(): 1}],
    ids=["too deep", "too long a number", "too many of what JSON cannot say", "no name"],
)
def test_arguments_that_cannot_be_kept_are_refused_in_a_few_words(d: Dibs, arguments: Any) -> None:
    with pytest.raises(ConfigError, match=r"^arguments") as refused:
        d.schedules.trigger("berlin", arguments)
    assert len(str(refused.value)) < SHORT


def test_what_waits_may_have_so_much_to_be_called_with_and_no_more(d: Dibs) -> None:
    much = {"text": "x" * (MOST_BYTES - 100)}
    for _ in range(MOST_BYTES_ASKED_FOR // len(json.dumps(much))):
        d.schedules.trigger("berlin", much)
    with pytest.raises(ActRefused, match=r"cannot trigger 'berlin': .* have arguments of .* bytes"):
        d.schedules.trigger("berlin", much)
    d.schedules.trigger("berlin")


@pytest.mark.parametrize("option", ["prefix", "after"])
@pytest.mark.parametrize("said", [5, None, b"a", "\ud800"])
def test_a_list_is_asked_for_by_text(d: Dibs, option: str, said: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{option}="):
        d.schedules.list(**{option: said})


@pytest.mark.parametrize(
    "said", [["paris"], "paris", None, {"paris": None}, {"paris": "report"}, {"paris": ["report"]}]
)
def test_many_are_said_by_name_each_with_its_options(d: Dibs, said: Any) -> None:
    with pytest.raises(ConfigError, match=r"add_all\({'paris': {'job': 'report', 'every': '1h'}}\)"):
        d.schedules.add_all(said)


def test_a_pause_lasts_for_a_while(d: Dibs) -> None:
    with pytest.raises(ConfigError, match=r"^until='0s' is out of range; it is above 0 and goes up to 36600d"):
        d.schedules.pause("berlin", until="0s")


@pytest.mark.parametrize("arguments", [[1], "city", 5, {1: 2}])
def test_arguments_of_a_new_one_are_said_by_name(d: Dibs, arguments: Any) -> None:
    @d.job
    def weigh(city: str = "nowhere") -> None: ...

    with pytest.raises(ConfigError, match="give them by name, as in"):
        d.schedules.add("paris", job=weigh, every="1h", arguments=arguments)
