"""The past of an adopted journal from before its adoption: its versions were there all along."""

from __future__ import annotations

from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from tests.database.test_adopt import CLASSIC

pytestmark = pytest.mark.stores

WHEN = "SELECT k, v FROM s.t FOR SYSTEM_TIME AS OF TIMESTAMP '{}' ORDER BY k"


def _adopted(con: Connection, admin: Any, kind: str, rows: str) -> None:
    admin.execute("CREATE SCHEMA s")
    admin.execute(
        f"CREATE TABLE s.t_journal (k INTEGER, v TEXT, version_number {kind} NOT NULL,"
        f" subsequent_version_number {kind}, PRIMARY KEY (k, version_number))"
    )
    admin.execute(f"INSERT INTO s.t_journal VALUES {rows}")
    adopt(con.session, "s.t", ("k",), CLASSIC, run=True)


@pytest.fixture
def moments(con: Connection, admin: Any) -> Connection:
    """A journal whose versions are moments."""
    rows = (
        "(1, 'a', '2024-01-01', NULL), (1, 'b', '2024-03-01', NULL), (2, 'x', '2024-02-01', NULL)"
    )
    _adopted(con, admin, "TIMESTAMP", f"{rows}, (2, 'x', '2024-04-01', '2024-04-01')")
    return con


def _past(con: Connection) -> list[list[Any]]:
    moments = ("2023-12-31", "2024-01-01", "2024-02-15", "2024-03-15", "2024-04-15")
    return [con.execute(WHEN.format(moment)).fetchall() for moment in moments]


PAST = [[], [(1, "a")], [(1, "a"), (2, "x")], [(1, "b"), (2, "x")], [(1, "b")]]


def test_moments_before_the_adoption_are_told(moments: Connection) -> None:
    assert _past(moments) == PAST
    first = "s.t FOR SYSTEM_TIME BETWEEN TIMESTAMP '2024-01-01' AND TIMESTAMP '2024-02-15'"
    assert moments.execute(f"SELECT k, v FROM {first} ORDER BY k").fetchall() == PAST[2]


def test_what_is_changed_later_changes_none_of_it(moments: Connection) -> None:
    moments.execute("UPDATE s.t SET v = 'c' WHERE k = 1")
    moments.execute("ALTER TABLE s.t ADD COLUMN w INTEGER DEFAULT 3")
    moments.execute("INSERT INTO s.t VALUES (3, 'y', 4)")
    moments.execute("OPTIMIZE s.t")
    assert _past(moments) == PAST
    then = "SELECT * FROM s.t FOR SYSTEM_TIME AS OF TIMESTAMP '2024-04-15'"
    assert moments.execute(then).fetchall() == [(1, "b")]


def test_it_can_be_brought_back(moments: Connection) -> None:
    moments.execute("RESTORE TABLE s.t TO TIMESTAMP AS OF '2024-02-15'")
    assert moments.execute("SELECT k, v FROM s.t ORDER BY k").fetchall() == PAST[2]


def test_versions_that_are_numbers_say_nothing_of_time(con: Connection, admin: Any) -> None:
    _adopted(con, admin, "BIGINT", "(1, 'a', 1, NULL), (1, 'b', 2, NULL)")
    numbered = "SELECT v FROM s.t FOR SYSTEM_VERSION AS OF {}"
    assert con.execute(numbered.format(1)).fetchall() == [("a",)]
    assert con.execute(numbered.format(2)).fetchall() == [("b",)]
    with pytest.raises(gateway.Error, match=r"PAL-201.*did not exist"):
        con.execute(WHEN.format("2024-01-01"))
