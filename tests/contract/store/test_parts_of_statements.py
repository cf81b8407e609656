"""What the parts of one statement see of each other, which the dialect says."""

import pytest

import gateway
from tests.support.stores.store import Store


def test_parts_see_the_rows_from_before_in_the_postgres_dialect(store: Store) -> None:
    """A row that two parts change is refused there, and what one did is seen in the next one."""
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
    found = con.execute("WITH a AS (INSERT INTO t VALUES (3, 30)) SELECT count(*) FROM t")
    assert found.fetchall() == [(2,)]
    with pytest.raises(gateway.Error, match="PAL-304"):
        con.execute("WITH a AS (UPDATE t SET v = 1 WHERE k = 1) DELETE FROM t WHERE k = 1")
    with pytest.raises(gateway.Error, match="PAL-301"):
        con.execute("WITH a AS (DELETE FROM t WHERE k = 1) INSERT INTO t VALUES (1, 2)")


def test_a_part_without_returning_has_no_rows_in_the_postgres_dialect(store: Store) -> None:
    """What reads from it is told so; its name may stand for a table where it is not read."""
    con = store.connect(dialect="postgres")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    with pytest.raises(gateway.Error, match=r"PAL-110.* a .*RETURNING"):
        con.execute("WITH a AS (INSERT INTO t VALUES (1, 10)) SELECT 1 FROM a")
    con.execute("WITH t AS (INSERT INTO t VALUES (1, 10)) INSERT INTO t VALUES (2, 20)")
    found = con.execute(
        "WITH x AS (SELECT k FROM t), t AS (DELETE FROM t WHERE k = 1),"
        " y AS (WITH t AS (SELECT 7 AS k) SELECT k FROM t) SELECT k FROM x UNION SELECT k FROM y"
    )
    assert sorted(found.fetchall()) == [(1,), (2,), (7,)]


def test_history_has_what_the_parts_left_together(store: Store) -> None:
    """A row that one part began and the next one ended was never there."""
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 10)")
    con.execute(
        "WITH a AS (INSERT INTO t VALUES (2, 1)), b AS (UPDATE t SET v = v + 1),"
        " c AS (DELETE FROM t WHERE k = 2) UPDATE t SET v = v * 2"
    )
    assert con.execute("SELECT k, v FROM t").fetchall() == [(1, 22)]
    past = con.execute("SELECT k, v FROM t FOR SYSTEM_TIME ALL ORDER BY k, v")
    assert past.fetchall() == [(1, 10), (1, 22)]


@pytest.mark.also_on("postgres")
@pytest.mark.drifts(toy="SQLite has other random numbers")
def test_a_sample_is_a_share_or_a_number_of_rows(store: Store) -> None:
    con = store.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t SELECT * FROM range(50)")
    for sample, rows in (
        ("TABLESAMPLE (100 PERCENT)", 50),
        ("TABLESAMPLE SYSTEM (0%)", 0),
        ("TABLESAMPLE (7 ROWS)", 7),
        ("USING SAMPLE 7 ROWS", 7),
    ):
        assert len(con.execute(f"SELECT k FROM t {sample}").fetchall()) == rows, sample
