"""What a commit asks of lineage: nothing for what is known, and one trace for a digest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from rewriter.lineage.executed.trace import StatementTrace


@pytest.fixture
def con() -> Iterator[Connection]:
    with gateway.connect("palimpsest://", autocommit=True) as found:
        found.execute("CREATE TABLE s (id INTEGER PRIMARY KEY, a INTEGER, b VARCHAR)")
        found.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER)")
        found.execute("INSERT INTO s VALUES (1, 1, 'p'), (2, 2, 'q')")
        found.execute("INSERT INTO t VALUES (1, 1)")
        yield found


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[StatementTrace]:
    """The traces that were read, in their order."""
    found: list[StatementTrace] = []
    read = StatementTrace.read

    def noted(trace: StatementTrace) -> Any:
        found.append(trace)
        return read(trace)

    monkeypatch.setattr(StatementTrace, "read", noted)
    return found


def test_statements_of_one_digest_are_traced_once(
    con: Connection, traced: list[StatementTrace]
) -> None:
    for number in range(5):
        con.execute(f"UPDATE t SET x = {number} WHERE id = 1")
        con.execute("UPDATE t SET x = x + 1 WHERE id = ?", (1,))
    assert len(traced) == 2
    con.execute("ALTER TABLE t ADD COLUMN y INTEGER")
    con.execute("UPDATE t SET x = 9 WHERE id = 1")
    assert len(traced) <= 4


def test_values_that_say_what_is_read_are_told_apart(
    con: Connection, traced: list[StatementTrace]
) -> None:
    con.execute("CREATE TABLE g (v VARCHAR, n BIGINT)")
    traced.clear()
    con.execute("INSERT INTO g SELECT b, count(*) FROM s GROUP BY 1")
    con.execute("INSERT INTO g SELECT max(b), count(*) FROM s GROUP BY id, a")
    assert len(traced) == 2
    found = con.execute(
        "SELECT DISTINCT source_column FROM system.column_lineage"
        " WHERE target_table = 'g' AND subtype = 'GROUP_BY'"
    ).fetchall()
    assert sorted(found) == [("a",), ("b",), ("id",)]


def test_a_plan_alone_is_not_traced(con: Connection, traced: list[StatementTrace]) -> None:
    con.execute("EXPLAIN INSERT INTO t SELECT id, a FROM s")
    con.execute("BEGIN")
    con.execute("INSERT INTO t SELECT id + 5, a FROM s")
    con.execute("ROLLBACK")
    assert traced == []


def test_what_cannot_be_followed_is_an_unknown_edge(con: Connection) -> None:  # L13
    con.execute("CREATE TABLE made AS SELECT COLUMNS('id|a') FROM s WHERE id = 2")
    rows = con.execute(
        "SELECT source_table, target_table, target_column, type, unknown FROM system.column_lineage"
    ).fetchall()
    assert {row[:4] for row in rows} >= {(None, "made", c, "UNKNOWN") for c in ("id", "a")}
    rows = [row for row in rows if row[3] == "UNKNOWN"]
    assert all("pattern" in row[4] and "id|a" not in row[4] for row in rows)


def test_a_transaction_is_recorded_whole_and_counts_once(con: Connection) -> None:
    con.execute("BEGIN")
    con.execute("INSERT INTO t SELECT id + 10, a FROM s")
    con.execute("SAVEPOINT before_it")
    con.execute("UPDATE t SET x = (SELECT max(length(b)) FROM s)")
    con.execute("ROLLBACK TO before_it")
    con.execute("COMMIT")
    found = con.execute("SELECT source_table, target_table, runs FROM system.lineage").fetchall()
    assert found == [("s", "t", 1)]


def test_lineage_past_its_time_goes_by_policy(con: Connection) -> None:
    con.execute("INSERT INTO t SELECT id + 10, a FROM s")
    con.execute("CREATE TABLE u AS SELECT id, x FROM t")
    con.execute("ALTER TABLE t SET POLICY (LINEAGE = 30 DAYS)")

    def left() -> list[Any]:
        query = "SELECT DISTINCT source_table, target_table FROM system.lineage ORDER BY 1"
        return con.execute(query).fetchall()

    def retained(**options: str) -> dict[str, Any]:
        words = "".join(f", {name} => {value}" for name, value in options.items())
        con.execute(f"CALL system.retain('t'{words})")
        query = "SELECT report FROM system.jobs ORDER BY started_at DESC LIMIT 1"
        return dict(json.loads(con.execute(query).fetchall()[0][0]))

    later = (datetime.now(UTC) + timedelta(days=31)).isoformat()
    assert retained()["details"]["lineage_forgotten"] == 0
    assert left() == [("s", "t"), ("t", "u")]
    assert retained(now=f"'{later}'", dry_run="true")["details"]["lineage_forgotten"] == 2
    assert left() == [("s", "t"), ("t", "u")]
    report = retained(now=f"'{later}'")
    assert (report["state"], report["details"]["lineage_forgotten"]) == ("done", 2)
    assert left() == [("t", "u")]
    used = con.execute('SELECT DISTINCT "table" FROM system.usage WHERE writes > 0').fetchall()
    assert ("t",) not in used
    # What comes again is recorded again.
    con.execute("INSERT INTO t SELECT id + 20, a FROM s")
    assert left() == [("s", "t"), ("t", "u")]


def test_no_value_of_a_statement_is_kept(con: Connection) -> None:  # L15
    for sql in (
        "INSERT INTO t SELECT id + 30, a FROM s WHERE b <> 'Ada' AND b NOT LIKE $$%Ada%$$",
        "CREATE TABLE c AS SELECT COLUMNS('id|Ada') FROM s",
        "CREATE VIEW v AS SELECT id, 'Ada' AS who, coalesce(b, 'Ada') AS b FROM s",
        "UPDATE s SET b = 'Ada' || id /* Ada */ WHERE b = 'Ada' OR id = 1",
        (
            "MERGE INTO t USING (SELECT 1 AS id, length('Ada') AS x) n ON t.id = n.id"
            " WHEN MATCHED AND n.x > 1 THEN UPDATE SET x = n.x"
        ),
    ):
        con.execute(sql)
    con.session.executor.lineage.record()
    with con.session.journal.reading_session() as session:
        for table in ("lineage", "lineage_statements", "usage"):
            rows = session.text(f"SELECT * FROM _palimpsest.{table}")
            assert rows
            assert "ada" not in repr(rows).lower()
