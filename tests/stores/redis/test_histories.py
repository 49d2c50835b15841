"""What a server keeps of what was noted, and that nothing of it stays behind."""

from __future__ import annotations

from math import inf

import pytest
import redis

from dibs.model.sheet import Change, Entry, Line, Question
from dibs.stores.redis.dialect import RedisLocks
from dibs.stores.redis.keys import Keys
from tests.stores.redis.asker import Asker

FENCE, ENTRIES, ENDS = "n:~fence", "{n:~fence}~entries", "{n:~fence}~ends"
MICRO = 1_000_000
NOW = 1_700_000_000_123_457

locks = RedisLocks(Keys("n"))


def lines_of(name: str) -> str:
    return f"{{n:~fence}}{name}~lines"


def tagged(tag: str) -> str:
    return f"{{n:~fence}}{tag}~tagged"


class TestWhatIsAnswered:
    def test_lines_say_whose_they_are_when_and_what(self) -> None:
        found = [b"1700000000000000", b"1\na\tok\ttwo\nlines\nof text", b"-2500000", b"1\nb\n"]
        lines = [Line("a", 1_700_000_000.0, "lines\nof text"), Line("b", -2.5, "")]
        assert locks.lines(Question("ok")).read([NOW, *found]) == lines

    @pytest.mark.parametrize("kept", [b"", b"text", b"2\na\ntext", b"1\na", b"\xff\0"])
    def test_what_is_in_another_format_is_left_out(self, kept: bytes) -> None:
        found = [b"1", kept, b"2", b"1\na\ntext"]
        assert locks.lines(Question("a")).read([NOW, *found]) == [Line("a", 2 / MICRO, "text")]


class TestKeys:
    def test_the_server_shows_what_is_kept(self, asker: Asker, eyes: redis.Redis) -> None:
        now = asker.now()
        asker.note("a", Entry(now, "two\nlines", ("ok",)), Entry(now, "2"), keep_for=60.0)
        first, second = sorted(eyes.hkeys(ENTRIES))
        assert int(second, 16) == int(first, 16) + 1 == int(eyes.get(FENCE) or 0)
        assert set(eyes.keys()) == {key.encode() for key in (FENCE, ENTRIES, ENDS, lines_of("a"), tagged("ok"))}
        assert eyes.hgetall(ENTRIES) == {first: b"1\na\tok\ntwo\nlines", second: b"1\na\n2"}
        assert eyes.zrange(lines_of("a"), 0, -1) == [first, second]
        assert eyes.zrange(tagged("ok"), 0, -1, withscores=True) == [(first, pytest.approx(now * MICRO, abs=1))]
        ends = pytest.approx((now + 60) * MICRO, abs=10 * MICRO)
        assert eyes.zrange(ENDS, 0, -1, withscores=True) == [(b"a", ends)]

    def test_ids_are_above_the_revision_and_the_next_revision_above_them(self, asker: Asker, eyes: redis.Redis) -> None:
        now = asker.now()
        far = asker.keep_sheet(seen=round((now + 1_000) * MICRO), entries=[Entry(now, "1"), Entry(now, "2")])
        assert sorted(int(each, 16) for each in eyes.hkeys(ENTRIES)) == [far, far + 1]
        assert asker.keep_sheet("b", entries=[Entry(now, "3")]) == far + 2
        asker.note("c", Entry(now, "4"))
        assert asker.keep_sheet("d") == far + 4
        assert eyes.hlen(ENTRIES) == 4

    def test_of_what_is_no_longer_kept_nothing_is_left(self, asker: Asker, eyes: redis.Redis) -> None:
        now = asker.now()
        for number in range(30):
            entry = Entry(now + number, f"{number}", ("ok", f"node:{number}"))
            asker.keep_sheet(entries=[entry], keep=3)
            asker.note("b", entry, keep=2)
        assert eyes.hlen(ENTRIES) == 5
        assert (eyes.zcard(lines_of("a")), eyes.zcard(lines_of("b")), eyes.zcard(tagged("ok"))) == (3, 2, 5)
        assert set(eyes.keys("*~lines")) == {lines_of(name).encode() for name in "ab"}
        assert set(eyes.keys("*~tagged")) == {tagged(tag).encode() for tag in ("ok", "node:27", "node:28", "node:29")}

    def test_of_what_was_too_old_at_once_nothing_is_left(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.note("a", Entry(asker.now() - 100, "old", ("ok",)), keep_for=50.0)
        assert eyes.keys() == [FENCE.encode()]

    def test_more_than_a_script_s_stack_can_hold(self, asker: Asker, eyes: redis.Redis) -> None:
        now = asker.now()
        texts = [f"{number}" for number in range(9_000)]
        asker.note("a", *[Entry(now, text, ("ok",)) for text in texts], keep=9_000)
        lines = asker.ask(asker.locks.lines(Question("ok", limit=9_000)))
        assert [line.text for line in lines] == texts[::-1]
        asker.note("a", Entry(now, "last"), keep=1)
        assert (eyes.hlen(ENTRIES), asker.history(), asker.history("ok")) == (1, ["last"], [])


class TestWhatIsLost:
    def test_lines_without_their_entries_are_dropped_by_who_meets_them(self, asker: Asker, eyes: redis.Redis) -> None:
        now = asker.now()
        asker.keep_sheet(entries=[Entry(now, "1", ("ok",)), Entry(now, "2", ("ok",))])
        eyes.delete(ENTRIES)
        asker.note("a", Entry(now, "3", ("ok",)))
        assert asker.history("ok") == ["3"]
        assert (eyes.zcard(tagged("ok")), eyes.zcard(lines_of("a"))) == (1, 3)
        asker.note("a", Entry(now, "4"), keep=2)
        assert asker.history() == ["4", "3"]
        assert eyes.zcard(lines_of("a")) == 2

    def test_a_history_whose_lines_are_gone_is_no_longer_waited_for(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.note("a", Entry(asker.now() + 60, "1"), keep_for=0.001)
        eyes.delete(lines_of("a"))
        now = asker.now()
        while asker.now() <= now + 0.002:
            pass
        asker.note("b", Entry(now, "2"))
        assert eyes.zrange(ENDS, 0, -1) == [b"b"]

    def test_whether_a_sheet_is_due_is_known_without_an_index(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.keep_sheet("frozen", acts_at=1.0)
        eyes.delete("{n:~fence}~due")
        change = Change("a", 0, "text", None, -inf, inf, unless_due="frozen")
        assert asker.ask(asker.locks.amend([change])) == [0]
