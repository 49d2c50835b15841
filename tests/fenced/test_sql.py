"""A late holder's transaction is refused, in every database and by every library."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy

import dibs
from dibs import ConfigError, StaleFence, fenced
from tests.chaos.moments import LONG, so
from tests.fenced.places import Holder, Place

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def write(place: Place, fence: int, owner: str) -> None:
    connection = place.connect()
    with fenced.sql(connection, Holder(fence)) as handle:
        place.write(handle, owner)


def test_a_late_holder_is_refused_and_changes_nothing(place: Place) -> None:
    write(place, 7, "newer")
    connection = place.connect()
    text = "'account' with fence 6 was refused: 7 has written since"
    with pytest.raises(StaleFence, match=text) as refused, fenced.sql(connection, Holder(6)):
        pytest.fail("the block was entered")
    assert (refused.value.name, refused.value.fence, refused.value.newest) == ("account", 6, 7)
    assert (place.owner, place.newest) == ("newer", 7)


def test_without_the_guard_the_late_write_would_be_made(place: Place) -> None:
    write(place, 7, "newer")
    connection = place.connect()
    place.write(connection, "late")
    connection.commit()
    assert place.owner == "late"


def test_the_same_lease_may_write_again_and_a_newer_one_after_it(place: Place) -> None:
    for fence, owner in ((6, "first"), (6, "again"), (7, "newer"), (7, "and again")):
        write(place, fence, owner)
        assert (place.owner, place.newest) == (owner, fence)


def test_each_resource_has_its_own_fence(place: Place) -> None:
    connection = place.connect()
    with fenced.sql(connection, Holder(7), resource='other\'s "stock"; DROP TABLE account --') as handle:
        place.write(handle, "one")
    write(place, 6, "two")
    assert (place.owner, place.newest) == ("two", 6)
    with (
        pytest.raises(StaleFence, match="DROP TABLE"),
        fenced.sql(connection, Holder(6), resource='other\'s "stock"; DROP TABLE account --'),
    ):
        pytest.fail("the block was entered")


def test_an_error_takes_back_the_write_and_the_fence(place: Place) -> None:
    write(place, 6, "before")
    connection = place.connect()
    with pytest.raises(ZeroDivisionError), fenced.sql(connection, Holder(7)) as handle:
        place.write(handle, "half done")
        raise ZeroDivisionError
    connection.commit()  # nothing is left that somebody could still commit
    assert (place.owner, place.newest) == ("before", 6)
    with fenced.sql(connection, Holder(8)) as handle:  # and the connection can be used again
        place.write(handle, "whole")
    assert (place.owner, place.newest) == ("whole", 8)


def test_a_transaction_of_ones_own_is_guarded_and_not_ended(place: Place) -> None:
    connection = place.connect()
    fenced.sql.guard(connection, Holder(7))
    place.write(connection, "mine")
    assert (place.owner, place.newest) == ("nobody", None)
    connection.commit()
    assert (place.owner, place.newest) == ("mine", 7)
    with pytest.raises(StaleFence):
        fenced.sql.guard(connection, Holder(6))
    connection.rollback()


def test_a_table_may_have_another_name(place: Place) -> None:
    connection = place.connect()
    place.say(connection, "DROP TABLE IF EXISTS my_fences")
    fenced.sql.create(connection, table="my_fences")
    connection.commit()
    with fenced.sql(connection, Holder(7), table="my_fences") as handle:
        place.write(handle, "mine")
    assert place.ask("SELECT fence FROM my_fences") == 7
    assert place.newest is None


def test_a_missing_table_is_told_and_nothing_is_written(place: Place) -> None:
    connection = place.connect()
    place.say(connection, "DROP TABLE dibs_fence")
    connection.commit()
    with pytest.raises(Exception, match="dibs_fence"), fenced.sql(connection, Holder(7)):
        pytest.fail("the block was entered")
    assert place.owner == "nobody"


def test_the_highest_fence_there_is_can_be_kept(place: Place) -> None:
    write(place, 2**63 - 1, "highest")
    assert place.newest == 2**63 - 1
    with pytest.raises(StaleFence):
        write(place, 2**63 - 2, "lower")


def test_the_statement_of_one_s_own_row_says_whether_it_came_too_late(place: Place) -> None:
    guarded = "UPDATE account SET owner = 'new', fence = 7 WHERE id = 1 AND fence <= 7"
    connection = place.connect()
    fenced.sql.ensure_written(place.say(connection, guarded), Holder(7))
    connection.commit()
    late = place.say(connection, guarded.replace("7", "6").replace("new", "late"))
    with pytest.raises(StaleFence, match="no row was met") as refused:
        fenced.sql.ensure_written(late, Holder(6), resource="account:1")
    assert (refused.value.name, refused.value.newest) == ("account:1", None)
    connection.rollback()
    assert place.owner == "new"


def test_a_real_lease_writes_and_a_newer_one_refuses_it(place: Place) -> None:
    with dibs.connect("memory://fenced-sql", quiet=True) as d:
        with d.lock("account") as old:
            pass
        with d.lock("account") as new, fenced.sql(place.connect(), new) as handle:
            place.write(handle, "new")
        with pytest.raises(StaleFence), fenced.sql(place.connect(), old):
            pytest.fail("the block was entered")
    assert (place.owner, place.newest) == ("new", new.fence)


class TestTwoTransactionsAtOnce:
    """Whoever comes second waits for the first, and then sees its fence; SQLite tells it so at once instead."""

    @pytest.fixture(params=["psycopg", "alchemy-postgres"])
    def place(self, request: pytest.FixtureRequest, open_place: Callable[[str], Place]) -> Place:
        return open_place(request.param)

    @pytest.mark.parametrize("is_known", [True, False], ids=["known", "first-time"])
    @pytest.mark.parametrize(("ending", "outcome"), [("commit", "newer"), ("rollback", "late")])
    def test_a_late_one_waits_for_the_newer_one_to_end(
        self, place: Place, is_known: bool, ending: str, outcome: str
    ) -> None:
        if is_known:
            write(place, 5, "before")
        newer = place.connect()
        fenced.sql.guard(newer, Holder(7))
        place.write(newer, "newer")
        with ThreadPoolExecutor(1) as pool:
            late = pool.submit(write, place, 6, "late")
            assert so(lambda: place.ask(WAITING) == 1).wait(LONG)
            getattr(newer, ending)()
            assert isinstance(late.exception(LONG), StaleFence) == (ending == "commit")
        assert place.owner == outcome

    @pytest.mark.parametrize("is_known", [True, False], ids=["known", "first-time"])
    def test_a_newer_one_waits_for_the_older_one_and_writes_after_it(self, place: Place, is_known: bool) -> None:
        if is_known:
            write(place, 5, "before")
        older = place.connect()
        fenced.sql.guard(older, Holder(6))
        with ThreadPoolExecutor(1) as pool:
            newer = pool.submit(write, place, 7, "newer")
            assert so(lambda: place.ask(WAITING) == 1).wait(LONG)
            place.write(older, "older")
            older.commit()
            assert newer.exception(LONG) is None
        assert (place.owner, place.newest) == ("newer", 7)

    @pytest.mark.parametrize("is_known", [True, False], ids=["known", "first-time"])
    @pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
    def test_a_transaction_that_sees_the_past_is_told_to_begin_again(
        self, open_place: Callable[[str], Place], isolation: str, is_known: bool
    ) -> None:
        place = open_place("psycopg")
        if is_known:
            write(place, 5, "before")
        past = place.connect()
        place.say(past, f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        place.say(past, "SELECT * FROM account")
        write(place, 6, "meanwhile")
        with pytest.raises(psycopg.Error) as told, fenced.sql(past, Holder(7)):
            pytest.fail("the block was entered")
        assert isinstance(told.value, psycopg.errors.SerializationFailure | psycopg.errors.UniqueViolation)
        assert place.owner == "meanwhile"
        with fenced.sql(past, Holder(7)) as handle:
            place.write(handle, "begun again")
        assert place.owner == "begun again"


@pytest.mark.parametrize("kind", ["sqlite3", "alchemy-sqlite"])
def test_a_file_that_another_writes_to_is_told_as_its_library_tells_it(
    open_place: Callable[[str], Place], kind: str
) -> None:
    place = open_place(kind)
    other = place.connect()
    fenced.sql.guard(other, Holder(7))
    place.write(other, "other")
    with pytest.raises(Exception, match="database is locked"):
        write(place, 8, "mine")
    other.commit()
    write(place, 8, "mine")
    assert place.owner == "mine"


class TestEveryStatementByItself:
    """A connection that commits each statement cannot be guarded, and says so before anything is written."""

    def test_sqlite3_is_refused_until_a_transaction_is_begun(self, open_place: Callable[[str], Place]) -> None:
        place = open_place("sqlite3")
        connection = place.connect()
        connection.isolation_level = None
        self.assert_refused(place, connection)
        connection.execute("BEGIN IMMEDIATE")
        fenced.sql.guard(connection, Holder(7))
        connection.execute("COMMIT")
        assert place.newest == 7

    def test_psycopg_is_refused_until_a_transaction_is_begun(self, open_place: Callable[[str], Place]) -> None:
        place = open_place("psycopg")
        connection = place.connect()
        connection.autocommit = True
        self.assert_refused(place, connection)
        with connection.transaction():
            fenced.sql.guard(connection, Holder(7))
        assert place.newest == 7

    @pytest.mark.parametrize("kind", ["alchemy-sqlite", "alchemy-postgres"])
    def test_sqlalchemy_is_refused(self, open_place: Callable[[str], Place], kind: str) -> None:
        place = open_place(kind)
        self.assert_refused(place, place.connect().execution_options(isolation_level="AUTOCOMMIT"))

    def test_sqlalchemy_may_be_told_to_begin_transactions_on_a_file_itself(self, tmp_path: Path) -> None:
        """As its documents advise: sqlite3 is kept from doing it, and would look as if it committed each statement."""
        engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'account.sqlite'}", poolclass=sqlalchemy.NullPool)
        sqlalchemy.event.listen(engine, "connect", lambda file, _: setattr(file, "isolation_level", None))
        sqlalchemy.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        with engine.begin() as connection:
            fenced.sql.create(connection)
        with fenced.sql(engine, Holder(7)):
            pass
        with pytest.raises(StaleFence), fenced.sql(engine, Holder(6)):
            pytest.fail("the block was entered")

    def assert_refused(self, place: Place, connection: Any) -> None:
        with pytest.raises(ConfigError, match="turn autocommit off"):
            fenced.sql.guard(connection, Holder(7))
        with pytest.raises(ConfigError, match="turn autocommit off"), fenced.sql(connection, Holder(7)):
            pytest.fail("the block was entered")
        assert place.newest is None


def test_threads_with_any_fences_leave_the_highest_one(place: Place) -> None:
    fences, start = [3, 9, 1, 7, 5, 8, 2, 6], threading.Barrier(8)

    def come(fence: int) -> None:
        connection = place.connect(patience=LONG)
        start.wait(LONG)
        with suppress(StaleFence), fenced.sql(connection, Holder(fence)) as handle:
            place.write(handle, f"holder {fence}")

    with ThreadPoolExecutor(8) as pool:
        done: list[Future[None]] = [pool.submit(come, fence) for fence in fences]
        assert [future.exception(2 * LONG) for future in done] == [None] * 8
    assert (place.owner, place.newest) == ("holder 9", 9)
