"""``GROUP BY .. WITH ROLLUP``, as MySQL, Spark and Hive write it, over a table that has changed."""

import pytest

import gateway


@pytest.mark.parametrize("dialect", ["mysql", "spark", "hive"])
@pytest.mark.parametrize("word", ["ROLLUP", "CUBE"])
def test_group_by_with_rollup_adds_totals(dialect: str, word: str) -> None:
    with gateway.connect("palimpsest://", autocommit=True, dialect=dialect) as connection:
        connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
        connection.execute("INSERT INTO t VALUES (1, 2), (2, 3), (3, 3)")
        connection.execute("UPDATE t SET a = 4 WHERE k = 1")
        rows = connection.execute(f"SELECT a + 1, sum(k) FROM t GROUP BY a + 1 WITH {word}")
        assert sorted(rows.fetchall(), key=str) == [(4, 5), (5, 1), (None, 6)]
