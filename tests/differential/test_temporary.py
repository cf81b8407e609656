"""Temporary tables of two connections, in and out of transactions, next to plain DuckDB's."""

from pathlib import Path

import duckdb
import hypothesis
import hypothesis.strategies as st
import pytest

import gateway

SCRIPT = """
a: CREATE TABLE orders (id INTEGER PRIMARY KEY, customer VARCHAR)
a: INSERT INTO orders VALUES (1, 'ann'), (2, 'bob')
a: CREATE TEMP TABLE t (a INTEGER, b INTEGER)
b: SELECT * FROM t
b: SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'main'
b: CREATE TEMP TABLE t (c VARCHAR)
b: INSERT INTO t VALUES ('other')
a: INSERT INTO t VALUES (1, 2), (3, 4)
a: SELECT * FROM t
b: SELECT * FROM t
a: BEGIN
a: INSERT INTO t VALUES (5, 6)
a: CREATE TEMP TABLE made AS SELECT a FROM t
a: UPDATE t SET b = b + 1
a: UPDATE orders SET customer = 'ann2' WHERE id = 1
a: SELECT count(*) FROM made
a: ROLLBACK
a: SELECT * FROM t
a: SELECT * FROM made
a: SELECT * FROM orders
a: BEGIN
a: CREATE TEMP TABLE made AS SELECT a FROM t
a: DELETE FROM t WHERE a = 1
a: UPDATE orders SET customer = 'ann3' WHERE id = 1
b: SELECT * FROM orders
a: COMMIT
a: SELECT a, customer FROM made, orders WHERE id = 1
b: SELECT * FROM orders
b: SELECT * FROM made
a: BEGIN
a: DROP TABLE made
a: ROLLBACK
a: SELECT * FROM made
a: BEGIN
a: INSERT INTO t VALUES (50, 60)
a: INSERT INTO orders VALUES (1, 'again')
a: ROLLBACK
a: SELECT * FROM t
a: CREATE TEMP VIEW v AS SELECT sum(a) AS s FROM t
a: SELECT * FROM v
b: SELECT * FROM v
b: CREATE TABLE t (shared INTEGER)
b: SELECT * FROM t
b: DROP TABLE t
b: SELECT * FROM t
a: SELECT * FROM t
a: DROP VIEW v
a: SELECT * FROM v
a: DROP TABLE t
a: SELECT * FROM t
a: DROP TABLE t
b: SELECT * FROM t
"""


class _Plain:
    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._connection = database.cursor()

    def run(self, sql: str) -> object:
        try:
            self._connection.execute(sql)
            rows = self._connection.fetchall() if sql.split()[0] in {"SELECT", "FROM"} else None
        except duckdb.Error:
            return "error"
        return None if rows is None else sorted(rows, key=repr)


class _Gateway:
    def __init__(self, folder: Path) -> None:
        self.connection = gateway.connect(f"palimpsest:///{folder}", autocommit=True)

    def run(self, sql: str) -> object:
        try:
            cursor = self.connection.execute(sql)
            return None if cursor.description is None else sorted(cursor.fetchall(), key=repr)
        except gateway.Error:
            return "error"


def _compared(folder: Path, script: list[tuple[str, str]]) -> None:
    """Run a script on both; whoever meets an error in a transaction rolls it back."""
    with duckdb.connect() as database:
        plain = {name: _Plain(database) for name in "ab"}
        ours = {name: _Gateway(folder) for name in "ab"}
        begun: set[str] = set()
        try:
            for name, sql in script:
                verb = sql.split()[0]
                if verb in {"BEGIN", "COMMIT", "ROLLBACK"}:
                    if (verb == "BEGIN") is (name in begun):
                        continue
                    begun ^= {name}
                found = plain[name].run(sql)
                assert ours[name].run(sql) == found, (name, sql)
                if found == "error" and name in begun:
                    begun.discard(name)
                    assert ours[name].run("ROLLBACK") == plain[name].run("ROLLBACK")
        finally:
            for opened in ours.values():
                opened.connection.close()
    assert not list(folder.glob("temp/*/*/*"))


def test_two_connections(tmp_path: Path) -> None:
    lines = [line.split(": ", 1) for line in SCRIPT.strip().splitlines()]
    _compared(tmp_path / "warehouse", [(name, sql) for name, sql in lines])


STATEMENTS = (
    "INSERT INTO {t} VALUES ({x}, {y})",
    "INSERT INTO {t} SELECT k + {x}, v FROM {u} WHERE k < 40",
    "INSERT INTO {t} SELECT range + {x}, {y} FROM range(300)",
    "INSERT INTO {t} VALUES ({x}, {y}) ON CONFLICT (k) DO UPDATE SET v = excluded.v + 1",
    "UPDATE {t} SET v = v + {y} WHERE k % 3 = {x} % 3",
    "UPDATE {t} SET v = {u}.v + 1 FROM {u} WHERE {u}.k = {t}.k",
    "DELETE FROM {t} WHERE k = {x}",
    "DELETE FROM {t} WHERE v > {y} * 10",
    "DELETE FROM {t} USING {u} WHERE {u}.k = {t}.k + {x}",
    "TRUNCATE {t}",
    "CREATE TEMP TABLE made AS SELECT * FROM {t}",
    "DROP TABLE made",
    "SELECT count(*), sum(v) FROM made",
    "SELECT * FROM {t} WHERE k = {x}",
    "SELECT sum(v), count(*) FROM {t}",
    "SELECT * FROM {t} AS x FULL JOIN {u} AS y ON x.k = y.k",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
)
PROGRAMS = st.lists(
    st.tuples(
        st.sampled_from(STATEMENTS),
        st.permutations(["main.plain", "own"]),
        st.integers(0, 12),
        st.integers(0, 5),
    ),
    min_size=5,
    max_size=40,
)


@pytest.mark.long
@pytest.mark.timeout(120)
@hypothesis.given(program=PROGRAMS)
@hypothesis.settings(max_examples=12, deadline=None, derandomize=True)
def test_programs(program: list[tuple[str, list[str], int, int]], tmp_path_factory: object) -> None:
    assert isinstance(tmp_path_factory, pytest.TempPathFactory)
    script = [
        ("a", "CREATE TABLE plain (k INTEGER PRIMARY KEY, v INTEGER)"),
        ("a", "CREATE TEMP TABLE own (k INTEGER PRIMARY KEY, v INTEGER)"),
        ("a", "INSERT INTO own SELECT range, range % 5 FROM range(2, 9)"),
    ]
    for text, (t, u), x, y in program:
        sql = text.format(t=t.removeprefix("main."), u=u.removeprefix("main."), x=x, y=y)
        script.append(("a", sql))
        script.append(("a", "SELECT * FROM own"))
    _compared(tmp_path_factory.mktemp("w") / "warehouse", script)
