"""What the file remembers beside locks: memos and counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs.model.asks import CROWD, Memo, Recalled, Said
from dibs.model.counts import MOST_NAMES, OTHERS, Count
from dibs.stores.sqlite import records
from dibs.stores.sqlite.schema import Unfit, prepare, sweep
from tests.stores.sqlite.turns import BOOT, Turns, nobody


@pytest.fixture
def turns() -> Iterator[Turns]:
    turns = Turns()
    yield turns
    turns.db.close()


def note(turns: Turns, text: str, *, lasts: float) -> None:
    turns.enter("worker")
    assert turns.leave("worker", Memo(text, turns.wall + lasts)) is Said.RELEASED


def test_a_memo_is_recalled_until_its_time_is_over(turns: Turns) -> None:
    note(turns, "done", lasts=60)
    made_at = turns.wall
    turns.now += 59.5
    assert turns.execute("recall", "a") == Recalled(turns.wall, "done", made_at)
    turns.now += 0.5
    assert turns.execute("recall", "a") == Recalled(turns.wall)


def test_a_later_memo_takes_the_place_of_an_earlier_one(turns: Turns) -> None:
    note(turns, "first", lasts=60)
    note(turns, "second", lasts=30)
    assert turns.execute("recall", "a").text == "second"
    turns.now += 30
    assert turns.execute("recall", "a").text is None


def test_only_one_who_still_held_the_lock_leaves_a_memo(turns: Turns) -> None:
    turns.enter("worker")
    turns.ask("waiter")
    assert turns.leave("waiter", Memo("never worked", turns.wall + 60)) is Said.LEFT
    turns.now += 10
    assert turns.leave("worker", Memo("was late", turns.wall + 60)) is Said.GONE
    assert turns.execute("recall", "a").text is None


def test_one_of_several_holders_leaves_a_memo(turns: Turns) -> None:
    turns.enter("one", CROWD)
    turns.enter("two", CROWD)
    assert turns.leave("two", Memo("done", turns.wall + 60)) is Said.RELEASED
    assert turns.execute("recall", "a").text == "done"


def test_memos_and_counts_outlive_a_boot_and_nothing_else_does(turns: Turns) -> None:
    note(turns, "done", lasts=3600)
    turns.execute("count", "n:", [Count("a", "acquired", 3)])
    turns.enter("one", CROWD)
    turns.enter("two", CROWD)
    prepare(turns.db, "the next boot", nobody)
    prepare(turns.db, BOOT, nobody)
    assert turns.execute("recall", "a").text == "done"
    assert turns.execute("counted", "n:") == [Count("a", "acquired", 3)]
    assert (turns.rows("lock"), turns.rows("holder")) == (0, 0)


def test_a_file_is_refused_while_a_second_holder_listens_in_another_boot(turns: Turns) -> None:
    turns.enter("one", CROWD)
    turns.enter("two", CROWD)
    with pytest.raises(Unfit, match="another clock"):
        prepare(turns.db, "another boot", "two's channel".__eq__)


def test_a_sweep_forgets_what_need_not_be_remembered(turns: Turns) -> None:
    note(turns, "done", lasts=60)
    sweep(turns.db, now=turns.now, wall=turns.wall + 59)
    assert turns.rows("memo") == 1
    sweep(turns.db, now=turns.now, wall=turns.wall + 60)
    assert turns.rows("memo") == 0


def test_a_sweep_forgets_no_more_at_once_than_others_can_wait_for(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_FORGOTTEN", 2)
    for number in range(3):
        records.remember(turns.db, f"{number}", Memo("done", turns.wall), wall=turns.wall)
    sweep(turns.db, now=turns.now, wall=turns.wall)
    assert turns.rows("memo") == 1
    sweep(turns.db, now=turns.now, wall=turns.wall)
    assert turns.rows("memo") == 0


def test_a_sweep_keeps_a_lock_that_others_than_its_first_hold(turns: Turns) -> None:
    turns.enter("one", CROWD, ttl=1)
    turns.enter("two", CROWD, ttl=60)
    sweep(turns.db, now=turns.now + 5, wall=turns.wall)
    turns.now += 5
    assert turns.holders() == ["two"]
    assert [view.name for view in turns.execute("held", "", 10)] == ["a"]
    sweep(turns.db, now=turns.now + 60, wall=turns.wall)
    assert (turns.rows("lock"), turns.rows("holder")) == (0, 0)


def test_counts_add_up_by_namespace(turns: Turns) -> None:
    turns.execute("count", "n:", [Count("a", "acquired", 1), Count("b", "lost", 2), Count("a", "acquired", 3)])
    turns.execute("count", "n:", [Count("a", "acquired", 4), Count("a", "lost", 5)])
    turns.execute("count", "m:", [Count("a", "acquired", 6)])
    assert turns.execute("counted", "n:") == [Count("a", "acquired", 8), Count("a", "lost", 5), Count("b", "lost", 2)]
    assert turns.execute("counted", "m:") == [Count("a", "acquired", 6)]
    assert turns.execute("counted", "") == []


def test_names_beyond_the_most_are_counted_together(turns: Turns) -> None:
    turns.execute("count", "", [Count(f"{number:05}", "acquired", 1) for number in range(MOST_NAMES + 2)])
    turns.execute("count", "", [Count("00000", "lost", 1), Count("another", "acquired", 5)])
    counted = {(count.name, count.what): count.by for count in turns.execute("counted", "")}
    assert counted[OTHERS, "acquired"] == 7
    assert counted["00000", "lost"] == 1
    assert len({name for name, _ in counted}) == MOST_NAMES + 1


def test_nothing_is_counted_in_a_file_that_a_newer_dibs_has_taken_over(turns: Turns) -> None:
    turns.db.execute("UPDATE state SET format = format + 1")
    with pytest.raises(Unfit, match="newer dibs"):
        turns.execute("count", "", [Count("a", "acquired", 1)])
    turns.db.execute("ROLLBACK")
    assert turns.rows("counted") == 0
