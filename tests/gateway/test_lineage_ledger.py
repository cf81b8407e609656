"""What a commit asks of lineage: nothing for what is known, and one trace for a digest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.records import lineage as records
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


def test_old_statements_are_forgotten_with_their_edges(con: Connection) -> None:
    con.execute("INSERT INTO t SELECT id + 10, a FROM s")
    con.session.executor.lineage.record()
    journal = con.session.journal
    with journal.exclusive_session() as session:
        (told,) = records.load_statements(session)
        assert records.forget_before(session, told.last_seen) == 0
        session.commit()
    con.execute("INSERT INTO t SELECT id + 20, a FROM s")
    con.session.executor.lineage.record()
    with journal.exclusive_session() as session:
        (again,) = records.load_statements(session)
        assert again.last_seen > told.last_seen
        assert again.runs == told.runs + 1
        edges = records.load_edges(session)
        assert len(edges) == len({row.edge for row in edges}) == 2
