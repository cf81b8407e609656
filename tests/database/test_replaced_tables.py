"""Tables that a job has replaced: who still reads them, and kill at each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlglot import exp

import gateway
from gateway.dbapi.connection import Connection
from journal.model.plan import Query
from journal.model.schema import Table
from journal.sql.relations import Reader, column
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.backends.postgres.maintenance import compact
from spark_compaction.contract import JobRequest
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores


@pytest.fixture
def outside(cluster: Cluster, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of another tool."""
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as found:
        yield found


@pytest.fixture
def changed(con: Connection) -> Connection:
    """A table that was filled, changed under two layouts, and partly deleted."""
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, UNIQUE (b))")
    con.execute("INSERT INTO t SELECT i, 'b' || i FROM range(200) r(i)")
    con.execute("UPDATE t SET b = 'c' || a WHERE a < 50")
    con.execute("DELETE FROM t WHERE a BETWEEN 40 AND 60")
    con.execute("ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 7")
    con.execute("UPDATE t SET d = 8 WHERE a = 1")
    con.execute("INSERT INTO t VALUES (41, 'again', 9)")
    return con


def _rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


def _answers(con: Connection) -> list[list[tuple[Any, ...]]]:
    versions = [v for (v,) in _rows(con, "SELECT version FROM system.transactions ORDER BY 1")]
    asked = ["SELECT * FROM t ORDER BY a", "SELECT * FROM t WHERE a = 41"]
    asked += [f"SELECT count(*), max(b) FROM t FOR SYSTEM_VERSION AS OF {v}" for v in versions[1:]]
    asked.append("SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY a, version_number")
    return [_rows(con, sql) for sql in asked]


def _journal(con: Connection) -> tuple[DatabaseJournal, Table]:
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    return journal, next(iter(journal.state.catalog.tables()))


def _tables(outside: psycopg.Connection[Any]) -> list[str]:
    found = outside.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = '_palimpsest'::regnamespace"
        " AND relkind = 'r' AND relname ~ '^t[0-9]+_' ORDER BY 1"
    )
    return [name for (name,) in found.fetchall()]


STEPS = ("plan", "seal", "stage", "verify")
"""Those after which a run can still be stopped: the swap decides."""


@pytest.mark.parametrize("killed_after", STEPS)
def test_a_run_that_was_killed_is_simply_run_again(
    changed: Connection, outside: psycopg.Connection[Any], killed_after: str
) -> None:
    journal, table = _journal(changed)
    before = _answers(changed)

    def die(step: str, _done: int, _total: int) -> None:
        if step == killed_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compact(journal, JobRequest(table, "killed", grace_us=0, progress=die))
    assert _answers(changed) == before
    assert compact(journal, JobRequest(table, "again", grace_us=0)).state in {"done", "nothing"}
    segment_swap.reap(journal, table.id)
    assert _answers(changed) == before
    listed = {s.id for s in journal.state.tables[table.id].manifest.segments}
    heads = {
        f"t{table.id}_head_{h.generation}" for h in journal.state.tables[table.id].manifest.heads
    }
    assert set(_tables(outside)) == listed | heads


def test_a_snapshot_from_before_is_told_to_start_again(
    changed: Connection, outside: psycopg.Connection[Any]
) -> None:
    with outside.transaction():
        outside.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        outside.execute("SELECT 1 FROM _palimpsest.state")
        changed.execute("OPTIMIZE t")
        with pytest.raises(psycopg.errors.SerializationFailure):
            with outside.transaction():
                outside.execute("SELECT count(*) FROM t").fetchall()
    assert outside.execute("SELECT count(*) FROM t").fetchall() == [(180,)]


def test_what_was_replaced_stays_while_it_may_be_read(
    changed: Connection, outside: psycopg.Connection[Any]
) -> None:
    journal, table = _journal(changed)
    with journal.statement(journal.begin(read_only=True)) as reader:
        changed.execute("OPTIMIZE t")
        changed.execute("INSERT INTO t VALUES (900, 'new', 0)")
        assert _rows(changed, "VACUUM t RETAIN 1 HOURS")[0][3] == "NOTHING"
        kept = segment_swap.reap(journal, table.id, list)
        assert kept.in_use == ("t1_head_1", "t1_head_2")
        rows = Reader(table, reader.committed.tables[table.id].tiers).current([(column("a"), "a")])
        count = exp.select(exp.Count(this=exp.Star())).from_(rows.subquery("r"))
        assert reader.session.row(Query(count, ()), {}) == (180,)
    assert segment_swap.reap(journal, table.id, list).in_use == ()
    assert "t1_head_1" not in _tables(outside)


def test_jobs_on_a_table_take_turns(changed: Connection) -> None:
    journal, table = _journal(changed)
    with segment_swap.table_lock(journal, table):
        with pytest.raises(gateway.Error) as raised:
            changed.execute("OPTIMIZE t")
    assert raised.value.code == "PAL-703"
    changed.execute("OPTIMIZE t")
