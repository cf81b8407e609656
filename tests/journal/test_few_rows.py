"""Few rows as clauses of a query's text, and what is put before which text."""

from __future__ import annotations

from journal.stores.postgres.dialect.text import Text
from journal.stores.postgres.few_rows import ColumnValues, FewRows

_ROWS = [
    ColumnValues("k", "text", "{}::INT", ["1", "2"]),
    ColumnValues("v", "bigint", "{}", [5, None]),
]
_CLAUSE = (
    '"mine_1" AS MATERIALIZED (SELECT c0::INT AS "k", c1 AS "v"'
    " FROM unnest(${}::text[], ${}::bigint[]) AS u(c0, c1))"
)


def _few() -> FewRows:
    few = FewRows()
    few.show("mine_1", _ROWS)
    return few


def test_a_query_that_names_the_rows_begins_with_them() -> None:
    sql, values = _few().given_with(Text('SELECT $1 FROM "mine_1"', ("p",)), [7])
    assert sql == f'WITH {_CLAUSE.format(2, 3)} SELECT $1 FROM "mine_1"'
    assert values == [7, '{"1","2"}', "{5,NULL}"]


def test_clauses_of_the_query_follow() -> None:
    sql, _ = _few().given_with(Text('WITH RECURSIVE x AS (SELECT 1) TABLE "mine_1"', ()), [])
    assert sql == f'WITH RECURSIVE {_CLAUSE.format(1, 2)}, x AS (SELECT 1) TABLE "mine_1"'


def test_a_text_that_makes_a_table_keeps_its_beginning() -> None:
    start = "CREATE TEMPORARY TABLE t AS "
    sql, _ = _few().given_with(Text(f'{start}TABLE "mine_1"', (), start=len(start)), [])
    assert sql == f'{start}WITH {_CLAUSE.format(1, 2)} TABLE "mine_1"'


def test_other_queries_stay_as_they_are() -> None:
    few = _few()
    assert few.given_with(Text('TABLE "mine_2"', ()), []) == ('TABLE "mine_2"', [])
    assert few.hide("mine_1")
    assert not few.hide("mine_1")
    assert few.given_with(Text('TABLE "mine_1"', ()), []) == ('TABLE "mine_1"', [])
