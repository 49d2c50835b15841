"""What is not a fence, a resource, a table or a connection is refused by name, before anything is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, Self

import pytest

import dibs
from dibs import ConfigError, fenced
from dibs.fenced.claim import Claim
from dibs.fenced.drivers import MARKS, paramstyle, worded
from dibs.fenced.guard import RAISE
from tests.fenced.places import Holder
from tests.servers.ports import HOST, Port


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        fenced.sql.create(connection)
        yield connection


class Client:
    """Whoever asks it for anything has gone too far."""

    def execute_command(self, *words: Any) -> Any:
        pytest.fail(f"something was sent: {words}")

    def close(self) -> None: ...


def assert_refused(connection: sqlite3.Connection, lease: Any, text: str, **options: Any) -> None:
    for refuse in (
        lambda: fenced.sql(connection, lease, **options),
        lambda: fenced.sql.guard(connection, lease, **options),
        lambda: fenced.redis(Client(), lease, **options),
        lambda: fenced.sql.ensure_written(connection.cursor(), lease, **options),
    ):
        with pytest.raises(ConfigError, match=text):
            refuse()
    assert connection.execute("SELECT count(*) FROM dibs_fence").fetchone() == (0,)


@pytest.mark.parametrize(
    "fence", [0, -1, 2**63, 10**30, 10**5000, True, False, 1.5, "7", None, b"7"], ids=lambda f: str(type(f))
)
def test_no_other_number_is_taken_for_a_fence(connection: sqlite3.Connection, fence: Any) -> None:
    assert_refused(
        connection, Holder(fence), r"^fence=.*(as lease\.fence has it|fences go from 1 to 9223372036854775807)"
    )


@pytest.mark.parametrize("lease", [None, 7, "lease"])
def test_whoever_has_no_lease_does_not_write(connection: sqlite3.Connection, lease: Any) -> None:
    assert_refused(connection, lease, "has no fence: pass the lease that you write under")


@pytest.mark.parametrize("resource", ["", " a", "a\nb", "a\0b", "x" * 201, "\ud800", 7, b"a"])
def test_no_other_name_is_taken_for_a_resource(connection: sqlite3.Connection, resource: Any) -> None:
    assert_refused(connection, Holder(7), "^resource=.*a resource", resource=resource)


@pytest.mark.parametrize(
    "table",
    ["", "a b", 'a"b', "a;--", "a'b", "1a", "a.b.c", ".a", "a.", "ä", "a\n", "x" * 64, 7, None, "fence (id); --"],
)
def test_no_other_name_is_taken_for_a_table(connection: sqlite3.Connection, table: Any) -> None:
    for refuse in (
        lambda: fenced.sql(connection, Holder(7), table=table),
        lambda: fenced.sql.guard(connection, Holder(7), table=table),
        lambda: fenced.sql.create(connection, table=table),
        lambda: fenced.sql.ddl(table=table),
    ):
        with pytest.raises(ConfigError, match=r"^table=.*letters, digits and _"):
            refuse()


def test_a_table_may_be_named_with_its_schema(connection: sqlite3.Connection) -> None:
    fenced.sql.create(connection, table="main.my_fences")
    with fenced.sql(connection, Holder(7), table="main.my_fences"):
        pass
    assert connection.execute("SELECT * FROM my_fences").fetchall() == [("account", 7)]


def test_the_statement_for_migrations_makes_the_same_table() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(fenced.sql.ddl())
        connection.execute(fenced.sql.ddl())  # and again does no harm
        with fenced.sql(connection, Holder(7)):
            pass


@pytest.mark.parametrize("other", [None, 7, "sqlite:///file", object()])
def test_what_is_no_connection_is_refused(other: Any) -> None:
    for refuse in (
        lambda: fenced.sql(other, Holder(7)),
        lambda: fenced.sql.guard(other, Holder(7)),
        lambda: fenced.sql.create(other),
    ):
        with pytest.raises(ConfigError, match="is no transaction to guard: pass a connection"):
            refuse()
    with pytest.raises(ConfigError, match=r"pass the redis\.Redis itself"):
        fenced.redis(other, Holder(7))


@pytest.mark.parametrize("policy", ["open", "local"])
def test_a_lease_that_was_had_without_its_store_is_refused_by_its_own_word(
    connection: sqlite3.Connection, policy: Literal["open", "local"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with (
        closing(Port()) as nobody,
        dibs.connect(f"redis://{HOST}:{nobody.number}", quiet=True) as d,
        d.lock("account", on_outage=policy, wait=0) as lease,
    ):
        for write in (
            lambda: fenced.sql(connection, lease),
            lambda: fenced.sql.guard(connection, lease),
            lambda: fenced.redis(Client(), lease),
        ):
            with pytest.raises(dibs.NoFence, match="has no fence"):
                write()
    assert connection.execute("SELECT count(*) FROM dibs_fence").fetchone() == (0,)


class TestMarks:
    """Each driver says how it wants values to be marked."""

    @pytest.mark.parametrize(
        ("style", "text", "values"),
        [
            ("qmark", "SET fence = ? WHERE resource = ? AND fence <= ?", (7, "a", 7)),
            ("format", "SET fence = %s WHERE resource = %s AND fence <= %s", (7, "a", 7)),
            ("numeric", "SET fence = :1 WHERE resource = :2 AND fence <= :3", (7, "a", 7)),
            (
                "named",
                "SET fence = :fence WHERE resource = :resource AND fence <= :fence",
                {"resource": "a", "fence": 7},
            ),
            (
                "pyformat",
                "SET fence = %(fence)s WHERE resource = %(resource)s AND fence <= %(fence)s",
                {"resource": "a", "fence": 7},
            ),
        ],
    )
    def test_values_are_marked_as_the_driver_wants_it(self, style: str, text: str, values: object) -> None:
        assert worded(RAISE, Claim("a", 7), table="t", style=style) == (f"UPDATE t {text}", values)

    @pytest.mark.parametrize("style", ["qmark", "named"])
    def test_sqlite3_takes_two_of_them(self, connection: sqlite3.Connection, style: str) -> None:
        for fence in (6, 7):
            with fenced.sql(connection, Holder(fence), paramstyle=style):
                pass
        with pytest.raises(dibs.StaleFence):
            fenced.sql.guard(connection, Holder(6), paramstyle=style)

    def test_a_connection_of_one_s_own_class_is_still_the_driver_s(self) -> None:
        class Mine(sqlite3.Connection):
            """Somebody's own."""

        with closing(sqlite3.connect(":memory:", factory=Mine)) as connection:
            assert paramstyle(connection) == "qmark"

    def test_what_is_around_a_connection_must_say_it(self, connection: sqlite3.Connection) -> None:
        class Around:
            """As pools and tracers have it."""

            def __getattr__(self, name: str) -> Any:
                return getattr(connection, name)

        around: Any = Around()
        with pytest.raises(ConfigError, match=r"say paramstyle= \(qmark, format, numeric, named, pyformat\)"):
            fenced.sql(around, Holder(7))
        with fenced.sql(around, Holder(7), paramstyle="qmark") as cursor:
            assert cursor.execute("SELECT fence FROM dibs_fence").fetchone() == (7,)

    def test_an_unknown_one_is_refused(self, connection: sqlite3.Connection) -> None:
        with pytest.raises(ConfigError, match=f"paramstyle='dollar': there are {', '.join(MARKS)}"):
            fenced.sql(connection, Holder(7), paramstyle="dollar")


def test_a_driver_that_does_not_count_rows_guards_nothing(connection: sqlite3.Connection) -> None:
    with pytest.raises(ConfigError, match="rowcount=-1"):
        fenced.sql.ensure_written(connection.cursor(), Holder(7))


def test_rows_may_come_with_names(connection: sqlite3.Connection) -> None:
    connection.row_factory = lambda cursor, row: {cursor.description[0][0]: row[0]}
    with fenced.sql(connection, Holder(7)):
        pass
    with pytest.raises(dibs.StaleFence, match="7 has written since"):
        fenced.sql.guard(connection, Holder(6))


def test_a_connection_that_breaks_on_the_way_back_does_not_hide_why(connection: sqlite3.Connection) -> None:
    with pytest.raises(ZeroDivisionError) as told, fenced.sql(connection, Holder(7)):
        connection.close()
        raise ZeroDivisionError
    assert told.value.__notes__ == ["And rolling back: Cannot operate on a closed database."]


class ChangedOnly(sqlite3.Cursor):
    """Counts as MySQL's drivers do: a row that is as it was before counts for nothing."""

    count = -1

    def execute(self, statement: str, values: Any = ()) -> Self:
        before = set(self.connection.execute("SELECT * FROM dibs_fence").fetchall())
        super().execute(statement, values)
        self.count = len(set(self.connection.execute("SELECT * FROM dibs_fence").fetchall()) - before)
        return self

    @property
    def rowcount(self) -> int:
        return self.count


def test_the_same_lease_may_write_again_where_only_changed_rows_are_counted() -> None:
    class Mine(sqlite3.Connection):
        """Whose cursors count like that."""

        def cursor(self, factory: Any = ChangedOnly) -> Any:
            return super().cursor(factory)

    with closing(sqlite3.connect(":memory:", factory=Mine)) as mine:
        sqlite3.Connection.cursor(mine).execute(fenced.sql.ddl())
        for fence in (6, 6, 7, 7):
            with fenced.sql(mine, Holder(fence)):
                pass
        with pytest.raises(dibs.StaleFence, match="7 has written since"):
            fenced.sql.guard(mine, Holder(6))
