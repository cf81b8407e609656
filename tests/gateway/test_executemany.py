"""executemany of UPDATE and DELETE: one plan where rows are independent, else one after another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.cursor import Cursor

COUNT = 120


@pytest.fixture
def cursor() -> Iterator[Cursor]:
    with gateway.connect("palimpsest://", autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute(
            "CREATE TABLE t (k INTEGER PRIMARY KEY, v BIGINT NOT NULL, u INTEGER UNIQUE)"
        )
        rows = [(n, n, n) for n in range(COUNT)]
        cursor.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        yield cursor


def test_update_by_key(cursor: Cursor) -> None:
    rows = [(1000, n) for n in range(COUNT + 10)]
    cursor.executemany("UPDATE t SET v = v + ? WHERE k = ?", rows)
    assert cursor.rowcount == COUNT
    cursor.execute("SELECT sum(v) FROM t")
    assert cursor.fetchall() == [(1000 * COUNT + sum(range(COUNT)),)]
    cursor.execute("SELECT count(DISTINCT version_number) FROM t_journal")
    assert cursor.fetchall() == [(2,)]


def test_delete_by_key_and_more(cursor: Cursor) -> None:
    rows = [(n, 50) for n in range(COUNT)]
    cursor.executemany("DELETE FROM t WHERE k = ? AND v < ?", rows)
    assert cursor.rowcount == 50
    cursor.execute("SELECT min(k), count(*) FROM t")
    assert cursor.fetchall() == [(50, COUNT - 50)]


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("sql", "rows", "count", "left"),
    [
        ("UPDATE t SET v = v + ? WHERE k = ?", [(1, 7)] * 60, 60, (67,)),
        ("UPDATE t SET v = ? WHERE v = ?", [(n + 1, n) for n in range(7, 70)], 2016, (70,)),
        ("UPDATE t SET u = ? WHERE k = ?", [(n + 500, n) for n in range(60)], 60, (7,)),
    ],
    ids=["the same key", "no key", "a unique column"],
)
def test_dependent_rows_take_turns(
    cursor: Cursor, sql: str, rows: list[tuple[int, int]], count: int, left: tuple[int]
) -> None:
    cursor.executemany(sql, rows)
    assert cursor.rowcount == count
    cursor.execute("SELECT v FROM t WHERE k = 7")
    assert cursor.fetchall() == [left]


def test_a_failing_row_undoes_all(cursor: Cursor) -> None:
    rows: list[tuple[int | None, int]] = [(5, n) for n in range(COUNT - 1)]
    with pytest.raises(gateway.IntegrityError) as caught:
        cursor.executemany("UPDATE t SET v = ? WHERE k = ?", [*rows, (None, COUNT - 1)])
    assert caught.value.sqlstate == "23502"
    cursor.execute("SELECT sum(v) FROM t")
    assert cursor.fetchall() == [(sum(range(COUNT)),)]


def test_half_of_a_surrogate_pair_is_no_text(cursor: Cursor) -> None:
    half = "a\ud800b"
    cursor.execute("CREATE TABLE texts (k INTEGER PRIMARY KEY, a VARCHAR)")
    with pytest.raises(gateway.DataError, match="PAL-312"):
        cursor.executemany("INSERT INTO texts VALUES (?, ?)", [(1, "ä"), (2, half)])
    for sql, values in (("SELECT ?", (half,)), (f"SELECT '{half}'", ())):
        with pytest.raises(gateway.DataError, match="PAL-312"):
            cursor.execute(sql, values)


@pytest.mark.long
def test_executemany_runs_within_a_transaction(cursor: Cursor) -> None:
    cursor.execute("BEGIN")
    cursor.execute("UPDATE t SET v = 0 WHERE k = 3")
    cursor.executemany("UPDATE t SET v = v + ? WHERE k = ?", [(1, n) for n in range(60)])
    cursor.executemany("UPDATE t SET v = v + ? WHERE k = ?", [(1, 3)] * 60)
    cursor.execute("COMMIT")
    cursor.execute("SELECT v FROM t WHERE k IN (3, 4) ORDER BY k")
    assert cursor.fetchall() == [(61,), (5,)]
