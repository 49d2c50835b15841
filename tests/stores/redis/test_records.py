"""What a server remembers beside its locks: of work that was done, and what a fleet has counted."""

from __future__ import annotations

import pytest
import redis

from dibs.model.asks import Memo, Said
from dibs.model.counts import MOST_NAMES, OTHERS, Count
from tests.chaos.moments import so
from tests.stores.redis.asker import PLAIN, READER, REENTRANT, Asker, Kind

MEMO, COUNTS = "{n:a}~memo", "n:~counts"


class TestMemos:
    @pytest.mark.parametrize("kind", [PLAIN, REENTRANT, READER], ids=["a mutex", "a reentrant lock", "a reader"])
    @pytest.mark.parametrize("text", ["done", "", 'two\nlines, "é" and \\'])
    def test_what_is_noted_at_the_release_is_remembered_as_long_as_was_said(
        self, asker: Asker, eyes: redis.Redis, kind: Kind, text: str
    ) -> None:
        asker.enter("ann", kind)
        before = asker.now()
        assert asker.recall().text is None
        assert asker.leave("ann", memo=Memo(text, before + 60)) is Said.RELEASED
        recalled = asker.recall()
        assert recalled.text == text
        assert before <= recalled.made_at <= recalled.at <= asker.now()
        assert eyes.pexpiretime(MEMO) in range(int((before + 60) * 1000), int((before + 60) * 1000) + 2)
        assert set(eyes.keys()) == {b"n:~fence", MEMO.encode()}

    def test_it_is_forgotten_then(self, asker: Asker) -> None:
        asker.enter("ann")
        asker.leave("ann", memo=Memo("done", asker.now() + 0.1))
        assert so(lambda: asker.recall().text is None).wait(5)

    def test_what_is_to_be_forgotten_already_takes_the_place_of_what_was_there(self, asker: Asker) -> None:
        for until in (asker.now() + 60, asker.now() - 1):
            asker.enter("ann")
            assert asker.leave("ann", memo=Memo("done", until)) is Said.RELEASED
        assert asker.recall().text is None

    def test_who_has_lost_the_lock_notes_nothing(self, asker: Asker, eyes: redis.Redis) -> None:
        memo = Memo("done", asker.now() + 60)
        assert asker.leave("ann", memo=memo) is Said.GONE
        asker.enter("ann", PLAIN)
        asker.acquire("bob", PLAIN)
        assert asker.leave("bob", memo=memo) is Said.LEFT
        eyes.delete("n:a")
        assert asker.leave("ann", memo=memo) is Said.GONE
        assert asker.recall().text is None

    def test_who_is_next_is_handed_the_lock_all_the_same(self, asker: Asker) -> None:
        asker.enter("ann", PLAIN)
        asker.acquire("bob", PLAIN)
        asker.leave("ann", memo=Memo("done", asker.now() + 60))
        assert [push.owner for push in asker.told(1)] == ["bob"]
        assert asker.recall().text == "done"


class TestCounts:
    def test_a_hash_shows_what_was_counted_of_whom(self, asker: Asker, eyes: redis.Redis) -> None:
        asker.count(Count("b", "lost", 1), Count("a", "acquired", 2))
        assert asker.count(Count("a", "lost", 3), Count("a", "acquired", 40)) == [
            Count("a", "acquired", 42),
            Count("a", "lost", 3),
            Count("b", "lost", 1),
        ]
        assert eyes.hgetall(COUNTS) == {b"a": b"acquired 42\nlost 3", b"b": b"lost 1"}

    def test_nothing_was_counted_yet(self, asker: Asker) -> None:
        assert asker.count() == []

    def test_great_numbers_are_exact(self, asker: Asker) -> None:
        asker.count(Count("a", "acquired", 2**52))
        assert asker.count(Count("a", "acquired", 1)) == [Count("a", "acquired", 2**52 + 1)]

    def test_a_name_may_have_blanks_and_quotes(self, asker: Asker) -> None:
        assert asker.count(Count("a 1 'é'", "acquired", 1)) == [Count("a 1 'é'", "acquired", 1)]

    def test_further_names_are_counted_together(self, asker: Asker, eyes: redis.Redis) -> None:
        known = [Count(f"lock-{number:04}", "acquired", 1) for number in range(MOST_NAMES)]
        asker.count(*known)
        counted = asker.count(*(Count(f"more-{number}", "acquired", 2) for number in range(5)), known[0])
        assert counted == [
            Count(OTHERS, "acquired", 10),
            Count("lock-0000", "acquired", 2),
            *known[1:],
        ]
        asker.count(Count("more-9", "lost", 1), Count("lock-0001", "lost", 1))
        assert eyes.hlen(COUNTS) == MOST_NAMES + 1
        assert eyes.hget(COUNTS, OTHERS) == b"acquired 10\nlost 1"
        assert eyes.hget(COUNTS, "lock-0001") == b"acquired 1\nlost 1"
