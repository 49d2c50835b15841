"""What a server keeps of jobs, what becomes of it when a part is lost, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Literal

import pytest
import redis

from dibs.model.sheet import Change, Entry, Look, Question, Sheet
from dibs.stores.redis.dialect import RedisLocks
from dibs.stores.redis.keys import Keys
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.stores.redis.asker import Asker

FENCE, JOBS, DUE, NAMES = "n:~fence", "{n:~fence}~jobs", "{n:~fence}~due", "{n:~fence}~names"
MICRO = 1_000_000
LIFE, NOW = b"b0a1", 1_700_000_000_123_457

locks = RedisLocks(Keys("n"))


class TestWhatIsAnswered:
    def test_what_is_due_and_when_the_next_is(self) -> None:
        sheets = [b"a", b"1\n12\n1700000000000000\ntwo\nlines", b"b", b"1\n13\n\n"]
        look = locks.due(0, 100).read([NOW, LIFE, b"1700000060000000", *sheets])
        assert look == Look(NOW / MICRO, "b0a1", [Sheet("a", 12, "two\nlines"), Sheet("b", 13, "")], 1_700_000_060.0)

    def test_there_may_be_nothing(self) -> None:
        assert locks.due(0, 100).read([NOW, b"", b""]) == Look(NOW / MICRO, "", [])

    def test_those_that_are_not_there_are_left_out(self) -> None:
        look = locks.sheets(["a", "b"]).read([NOW, LIFE, None, b"1\n12\n\ntext"])
        assert look.sheets == [Sheet("b", 12, "text")]

    @pytest.mark.parametrize("kept", [b"", b"text", b"2\n12\n\ntext", b"1\n\n\ntext", b"1\n12\n", b"\xff\0"])
    def test_what_is_in_another_format_is_left_out(self, kept: bytes) -> None:
        assert locks.sheets(["a"]).read([NOW, LIFE, kept]).sheets == []
        assert locks.due(0, 100).read([NOW, LIFE, b"", b"a", kept]).sheets == []

    @pytest.mark.parametrize("since", [NOW, MICRO], ids=["these days", "long ago"])
    def test_a_moment_that_was_told_is_given_back_to_the_microsecond(self, since: int) -> None:
        for micros in range(since, since + 2000):
            told = locks.due(0, 1).read([micros, LIFE, b""]).now
            [words] = locks.amend([Change("a", 0, "text", told, told, told)]).words
            assert words.count(b"\r\n%d\r\n" % micros) == 3


def test_of_nothing_there_is_nothing(asker: Asker) -> None:
    asker.keep_sheet(acts_at=1.0, entries=[Entry(asker.now(), "noted")])
    asker.note("a")
    assert asker.ask(asker.locks.amend([])) == []
    assert asker.ask(asker.locks.named("", "", 0)).sheets == []
    assert asker.ask(asker.locks.sheets([])).sheets == []
    assert asker.ask(asker.locks.due(0, 0)).sheets == []
    assert asker.ask(asker.locks.lines(Question("a", limit=0))) == []


class TestKeys:
    def test_the_server_shows_what_is_kept(self, asker: Asker, eyes: redis.Redis) -> None:
        revision = asker.keep_sheet(text="two\nlines", acts_at=2.5)
        asker.keep_sheet("b", acts_at=None)
        assert set(eyes.keys()) == {key.encode() for key in (FENCE, JOBS, DUE, NAMES)}
        assert eyes.hget(JOBS, "a") == b"1\n%d\n2500000\ntwo\nlines" % revision
        assert eyes.zrange(DUE, 0, -1, withscores=True) == [(b"a", 2_500_000.0), (b"", inf)]
        assert eyes.zrange(NAMES, 0, -1, withscores=True) == [(b"", 0.0), (b"a", 0.0), (b"b", 0.0)]

    def test_when_all_are_thrown_away_only_the_counter_is_left(self, asker: Asker, eyes: redis.Redis) -> None:
        changes = [
            Change(name, asker.keep_sheet(name, acts_at=1.0, entries=[Entry(asker.now(), "noted")]), None, None, 0, inf)
            for name in "ab"
        ]
        assert all(asker.ask(asker.locks.amend(changes)))
        assert eyes.keys() == [FENCE.encode()]

    def test_a_look_leaves_no_trace(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.due()
        asker.sheet()
        asker.named()
        asker.history()
        asker.note("a")
        asker.ask(asker.locks.amend([Change("a", 7, "text", None, -inf, inf)]))
        assert eyes.keys() == []

    def test_the_longest_and_strangest_are_kept(self, asker: Asker) -> None:
        name, text = "{}~due: '\u8def" * 12, "\0\r\n\u8def\u5f84$1\r\n" * 10_000
        revision = asker.keep_sheet(name, text, acts_at=1.0, entries=[Entry(asker.now(), text, (f"{name}%d",))])
        assert asker.due().sheets == [Sheet(name, revision, text)]
        assert asker.named("{}") == [name]
        assert asker.history(name) == asker.history(f"{name}%d") == [text]

    def test_more_than_a_script_s_stack_can_hold(self, asker: Asker) -> None:
        names = [f"job-{number:05}" for number in range(9_000)]
        revisions = asker.ask(asker.locks.amend([Change(name, 0, "text", 1.0, -inf, inf) for name in names]))
        assert list(revisions) == sorted(set(revisions))
        assert [sheet.name for sheet in asker.ask(asker.locks.sheets(names)).sheets] == names
        assert [sheet.name for sheet in asker.ask(asker.locks.due(0, 9_000)).sheets] == names
        assert asker.named("job", limit=9_000) == names


class TestWhatIsLost:
    @pytest.mark.parametrize("lost", [(DUE,), (NAMES,), (DUE, NAMES)])
    def test_indexes_are_made_anew_from_the_sheets(
        self, asker: Asker, eyes: redis.Redis, lost: tuple[str, ...]
    ) -> None:
        later = asker.now() + 60
        for name, acts_at in {"a": 1.0, "b": -2.0, "later": later, "never": None}.items():
            asker.keep_sheet(name, acts_at=acts_at)
        eyes.delete(*lost)
        asker.keep_sheet("c", acts_at=3.0)  # who writes before anybody has looked does not hide the loss
        look = asker.due()
        assert [sheet.name for sheet in look.sheets] == ["b", "a", "c"]
        assert look.next_at == pytest.approx(later, abs=0.001)
        assert asker.named() == ["a", "b", "c", "later", "never"]
        assert (eyes.zcard(DUE), eyes.zcard(NAMES)) == (5, 6)

    def test_names_are_made_anew_by_who_asks_for_them(self, asker: Asker, eyes: redis.Redis) -> None:
        for name in "ab":
            asker.keep_sheet(name)
        eyes.delete(NAMES)
        asker.keep_sheet("c")
        assert asker.named() == ["a", "b", "c"]

    def test_a_page_of_names_is_full_also_if_sheets_are_gone_or_in_another_format(
        self, asker: Asker, eyes: redis.Redis
    ) -> None:
        for name in "abcdef":
            asker.keep_sheet(name)
        eyes.hdel(JOBS, "a", "c", "d")
        eyes.hset(JOBS, "b", "2\n12\n\ntext")
        assert asker.named(limit=1) == ["e"]
        assert asker.named(after="e", limit=2) == ["f"]
        assert eyes.zrange(NAMES, 0, -1) == [b"", b"b", b"e", b"f"]

    def test_a_sheet_that_is_gone_is_no_longer_due(self, asker: Asker, eyes: redis.Redis) -> None:
        for name in "abc":
            asker.keep_sheet(name, acts_at=1.0)
        eyes.hdel(JOBS, "b")
        assert [sheet.name for sheet in asker.due().sheets] == ["a", "c"]
        assert eyes.zscore(DUE, "b") is None

    def test_a_page_of_what_is_due_is_full_also_if_sheets_are_gone_or_in_another_format(
        self, asker: Asker, eyes: redis.Redis
    ) -> None:
        for name in "abcdefg":
            asker.keep_sheet(name, acts_at=1.0)
        eyes.hdel(JOBS, "a", "d")
        eyes.hset(JOBS, "b", "2\n12\n\ntext")
        assert [sheet.name for sheet in asker.ask(asker.locks.due(0, 1)).sheets] == ["c"]
        assert [sheet.name for sheet in asker.ask(asker.locks.due(2, 2)).sheets] == ["e", "f"]
        assert [sheet.name for sheet in asker.ask(asker.locks.due(0, 9)).sheets] == ["c", "e", "f", "g"]
        assert eyes.zrange(DUE, 0, -1) == [b"b", b"c", b"e", b"f", b"g", b""]

    @pytest.mark.parametrize("loss", [("DEL", JOBS), ("FLUSHALL",)])
    def test_all_sheets_are_gone_and_another_life_begins(
        self, asker: Asker, eyes: redis.Redis, loss: tuple[str, ...]
    ) -> None:
        revision, lives = asker.keep_sheet(acts_at=1.0), [asker.due().life]
        eyes.execute_command(*loss)  # type: ignore[no-untyped-call]
        assert asker.due().sheets == []
        lives.append(asker.due().life)
        assert asker.keep_sheet(acts_at=1.0) > revision
        assert [sheet.name for sheet in asker.due().sheets] == ["a"]
        assert len({*lives, asker.due().life}) == 3

    def test_what_is_in_another_format_is_neither_changed_nor_taken_for_none(
        self, asker: Asker, eyes: redis.Redis
    ) -> None:
        asker.keep_sheet(acts_at=1.0)
        eyes.hset(JOBS, "a", "2\n12\n\ntext")
        assert asker.sheet() is None
        changes = [Change("a", revision, "mine", None, -inf, inf) for revision in (0, 12)]
        assert asker.ask(asker.locks.amend(changes)) == [0, 0]
        assert eyes.hget(JOBS, "a") == b"2\n12\n\ntext"


@on_valkey_9
@pytest.mark.parametrize("colour", ["blocking", "asyncio"])
def test_a_server_that_was_started_anew_has_another_life(
    start_server: Callable[..., Server], colour: Literal["blocking", "asyncio"]
) -> None:
    server = start_server()
    before = Asker(server.url, colour)
    revision = before.keep_sheet(acts_at=1.0)
    life = before.due().life
    assert life == before.ask(before.locks.sheets([])).life != ""
    before.close()
    server.restart()
    after = Asker(server.url, colour)
    assert after.due().life not in {life, ""}
    assert after.sheet() == Sheet("a", revision, "text")
    after.close()


def test_in_a_cluster_all_of_it_is_in_one_slot(cluster_of_one: Server) -> None:
    asker = Asker(cluster_of_one.url, "blocking")
    entries = [Entry(asker.now(), "noted", ("ok", "{c}", "}{"))]
    changes = [Change(name, 0, "text", 1.0, -inf, inf, entries=entries) for name in ("a", "{b}")]
    assert all(asker.ask(asker.locks.amend(changes)))
    assert [sheet.name for sheet in asker.due().sheets] == ["a", "{b}"]
    asker.note("audit", *entries)
    assert asker.named() == ["a", "{b}"]
    assert asker.history("{b}") == ["noted"]
    assert asker.history("ok") == asker.history("{c}") == asker.history("}{") == ["noted"] * 3
    asker.close()
