"""What rows L3 to L23 ask of lineage, of statements that ran; docs/lineage.md lists the rows."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.lineage.questions import lineage_around
from gateway.session.operations import no_progress
from journal.records.schema import LINEAGE
from journal.records.statements import execute, insert

_SETUP = """
CREATE TABLE s (id INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
CREATE TABLE o (id INTEGER PRIMARY KEY, c INTEGER);
CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER);
CREATE TABLE u (y VARCHAR);
INSERT INTO s VALUES (1, 10, 'p'), (2, 20, 'q');
INSERT INTO o VALUES (1, 5)
"""
_EDGES = {
    "l3_create_table_as": (
        "CREATE TABLE r AS SELECT id, a + 1 AS n FROM s",
        {"s.id -> r.id identity", "s.a -> r.n transformation"},
    ),
    "l4_create_table_like": (
        "CREATE TABLE r (LIKE o)",
        {"o.id -> r.id identity", "o.c -> r.c identity"},
    ),
    "l5_insert_overwrite": (
        "INSERT OVERWRITE t SELECT id, a FROM s",
        {"s.id -> t.id identity", "s.a -> t.x identity"},
    ),
    "l6_multi_insert": (
        "FROM s INSERT INTO t SELECT id, a WHERE a > 0 INSERT INTO u SELECT b",
        {"s.id -> t.id identity", "s.a -> t.x identity", "s.b -> u.y identity"}
        | {"s.a -> t.id filter", "s.a -> t.x filter"},
    ),
    "l7_union_by_position": (
        (
            "CREATE TABLE r AS SELECT id, a FROM s UNION ALL SELECT c, id FROM o UNION ALL"
            " SELECT x, id FROM t"
        ),
        {"s.id -> r.id identity", "o.c -> r.id identity", "t.x -> r.id identity"}
        | {"s.a -> r.a identity", "o.id -> r.a identity", "t.id -> r.a identity"},
    ),
    "l8_joins_and_aliases": (
        "CREATE TABLE r AS SELECT p.b, q.c FROM s AS p JOIN o AS q ON p.a = q.c CROSS JOIN u",
        {"s.b -> r.b identity", "o.c -> r.c identity", "u.* -> r.* filter"}
        | {f"{of} -> r.{column} join" for of in ("s.a", "o.c") for column in ("b", "c")},
    ),
    "l9_subqueries_to_any_depth": (
        (
            "CREATE TABLE r AS SELECT (SELECT max(c) FROM o) AS m FROM"
            " (SELECT n FROM (SELECT id AS n FROM s WHERE EXISTS (SELECT 1 FROM t WHERE x = a))"
            " AS i) AS j WHERE n IN (SELECT length(y) FROM u)"
        ),
        {"o.c -> r.m aggregation", "s.a -> r.m filter", "t.x -> r.m filter"}
        | {"s.id -> r.m filter", "u.y -> r.m filter"},
    ),
    "l10_stars_are_expanded": (
        "CREATE TABLE r AS SELECT p.*, o.c FROM s AS p JOIN o USING (id)",
        {"s.id -> r.id identity", "s.a -> r.a identity", "s.b -> r.b identity"}
        | {"o.c -> r.c identity"}
        | {f"{of}.id -> r.{column} join" for of in "so" for column in ("id", "a", "b", "c")},
    ),
    "l12_what_decides_is_told_apart": (
        "CREATE TABLE r AS SELECT b, sum(a) AS n FROM s WHERE id > 0 GROUP BY b ORDER BY b",
        {"s.b -> r.b identity", "s.a -> r.n aggregation"}
        | {f"s.id -> r.{to} filter" for to in "bn"}
        | {f"s.b -> r.{to} {how}" for to in "bn" for how in ("group_by", "sort")},
    ),
    "l13_every_part_of_an_expression": (
        "CREATE TABLE r AS SELECT CASE WHEN s.a > 1 THEN s.b ELSE u.y END AS n FROM s CROSS JOIN u",
        {"s.b -> r.n transformation", "u.y -> r.n transformation", "s.a -> r.n conditional"},
    ),
}


@pytest.fixture
def con() -> Iterator[Connection]:
    """A warehouse of four tables."""
    with gateway.connect("palimpsest://", autocommit=True) as found:
        for sql in _SETUP.strip().split(";\n"):
            found.execute(sql)
        yield found


@pytest.mark.parametrize("row", _EDGES)
def test_a_statement_records_its_edges(con: Connection, row: str) -> None:
    sql, expected = _EDGES[row]
    con.execute(sql)
    found = con.execute(
        "SELECT concat(source_table, '.', source_column, ' -> ', target_table, '.', target_column,"
        " ' ', lower(subtype)) FROM system.column_lineage"
    ).fetchall()
    assert {edge for (edge,) in found} == expected


def test_l11_columns_are_named_by_schema_table_and_column(con: Connection) -> None:
    con.execute("CREATE SCHEMA z")
    con.execute('CREATE TABLE z."S" ("Id" INTEGER)')
    con.execute('INSERT INTO Z.s SELECT ID FROM "s" AS other_name')
    found = con.execute(
        "SELECT source_schema, source_table, source_column, target_schema, target_table,"
        " target_column FROM system.column_lineage"
    ).fetchall()
    assert found == [("main", "s", "id", "z", "S", "Id")]


@pytest.mark.long
def test_l17_three_levels_are_looked_up(con: Connection) -> None:
    rows = [
        (f"s{n}", f"file:/{n}", f"c{c}", f"file:/{n // 2}", f"c{(c + 1) % 10}")
        for n in range(1, 1000)
        for c in range(10)
    ]
    told = ("DIRECT", "IDENTITY", False, None, 1, 0)
    with con.session.journal.exclusive_session() as session:
        for start in range(0, len(rows), 50):
            part = [v for row in rows[start : start + 50] for v in (*row, *told)]
            execute(session, insert(LINEAGE, len(part) // len(LINEAGE.names)), part)
        session.commit()
    began = time.thread_time()
    found = lineage_around(con.session, no_progress, "/500", 3, 0)
    # bench.lineage measures it among 100,000 edges.
    assert time.thread_time() - began < 5
    assert {edge.level for edge in found.up} == {1, 2, 3}
    assert len(found.up) == 30


def test_l20_hot_and_cold_columns(con: Connection) -> None:
    for _ in range(3):
        con.execute("SELECT a FROM s").fetchall()
    hot = con.execute(
        'SELECT "column", sum(reads) FROM system.usage WHERE "table" = \'s\' AND reads > 0'
        ' AND "column" IS NOT NULL GROUP BY 1'
    ).fetchall()
    assert hot == [("a", 3)]
    cold = con.execute(
        "SELECT c.column_name FROM information_schema.columns AS c WHERE c.table_name = 's'"
        ' AND NOT EXISTS (SELECT 1 FROM system.usage AS g WHERE g."table" = c.table_name'
        ' AND g."column" = c.column_name AND g.reads > 0) ORDER BY 1'
    ).fetchall()
    assert cold == [("b",), ("id",)]


def test_l21_labels_go_down_and_permissions_follow(con: Connection) -> None:
    con.execute("CREATE TABLE r AS SELECT id, b, md5(b) AS h FROM s")
    con.execute("ALTER TABLE s ALTER COLUMN b SET TAG PII")
    con.execute("ALTER TAG PII SET MASKING POLICY ('*')")
    con.execute("CREATE ROLE ann")
    con.execute("GRANT SELECT ON r TO ann")
    con.execute("SET ROLE ann")
    seen = con.execute("SELECT b, h = md5('p') FROM r WHERE id = 1").fetchall()
    con.execute("RESET ROLE")
    assert seen == [("*", True)]


def test_l22_owners_and_impact_before_a_drop(con: Connection) -> None:
    con.execute("CREATE ROLE ann")
    con.execute("ALTER TABLE s OWNER TO ann")
    con.execute("CREATE TABLE r AS SELECT b FROM s")
    owners = con.execute(
        "SELECT grantee FROM system.privileges WHERE name = 's' AND privilege = 'OWNER'"
    ).fetchall()
    assert owners == [("ann",)]
    with pytest.raises(gateway.Error, match=r"column \"b\"|main\.s\.b has filled main\.r"):
        con.execute("ALTER TABLE s DROP COLUMN b RESTRICT")
    (told,) = con.execute("ALTER TABLE s DROP COLUMN b").messages
    assert "main.r" in told[1]


def test_l23_what_changed_a_table_and_what_nobody_reads(con: Connection) -> None:
    con.execute("UPDATE s SET a = a + 1")
    con.execute("ALTER TABLE s ADD COLUMN d INTEGER")
    con.execute("DELETE FROM s WHERE id = 2")
    timeline = con.execute(
        "SELECT rows_written FROM system.transactions WHERE list_contains(tables, 'main.s')"
        " ORDER BY version"
    ).fetchall()
    assert [count for (count,) in timeline if count] == [2, 2, 1]
    con.execute("SELECT * FROM o").fetchall()
    unread = con.execute(
        "SELECT name FROM system.tables AS k WHERE NOT EXISTS (SELECT 1 FROM system.usage AS g"
        ' WHERE g."table" = k.name AND g.reads > 0) ORDER BY 1'
    ).fetchall()
    assert ("t",) in unread
    assert ("o",) not in unread
