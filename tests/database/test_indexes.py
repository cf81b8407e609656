"""Indexes on PostgreSQL: as the server has them, and its own ones on heads and sealed tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject

CLASSIC = ("_journal", "version_number", "subsequent_version_number")
SETUP = (
    "CREATE TABLE t (a INTEGER, b INTEGER, c VARCHAR)",
    "INSERT INTO t VALUES (1, 1, 'x'), (NULL, 2, 'y'), (NULL, 3, 'z'), (5, 5, 'V')",
    "CREATE VIEW v AS SELECT 1 AS x",
    "CREATE SCHEMA s",
    "CREATE TABLE s.t (a INTEGER)",
    "CREATE TABLE p (k INTEGER PRIMARY KEY, b INTEGER, CONSTRAINT p_b UNIQUE (b))",
)
ALIKE = (
    "CREATE INDEX t ON t (a)",
    "CREATE INDEX i ON t (a)",
    "CREATE TABLE i (a INTEGER)",
    "CREATE VIEW i AS SELECT 1 AS x",
    "CREATE INDEX v ON t (a)",
    "CREATE INDEX IF NOT EXISTS v ON t (a)",
    "CREATE INDEX I ON t (a)",
    "CREATE INDEX i ON s.t (a)",
    "DROP INDEX i",
    "DROP INDEX s.i",
    "DROP INDEX s.i",
    "DROP INDEX IF EXISTS s.i",
    "DROP INDEX t",
    "DROP INDEX p_b",
    "CREATE INDEX ON t (a)",
    "CREATE INDEX ON t (a)",
    "CREATE INDEX ON t (lower(c), b)",
    "CREATE INDEX ON t ((a + b))",
    "DROP INDEX t_a_idx1, t_lower_b_idx, t_expr_idx",
    "CREATE UNIQUE INDEX u ON t (a)",
    "INSERT INTO t VALUES (1, 1, 'x')",
    "INSERT INTO t VALUES (1, 7, 'w') ON CONFLICT (a) DO UPDATE SET b = excluded.b",
    "CREATE UNIQUE INDEX u3 ON t (lower(c))",
    "INSERT INTO t VALUES (9, 9, 'v')",
    "INSERT INTO t VALUES (9, 9, 'v') ON CONFLICT DO NOTHING",
    "INSERT INTO t VALUES (9, 9, 'v') ON CONFLICT (lower(c)) DO UPDATE SET b = 77",
    "CREATE UNIQUE INDEX u4 ON t (b) WHERE a > 3",
    "INSERT INTO t VALUES (10, 77, 'new')",
    "INSERT INTO t VALUES (2, 77, 'new')",
    "UPDATE t SET a = 10 WHERE a = 2",
    "INSERT INTO t VALUES (10, 77, 'q') ON CONFLICT (b) DO NOTHING",
    "INSERT INTO t VALUES (10, 77, 'q') ON CONFLICT (b) WHERE a > 3 DO NOTHING",
    "INSERT INTO t VALUES (10, 77, 'q') ON CONFLICT (b) WHERE a > 3 AND b > 0 DO NOTHING",
    "CREATE INDEX u5 ON v (x)",
    "CREATE INDEX u5 ON nope (x)",
    "CREATE INDEX u5 ON t (nope)",
    "CREATE UNIQUE INDEX u5 ON t ((a / 0))",
    "CREATE INDEX u8 ON t (a DESC NULLS LAST) INCLUDE (b)",
    "CREATE INDEX u9 ON t (c varchar_pattern_ops) WITH (fillfactor = 50)",
    "CREATE UNIQUE INDEX u10 ON t (a) NULLS DISTINCT",
    "CREATE INDEX CONCURRENTLY u11 ON t USING hash (a)",
    "ALTER INDEX u8 RENAME TO u88",
    "ALTER INDEX IF EXISTS nope RENAME TO u89",
    "ALTER INDEX u88 RENAME TO u4",
    "ALTER INDEX u88 RENAME TO t",
    "ALTER TABLE t RENAME COLUMN b TO bb",
    "INSERT INTO t VALUES (10, 77, 'q')",
    "ALTER TABLE t ALTER COLUMN bb TYPE BIGINT",
    "INSERT INTO t VALUES (10, 77, 'q')",
    "ALTER TABLE t DROP COLUMN c",
    "DROP INDEX u3",
    "DROP INDEX u4 CASCADE",
    "CREATE TABLE l (LIKE t INCLUDING INDEXES)",
    "INSERT INTO l (a) VALUES (1), (1)",
    "DROP TABLE t",
    "DROP INDEX u",
    "CREATE TABLE u (a INTEGER)",
)
NATIVE = (
    "SELECT count(*) FROM pg_indexes WHERE schemaname = '_palimpsest'"
    " AND tablename {} '%head%' AND indexname LIKE '%\\_x________'"
)
ON_HEADS, ON_SEALED = NATIVE.format("LIKE"), NATIVE.format("NOT LIKE")


def _outcome(execute: Callable[[str], Any], sql: str) -> object:
    """The row count of a statement that changes rows, or the SQLSTATE of its error."""
    try:
        done = execute(sql)
    except (gateway.Error, psycopg.Error) as error:
        return error.sqlstate
    return done.rowcount if sql.startswith(("INSERT", "UPDATE")) else "done"


def test_as_the_server_does_it(connect: Callable[..., Connection], cluster: Any) -> None:
    con = connect(dialect="postgres")
    with psycopg.connect(cluster.conninfo(cluster.database()), autocommit=True) as plain:
        for sql in SETUP:
            con.execute(sql)
            plain.execute(sql)
        different = [
            (sql, wanted, got)
            for sql in ALIKE
            for wanted, got in [(_outcome(plain.execute, sql), _outcome(con.execute, sql))]
            if wanted != got
        ]
    assert (
        different
        == [
            # An unknown index is one, rather than an unknown table.
        ]
    )


def test_the_server_has_them_too(con: Connection, admin: psycopg.Connection[Any]) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR, j JSON)")
    con.execute("INSERT INTO t SELECT i, i % 100, 'Text ' || i, NULL FROM range(3000) AS r(i)")
    for sql in (
        "CREATE INDEX plain ON t (a)",
        "CREATE INDEX same ON t (a)",
        "CREATE UNIQUE INDEX lowered ON t (lower(b))",
        "CREATE INDEX part ON t (b) WHERE a > 50",
        "CREATE INDEX not_there ON t (j)",
    ):
        con.execute(sql)
    assert _number(admin, ON_HEADS) == 1, "no text, which may be too long"
    admin.execute("ANALYZE")
    assert "Index" in str(con.execute("EXPLAIN SELECT * FROM t WHERE a = 7").fetchall())
    con.execute("OPTIMIZE t")
    assert _number(admin, ON_SEALED) == 3
    admin.execute("ANALYZE")
    assert "Index" in str(con.execute("EXPLAIN SELECT * FROM t WHERE a = 7").fetchall())
    con.execute("DROP INDEX plain, lowered")
    assert _number(admin, ON_SEALED) == 2
    con.execute("DROP INDEX same, part")
    assert _number(admin, ON_SEALED) == 0


def _number(admin: psycopg.Connection[Any], sql: str) -> int:
    (found,) = admin.execute(sql).fetchone() or (0,)
    return int(found)


def test_text_of_any_length(con: Connection, admin: psycopg.Connection[Any]) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("CREATE UNIQUE INDEX one ON t (b)")
    long = "".join(str(i) for i in range(5000))
    con.execute("INSERT INTO t VALUES (1, ?), (2, 'short')", (long,))
    con.execute("OPTIMIZE t")
    assert _number(admin, ON_SEALED) == 0
    assert _outcome(con.execute, f"INSERT INTO t VALUES (3, '{long}')") == "23505"
    assert con.execute("DELETE FROM t WHERE b = ?", (long,)).rowcount == 1
    con.execute("OPTIMIZE t")
    assert con.execute("SELECT k FROM t").fetchall() == [(2,)]


def test_indexes_made_and_dropped_in_one_transaction_reach_the_server(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    con.execute("BEGIN")
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)")
    con.execute("CREATE INDEX i ON t (a)")
    con.execute("CREATE INDEX j ON t (k, a)")
    con.execute("DROP INDEX i")
    con.execute("COMMIT")
    assert _number(admin, ON_HEADS) == 1


def test_an_ejected_table_keeps_its_indexes(
    con: Connection, admin: psycopg.Connection[Any]
) -> None:
    con.execute("CREATE SCHEMA hr")
    con.execute("CREATE TABLE hr.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR)")
    con.execute("CREATE UNIQUE INDEX one ON hr.t (lower(b), a DESC) WHERE a > 3")
    con.execute("CREATE INDEX by_a ON hr.t (a)")
    con.commit()
    eject(con.session, "hr.t", run=True)
    found = admin.execute(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'hr' AND indexname <> 't_pkey'"
        " ORDER BY 1"
    ).fetchall()
    assert [text for (text,) in found] == [
        "CREATE INDEX by_a ON hr.t USING btree (a)",
        "CREATE UNIQUE INDEX one ON hr.t USING btree (lower(b), a DESC NULLS LAST) WHERE (a > 3)",
    ]


def test_writers_of_an_adopted_journal_share_no_values(
    connect: Callable[..., Connection], admin: psycopg.Connection[Any]
) -> None:
    admin.execute(
        "CREATE TABLE people_journal (id integer NOT NULL, mail varchar, team integer,"
        " version_number timestamptz NOT NULL, subsequent_version_number timestamptz)"
    )
    con, other = connect(), connect()
    adopt(con.session, "people", ("id",), CLASSIC, run=True)
    con.execute("ALTER TABLE people ADD UNIQUE (team)")
    con.execute("CREATE UNIQUE INDEX one_mail ON people (lower(mail))")
    con.execute("INSERT INTO people VALUES (1, 'Ada', 1), (2, 'bob', 2)")
    for number, (mine, theirs) in enumerate(
        (
            ("INSERT INTO people VALUES (3, 'New', 3)", "INSERT INTO people VALUES (4, 'NEW', 4)"),
            ("INSERT INTO people VALUES (5, 'x', 9)", "UPDATE people SET team = 9 WHERE id = 2"),
            ("DELETE FROM people WHERE id = 3", "UPDATE people SET mail = 'q' WHERE id = 1"),
            ("UPDATE people SET mail = 'NEW', team = 3 WHERE id = 1", "SELECT 1"),
        )
    ):
        for connection in (con, other):
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM people").fetchall()
        con.execute(mine)
        other.execute(theirs)
        con.execute("COMMIT")
        assert _outcome(other.execute, "COMMIT") == ("40001" if number < 2 else "done"), theirs
    assert con.session.executor.upkeep.verify().is_clean
    admin.execute("INSERT INTO people_journal VALUES (9, 'new', 99, now(), NULL)")
    found = con.session.executor.upkeep.verify().problems
    assert [(p.kind, "one_mail" in p.message) for p in found] == [("unique", True)]
