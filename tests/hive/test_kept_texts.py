"""Statements that are asked again and again: the text for Spark is kept, what is true is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gateway
from gateway.dbapi.connection import Connection

pytestmark = pytest.mark.timeout(900)


@pytest.mark.long
def test_a_kept_text_shows_what_is_committed_now(
    connect: Callable[..., Connection], url: str
) -> None:
    one = connect()
    one.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    one.execute("INSERT INTO t SELECT i, 'v' || i FROM range(5) r(i)")

    def read(con: Connection, key: int) -> list[tuple[object, ...]]:
        return con.execute("SELECT * FROM t WHERE k = ?", [key]).fetchall()

    assert read(one, 1) == [(1, "v1")]
    assert read(one, 2) == [(2, "v2")]
    with gateway.connect(url, autocommit=True) as other:
        other.execute("UPDATE t SET v = 'new' WHERE k = 2")
        assert read(one, 2) == [(2, "new")]
        other.execute("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 7")
        assert read(one, 2) == [(2, "new", 7)]
        one.execute("BEGIN")
        assert read(one, 3) == [(3, "v3", 7)]
        other.execute("DELETE FROM t WHERE k = 3")
        assert read(one, 3) == [(3, "v3", 7)]
        one.execute("UPDATE t SET w = 8 WHERE k = 3 AND v > 'v'")
        assert read(one, 3) == [(3, "v3", 8)]
        one.execute("ROLLBACK")
        assert read(one, 3) == []


@pytest.mark.long
def test_a_kept_text_does_for_values_of_every_kind(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, d DATE, n DECIMAL(9, 2))")
    con.execute("INSERT INTO t SELECT i, 'it''s', DATE '2024-01-01', 1.5 FROM range(3) r(i)")
    sql = "SELECT count(*) FROM t WHERE {} = ?"
    for name, values in {
        "k": [1, -1, None],
        "v": ["it's", "\\'", None, "\x00"],
        "d": ["2024-01-01", None],
        "n": [1.5, 1, "1.50"],
    }.items():
        counted = [con.execute(sql.format(name), [v]).fetchone()[0] for v in values]
        anew = [
            con.execute(sql.format(f"({name})") + " OR false", [v]).fetchone()[0] for v in values
        ]
        assert counted == anew, name
