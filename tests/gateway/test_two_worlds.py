"""Two warehouses that differ in what a role may not see alone: whatever it asks, they say the same.

What keys tell, that there is a row, is the same in both: docs/roles.md says that it is told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.prepared_warehouse import prepared_warehouse

_ONE, _OTHER = ("secret", 1000, 0, "2001-02-03"), ("7", 3, 4, "2031-02-03")


def _world(text: str, number: int, divisor: int, day: str) -> list[str]:
    """Odd keys are seen, without pay and with the first letter of mails."""
    hidden = f"(2, '{text}', 0, {number}, 'm-{text}', {divisor}, DATE '{day}')"
    seen = ", ".join(
        f"({k}, 'v{k}', 1, {number * k}, 'm{text}{k}', {k}, DATE '2020-01-01')" for k in (1, 3, 5)
    )
    return [
        (
            "CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, g INTEGER, pay INTEGER,"
            " mail VARCHAR UNIQUE, d INTEGER, day DATE, CHECK (d < 100))"
        ),
        f"INSERT INTO t VALUES {seen}, {hidden}",
        *([f"UPDATE t SET v = v || '{number}' WHERE k = 2"] if text == "secret" else []),
        "CREATE TABLE plain (k INTEGER PRIMARY KEY, v VARCHAR)",
        "INSERT INTO plain VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "CREATE INDEX by_v ON t (v)",
        "CREATE VIEW shown AS SELECT * FROM t",
        "CREATE MATERIALIZED VIEW stored AS SELECT k, v, g, pay FROM t",
        "CREATE MACRO most(x) AS (SELECT max(pay) FROM t WHERE k > x)",
        "CREATE ROLE ann",
        "GRANT SELECT, INSERT, UPDATE, DELETE, HISTORY ON t TO ann",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON plain TO ann",
        "GRANT SELECT, HISTORY ON shown TO ann",
        "GRANT SELECT ON stored TO ann",
        "ALTER TABLE t SET ROW POLICY (g = 1)",
        "ALTER TABLE t ALTER COLUMN pay SET MASKING POLICY (-1)",
        "ALTER TABLE t ALTER COLUMN mail SET MASKING POLICY (left(mail, 1))",
    ]


ASKED = (
    "SELECT * FROM t ORDER BY k",
    "SELECT count(*), min(v), max(v), max(pay), min(day), max(day) FROM t",
    "SELECT k FROM t WHERE v = 'secret1000' OR v = '7'",
    "SELECT k FROM t WHERE pay > 100",
    "SELECT k FROM t WHERE mail LIKE 'msecret%'",
    "SELECT k FROM t WHERE day < DATE '2010-01-01' OR day > DATE '2030-01-01'",
    "SELECT k FROM t WHERE CAST(replace(v, 'v', '') AS INTEGER) > 0 ORDER BY k",
    "SELECT 10 // d FROM t WHERE d <> 1 ORDER BY 1",
    "SELECT k FROM t WHERE CASE WHEN g = 0 THEN error(v) ELSE true END ORDER BY k",
    "SELECT k, row_number() OVER (ORDER BY pay, mail, k) FROM t ORDER BY k",
    "SELECT g, count(*), sum(pay) FROM t GROUP BY ROLLUP (g) ORDER BY 1",
    "SELECT p.k, t.v FROM plain p LEFT JOIN t USING (k) ORDER BY 1",
    "SELECT k FROM plain WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = plain.k) ORDER BY k",
    "SELECT * FROM shown ORDER BY k",
    "SELECT * FROM stored ORDER BY k",
    "SELECT most(0)",
    "SELECT k, v, pay, mail FROM t FOR SYSTEM_TIME ALL ORDER BY k",
    "SELECT k, pay FROM table_history('t') ORDER BY k",
    "SELECT count(*) FROM t TABLESAMPLE (100 PERCENT)",
    "SUMMARIZE t",
    "PIVOT t ON g USING count(*), max(pay) GROUP BY mail",
    "SELECT * FROM histogram('t', k)",
    "EXPLAIN SELECT * FROM t WHERE v > 'a'",
    "EXPLAIN ANALYZE SELECT k FROM t WHERE v = 'secret1000'",
    "EXPLAIN ANALYZE SELECT * FROM stored WHERE k IN (SELECT k FROM t WHERE v > 'a')",
    "SELECT estimated_size FROM duckdb_tables() ORDER BY 1",
    "UPDATE t SET v = pay || mail RETURNING *",
    "UPDATE t SET d = d + 98",
    "UPDATE t SET d = 10 // d RETURNING k, d",
    "UPDATE plain SET v = t.mail FROM t WHERE t.k = plain.k RETURNING plain.*",
    "DELETE FROM t WHERE pay > 100 RETURNING *",
    "DELETE FROM t RETURNING k, pay",
    "INSERT INTO t (k, v, g) VALUES (2, 'x', 1)",
    "INSERT INTO t (k, v, g) VALUES (2, 'x', 1) ON CONFLICT (k) DO UPDATE SET v = t.v || 'a'",
    "INSERT INTO t (k, g) VALUES (3, 1) ON CONFLICT (k) DO UPDATE SET v = t.mail RETURNING *",
    "MERGE INTO t USING plain ON t.k = plain.k WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "MERGE INTO t USING plain ON t.k = plain.k AND t.pay > 100 WHEN MATCHED THEN DELETE",
    "CREATE TEMP TABLE mine AS SELECT * FROM t; SELECT * FROM mine ORDER BY k",
    "SELECT * FROM t_journal",
    "SELECT * FROM system.access_policies",
)


def _told(con: Connection, sql: str) -> str:
    """All that a role is told by statements, and by the rows that they leave."""
    con.execute("BEGIN")
    con.execute("SET LOCAL ROLE ann")
    told: list[Any] = []
    try:
        for one in (*sql.split("; "), "SELECT * FROM t ORDER BY k", "FROM plain ORDER BY k"):
            cursor = con.execute(one)
            rows = cursor.fetchall() if cursor.description else []
            told.append((cursor.rowcount, rows if "ORDER BY" in one else sorted(rows, key=str)))
    except gateway.Error as error:
        told.append(str(error))
    con.execute("ROLLBACK")
    return str(told)


@pytest.mark.long
def test_a_role_cannot_tell_two_worlds_apart(tmp_path: Path) -> None:
    worlds = []
    for name, values in (("one", _ONE), ("other", _OTHER)):
        url = prepared_warehouse(tmp_path / name, _world(*values))
        worlds.append(gateway.connect(url, autocommit=True))
    for compacted in (False, True):
        for con in worlds:
            if compacted:
                con.execute("CALL system.compact('t')").fetchall()
        differs = {}
        for sql in ASKED:
            one, other = (_told(con, sql) for con in worlds)
            if one != other:
                differs[sql] = (one, other)
        assert differs == {}
    for con in worlds:
        con.close()
