"""Executed statements leave their lineage with their commit, on every store; see rows L1 to L23."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.lineage.questions import lineage_around, lineage_changes, lineage_path
from gateway.shell.previewing import preview_on
from journal.model.errors import PalimpsestError
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)

_SETUP = (
    "CREATE TABLE s (id INTEGER PRIMARY KEY, a INTEGER, b VARCHAR)",
    "CREATE TABLE other (id INTEGER PRIMARY KEY, c INTEGER)",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER)",
    "INSERT INTO s VALUES (1, 10, 'p'), (2, 20, 'q')",
    "INSERT INTO other VALUES (1, 5), (3, 7)",
)


@pytest.fixture
def con(store: Store) -> Connection:
    """A store with three tables, two of them with rows."""
    con = store.connect(user="root")
    for sql in _SETUP:
        con.execute(sql)
    return con


def _columns(con: Connection, target: str) -> set[str]:
    """The columns that a table is filled from, as ``table.column -> column (subtype)``."""
    rows = con.execute(
        "SELECT source_table, source_column, target_column, subtype FROM system.column_lineage"
        f" WHERE target_table = '{target}'"
    ).fetchall()
    return {f"{table}.{column} -> {to} ({subtype.lower()})" for table, column, to, subtype in rows}


def _tables(con: Connection) -> set[tuple[Any, ...]]:
    return set(con.execute("SELECT source_table, target_table FROM system.lineage").fetchall())


@pytest.mark.also_on("hive")
def test_a_committed_insert_leaves_edges_and_a_failed_one_none(con: Connection) -> None:  # L1, L5
    con.execute("INSERT INTO t SELECT id, a + 1 FROM s WHERE b = 'p'")
    expected = {
        "s.id -> id (identity)",
        "s.a -> x (transformation)",
        "s.b -> id (filter)",
        "s.b -> x (filter)",
    }
    assert _columns(con, "t") == expected
    with pytest.raises(gateway.IntegrityError):
        con.execute("INSERT INTO t SELECT o.id, o.c FROM other o WHERE o.id = 1")
    con.execute("BEGIN")
    con.execute("UPDATE t SET x = (SELECT max(c) FROM other)")
    con.execute("ROLLBACK")
    assert _columns(con, "t") == expected
    assert _tables(con) == {("s", "t")}


@pytest.mark.also_on("hive")
def test_a_query_leaves_no_edge_and_counts_as_a_read(con: Connection) -> None:  # L2, L20
    con.execute("CREATE VIEW v AS SELECT id, a * 2 AS d FROM s")
    before = _tables(con)
    for _ in range(3):
        con.execute("SELECT d FROM v WHERE id > 0").fetchall()
    con.execute("SELECT c FROM other").fetchall()
    assert _tables(con) == before == {("s", "v")}
    used = con.execute(
        'SELECT "table", "column", reads FROM system.usage WHERE reads > 0 AND "column" IS NOT NULL'
    ).fetchall()
    # A view is read, and through it the columns that it shows.
    assert {("v", "d", 3), ("v", "id", 3), ("other", "c", 1)} <= set(used)
    assert {(table, column) for table, column, _ in used if table == "s"} == {
        ("s", "a"),
        ("s", "id"),
    }
    last = con.execute("SELECT last_read >= last_written FROM system.usage WHERE \"table\" = 's'")
    assert (True,) in last.fetchall()


def test_uses_of_a_day_are_added_up(con: Connection) -> None:
    """Those of other columns and tables stay, whatever else is counted that day."""
    uses = 'SELECT "column", sum(reads) FROM system.usage WHERE "table" = \'s\' GROUP BY ALL'
    for column, sums in (("a", {"a": 1}), ("b", {"a": 1, "b": 1}), ("a", {"a": 2, "b": 1})):
        con.execute(f"SELECT {column} FROM s").fetchall()
        con.execute("SELECT c FROM other").fetchall()
        assert sums.items() <= dict(con.execute(uses).fetchall()).items()


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.ALL_TYPES)
def test_new_tables_and_views_come_from_their_queries(con: Connection) -> None:  # L3, L4, L10
    con.execute("CREATE TABLE made AS SELECT * FROM s")
    con.execute("CREATE TABLE totals AS SELECT count(*) AS n FROM s")
    con.execute("CREATE TABLE alike (LIKE s)")
    assert _columns(con, "made") == {f"s.{c} -> {c} (identity)" for c in ("id", "a", "b")}
    assert _columns(con, "totals") == {"s.* -> * (filter)"}
    con.execute("CREATE VIEW shown AS SELECT upper(b) AS u FROM s")
    assert _columns(con, "shown") == {"s.b -> u (transformation)"}
    con.execute("CREATE OR REPLACE VIEW shown AS SELECT c AS u FROM other")
    assert _columns(con, "shown") == {"other.c -> u (identity)"}
    con.execute("DROP VIEW shown")
    assert _columns(con, "shown") == set()


@pytest.mark.also_on("hive")
def test_changes_of_rows_and_upserts(con: Connection) -> None:  # L5, L12
    con.execute("INSERT INTO t VALUES (7, 4)")
    con.execute("UPDATE t SET x = x + 1 WHERE id = 7")
    con.execute("DELETE FROM t WHERE x IN (SELECT c FROM other)")
    con.execute(
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET x = s.a"
        " WHEN NOT MATCHED THEN INSERT (id, x) VALUES (s.id, 0)"
    )
    con.execute(
        "INSERT INTO t SELECT id, c FROM other ON CONFLICT (id) DO UPDATE SET x = excluded.x"
    )
    found = _columns(con, "t")
    assert {"t.x -> x (transformation)", "other.c -> * (filter)"} <= found
    assert {"s.a -> x (identity)", "s.id -> id (identity)", "s.id -> x (join)"} <= found
    assert {"other.c -> x (identity)", "other.id -> id (identity)"} <= found


@pytest.mark.also_on("hive")
def test_several_tables_in_one_statement(con: Connection) -> None:  # L6, L7, L8, L9
    con.execute("CREATE TABLE u (id INTEGER PRIMARY KEY, y INTEGER)")
    con.execute(
        "WITH added AS (INSERT INTO t SELECT id, a FROM s RETURNING id, x)"
        " INSERT INTO u SELECT id, x FROM added UNION ALL SELECT id + 100, c FROM other"
    )
    assert {"s.id -> id (identity)", "s.a -> x (identity)"} <= _columns(con, "t")
    assert {"t.x -> y (identity)", "other.c -> y (identity)"} <= _columns(con, "u")
    assert {("s", "t"), ("t", "u"), ("other", "u")} <= _tables(con)


@pytest.mark.also_on("hive")
def test_a_statement_is_kept_once_without_its_values(con: Connection) -> None:  # L15
    for number in range(3):
        con.execute(f"INSERT INTO t SELECT id + {number * 10}, a FROM s WHERE b <> 'Ada{number}'")
    (row,) = con.execute(
        'SELECT statement, runs, "user", statement_digest, tag FROM system.lineage'
    ).fetchall()
    assert row[:3] == ("INSERT INTO t SELECT id + ?, a FROM s WHERE b <> ?", 3, "root")
    digests = con.execute(
        f"SELECT count(*) FROM system.transactions WHERE statement_digest = '{row[3]}'"
    ).fetchall()
    assert digests == [(3,)]


@pytest.mark.also_on("hive")
def test_names_are_followed_and_new_tables_inherit_nothing(con: Connection) -> None:  # L11
    con.execute("INSERT INTO t SELECT id, a FROM s")
    con.execute("ALTER TABLE s RENAME TO origin")
    con.execute("ALTER TABLE origin RENAME COLUMN a TO amount")
    con.execute("ALTER TABLE t RENAME COLUMN x TO total")
    assert _columns(con, "t") == {"origin.id -> id (identity)", "origin.amount -> total (identity)"}
    con.execute("DROP TABLE origin")
    con.execute("CREATE TABLE origin (id INTEGER PRIMARY KEY, amount INTEGER)")
    assert _columns(con, "t") == set()


@pytest.mark.needs(Capability.ALL_TYPES)
def test_temporary_tables_are_followed_through(con: Connection) -> None:
    con.execute("CREATE TEMP TABLE between_two AS SELECT id, a * 2 AS d FROM s WHERE b = 'p'")
    con.execute("INSERT INTO t SELECT id, d FROM between_two")
    assert _columns(con, "t") == {
        "s.id -> id (identity)",
        "s.a -> x (transformation)",
        "s.b -> id (filter)",
        "s.b -> x (filter)",
    }
    assert _tables(con) == {("s", "t")}


@pytest.mark.also_on("hive")
def test_files_are_nodes(con: Connection, tmp_path: Path) -> None:  # L14
    file = tmp_path / "rows.csv"
    con.execute(f"COPY (SELECT id, a FROM s) TO '{file}' (FORMAT csv, HEADER)")
    con.execute(f"COPY t FROM '{file}' (FORMAT csv, HEADER)")
    assert _columns(con, str(file)) == {"s.id -> id (identity)", "s.a -> a (identity)"}
    assert _columns(con, "t") == {f"{file}.* -> {c} (identity)" for c in ("id", "x")}
    kinds = con.execute("SELECT DISTINCT source_kind, target_kind FROM system.lineage").fetchall()
    assert sorted(kinds) == [("file", "table"), ("table", "file")]


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.ALL_TYPES)
def test_materialized_views(con: Connection) -> None:
    con.execute("CREATE MATERIALIZED VIEW kept AS SELECT b, sum(a) AS total FROM s GROUP BY b")
    con.execute("REFRESH MATERIALIZED VIEW kept")
    assert {"s.a -> total (aggregation)", "s.b -> b (identity)"} <= _columns(con, "kept")


@pytest.mark.also_on("hive")
def test_restores(con: Connection) -> None:
    (version,) = con.execute("SELECT max(version) FROM system.transactions").fetchall()[0]
    con.execute("UPDATE s SET a = 0")
    con.execute(f"RESTORE TABLE s TO VERSION AS OF {version}")
    assert "s.a -> a (identity)" in _columns(con, "s")


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.ACCESS_CONTROL)
def test_a_role_sees_the_lineage_of_what_it_sees(con: Connection) -> None:
    con.execute("INSERT INTO t SELECT id, a FROM s")
    con.execute("INSERT INTO t SELECT id + 50, c FROM other")
    con.execute("CREATE ROLE ann")
    con.execute("GRANT SELECT ON t TO ann")
    con.execute("GRANT SELECT ON s TO ann")
    con.execute("SET ROLE ann")
    assert _tables(con) == {("s", "t")}
    assert _columns(con, "t") == {"s.id -> id (identity)", "s.a -> x (identity)"}
    used = con.execute('SELECT DISTINCT "table" FROM system.usage').fetchall()
    assert sorted(used) == [("s",), ("t",)]
    con.execute("RESET ROLE")
    assert _tables(con) == {("s", "t"), ("other", "t")}


@pytest.mark.also_on("hive")
def test_lineage_outlives_the_process(con: Connection, store: Store) -> None:
    con.execute("INSERT INTO t SELECT id, a FROM s")
    con.close()
    con = store.connect(user="root")
    assert _tables(con) == {("s", "t")}
    con.execute("INSERT INTO t SELECT id + 10, a FROM s")
    assert len(con.execute("SELECT * FROM system.lineage WHERE source_table = 's'").fetchall()) == 2
    written = con.execute(
        "SELECT sum(writes) FROM system.usage WHERE \"table\" = 't' AND \"column\" = 'x'"
    ).fetchall()
    assert written == [(2,)]


@pytest.mark.also_on("hive")
def test_questions_are_answered_by_levels_and_names(con: Connection) -> None:  # L17, L19, L22
    con.execute("INSERT INTO t SELECT id, a FROM s WHERE b <> 'z'")
    con.execute("CREATE VIEW v AS SELECT x + 1 AS y FROM t")
    con.execute("INSERT INTO other (id, c) SELECT y + 90, y FROM v")
    home, ask = con.client_session.catalog.home, con.client_session.perform
    around = ask(lineage_around, "t.x", 3, 3)
    assert (around.table, around.column) == (f"{home}.t", "x")
    assert {(e.source, e.source_column) for e in around.up} == {
        (f"{home}.s", "a"),
        (f"{home}.s", "b"),
    }
    assert {(e.level, e.target) for e in around.down} == {
        (1, f"{home}.v"),
        (2, f"{home}.other"),
    }
    assert around.up[0].statement == "INSERT INTO t SELECT id, a FROM s WHERE b <> ?"
    way = ask(lineage_path, "s.a", "other.c")
    assert [edge.target for edge in way] == [f"{home}.t", f"{home}.v", f"{home}.other"]
    assert ask(lineage_path, "other", "s") == ()
    for name, code in (("nowhere", "PAL-201"), ("t.nothing", "PAL-202")):
        with pytest.raises(PalimpsestError) as caught:
            ask(lineage_around, name, 1, 1)
        assert caught.value.code.value.code == code


@pytest.mark.also_on("hive")
def test_edges_come_and_cease_between_two_moments(con: Connection) -> None:  # L23
    def version() -> int:
        rows = con.execute("SELECT max(version) FROM system.transactions").fetchall()
        return int(rows[0][0])

    ask, home = con.client_session.perform, con.client_session.catalog.home
    con.execute("INSERT INTO t SELECT id, a FROM s")
    con.execute("CREATE VIEW v AS SELECT x AS y FROM t")
    first = version()
    con.execute("CREATE OR REPLACE VIEW v AS SELECT c AS y FROM other")
    con.execute("DROP TABLE s")
    second = version()
    came, ceased = ask(lineage_changes, first, second)
    assert [(e.source, e.target) for e in came] == [(f"{home}.other", f"{home}.v")]
    assert {(e.source, e.target) for e in ceased} == {
        (f"{home}.t", f"{home}.v"),
        (f"{home}.s", f"{home}.t"),
    }
    assert ask(lineage_changes, second, None) == ((), ())
    con.execute("UNDROP TABLE s")
    came, ceased = ask(lineage_changes, second, None)
    assert {(e.source, e.target) for e in came} == {(f"{home}.s", f"{home}.t")}
    assert ceased == ()


@pytest.mark.also_on("hive")
def test_what_was_filled_is_told_at_drop_and_kept_by_restrict(con: Connection) -> None:  # L22
    home = con.client_session.catalog.home
    con.execute("INSERT INTO t SELECT id, a FROM s")
    con.execute("CREATE VIEW v AS SELECT b FROM s")
    for drop, what in (("ALTER TABLE s DROP COLUMN a", "s.a"), ("DROP TABLE s", "s")):
        with pytest.raises(gateway.Error) as caught:
            con.execute(f"{drop} RESTRICT")
        assert caught.value.sqlstate == "2BP01"
        assert f"{home}.{what} has filled {home}.t" in str(caught.value)
    (notice,) = con.execute("ALTER TABLE s DROP COLUMN a").messages
    assert notice[1] == f"{home}.s.a has filled {home}.t, which stay as they are"
    found = preview_on(con, "UPDATE s SET b = 'n'")
    assert found.downstream == (f"{home}.t", f"{home}.v")
    con.execute("DROP VIEW v")
    assert "has filled" in str(con.execute("DROP TABLE s").messages[0][1])
    assert con.execute("DROP TABLE t RESTRICT").messages == []


@pytest.mark.also_on("hive")
@pytest.mark.needs(Capability.WRITES_DURING_RETENTION)
def test_retention_forgets_lineage_past_its_time(con: Connection) -> None:
    con.execute("INSERT INTO t SELECT id, a FROM s")
    con.execute("INSERT INTO other SELECT id + 50, x FROM t")
    con.execute("ALTER TABLE t SET POLICY (LINEAGE = 30 DAYS)")
    con.execute("CALL system.retain('t')")
    assert _tables(con) == {("s", "t"), ("t", "other")}
    con.execute("CALL system.retain('t', now => '2199-01-01')")
    assert _tables(con) == {("t", "other")}
