"""Which servers a URL of a quorum names, and what is refused there."""

from __future__ import annotations

import pytest

import dibs
from dibs.errors import ConfigError
from dibs.stores.quorum.address import urls


def test_what_is_said_of_the_first_server_holds_for_the_others() -> None:
    assert urls("redlock://app:secret@a:1/2,b:2,c") == [
        "redis://app:secret@a:1/2",
        "redis://app:secret@b:2/2",
        "redis://app:secret@c/2",
    ]


def test_a_server_may_have_its_own_password_and_database() -> None:
    assert urls("redlock://a,u:p@b/3,c?health=1") == [
        "redis://a?health=1",
        "redis://u:p@b/3?health=1",
        "redis://c?health=1",
    ]


def test_by_tls_all_are_reached_by_tls() -> None:
    assert urls("redlocks://a,b,c")[1] == "rediss://b"


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("redlock://a", "names 1 of them"),
        ("redlock://a,b", "names 2 of them"),
        ("redlock://a,b,a", "a server twice"),
        ("redlock://a,b,a:6379", "a server twice"),
        ("redlock://a,,b", "leaves out a server"),
        ("redlock://", "leaves out a server"),
    ],
)
def test_a_quorum_has_at_least_three_different_servers(url: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        dibs.connect(url)


def test_no_password_is_shown() -> None:
    client = dibs.connect("redlock://app:canary@a:1,app:canary@b:2,c:3")
    for shown in (repr(client), str(client.guarantee), str(client.config), repr(client.config)):
        assert "canary" not in shown
    assert repr(client) == "<Dibs redlock://a:1,b:2,c:3 namespace='dibs'>"
    client.close()


def test_it_says_what_a_majority_promises() -> None:
    with dibs.connect("redlock://a,b,c,d,e") as client:
        assert client.guarantee.level == "fenced"
        assert "3 of the 5" in client.guarantee.scope
        assert "appendfsync always" in client.guarantee.durability
        assert client.guarantee.across_machines
