"""Where a message of the Redis protocol ends, and what it is."""

from __future__ import annotations

import pytest

from tests.servers import resp


def test_an_attribute_belongs_to_what_follows_it() -> None:
    attributed = b"|1\r\n+hits\r\n:3\r\n*2\r\n$-1\r\n%1\r\n+a\r\n#t\r\n"
    assert resp.messages(attributed + b"+OK\r\n+O") == ([attributed, b"+OK\r\n"], b"+O")
    for end in range(len(attributed)):
        assert resp.messages(attributed[:end]) == ([], attributed[:end])


@pytest.mark.parametrize(
    ("message", "name", "is_push"),
    [
        (resp.command("get", "a"), "GET", False),
        (b"ping\r\n", "PING", False),
        (b"\r\n", "", False),
        (b"*0\r\n", "", False),
        (b"*-1\r\n", "", False),
        (b"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n", "MESSAGE", True),
        (b">2\r\n$10\r\ninvalidate\r\n_\r\n", "INVALIDATE", True),
    ],
)
def test_a_message_is_known_by_its_first_word(message: bytes, name: str, is_push: bool) -> None:
    assert resp.messages(message) == ([message], b"")
    assert (resp.name(message), resp.is_push(message)) == (name, is_push)
