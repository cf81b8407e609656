"""Temporary tables: whose they are, what they hide, and what is left of them."""

from __future__ import annotations

import gc
import signal
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy

import gateway
from journal.model.errors import PalimpsestError
from journal.model.schema import CatalogSnapshot
from rewriter.context import RewriteContext
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.synthetic_catalog import plain_scan_info
from rewriter.rewriter import rewrite_statement
from rewriter.syntax.parsing import parse
from tests.support.client import Client
from tests.support.warm_python import warm_python


@pytest.fixture
def run(connect: Callable[..., Client]) -> Client:
    """A client whose warehouse has a table."""
    client = connect()
    client("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    client("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return client


def test_others_find_no_trace(run: Client, connect: Callable[..., Client]) -> None:
    other = connect()
    before = other("SELECT max(version) FROM system.transactions")
    run("CREATE TEMP TABLE mine (k INTEGER PRIMARY KEY, v VARCHAR)")
    run("INSERT INTO mine VALUES (1, 'x')")
    run("CREATE TEMP VIEW look AS SELECT * FROM mine")
    assert run("SELECT * FROM look") == [(1, "x")]
    for query in (
        "SELECT table_name FROM information_schema.tables WHERE table_schema <> 'system'",
        "SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema <> 'system'",
        "SELECT name FROM system.tables",
        'SELECT "table" FROM system.journals',
        "SHOW TABLES",
    ):
        assert other(query) == [("t",)], query
    assert [row[2] for row in other("SHOW ALL TABLES")] == ["t"]
    assert other("SELECT max(version) FROM system.transactions") == before
    assert other.error("SELECT * FROM mine")[1] == "42P01"
    assert other.error("SELECT * FROM temp.mine")[1] == "42P01"
    assert other.error("DROP TABLE mine")[1] == "42P01"


def test_it_goes_with_its_connection(run: Client, connect: Callable[..., Client]) -> None:
    client = connect()
    client("CREATE TEMP TABLE big AS SELECT range AS i FROM range(60000)")
    assert list(run.root.glob("temp/*/*/*.parquet"))
    client.close()
    assert not list(run.root.glob("temp/*/*/*.parquet"))
    assert connect().error("SELECT * FROM big")[1] == "42P01"


@pytest.mark.long
def test_dropped_rows_leave_no_file(run: Client) -> None:
    run("CREATE TEMP TABLE big AS SELECT range AS i FROM range(60000)")
    run("UPDATE big SET i = i + 1")
    assert run("SELECT sum(i) FROM big") == [(1800030000,)]
    run("DROP TABLE big")
    gc.collect()
    run("SELECT 1")
    assert not list(run.root.glob("temp/*/*/*.parquet"))


def test_a_query_is_read_to_its_end(tmp_path: Path) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path / 'w'}", autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE big AS SELECT range AS i FROM range(200000)")
        cursor = connection.execute("SELECT i FROM big")
        first = cursor.fetchmany(10)
        connection.execute("DROP TABLE big")
        connection.execute("CREATE TEMP TABLE big AS SELECT 1 AS other")
        assert len(first) + len(cursor.fetchall()) == 200000


def test_what_a_crash_leaves_is_removed(tmp_path: Path) -> None:
    script = """
        import gateway, os, signal, sys
        connection = gateway.connect("palimpsest:///" + sys.argv[1], autocommit=True)
        connection.execute("CREATE TABLE t (k INTEGER)")
        connection.execute("CREATE TEMP TABLE big AS SELECT range AS i FROM range(60000)")
        connection.execute("INSERT INTO t SELECT count(*) FROM big")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    root = tmp_path / "w"
    done = subprocess.run([warm_python(), "-c", textwrap.dedent(script), str(root)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(root.glob("temp/*/*/*.parquet"))
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as connection:
        assert connection.execute("SELECT * FROM t").fetchall() == [(60000,)]
        assert connection.execute("SHOW TABLES").fetchall() == [("t",)]
    assert not list(root.glob("temp/*/*/*.parquet"))


def test_a_statement_that_ran_before_means_the_table_in_front(
    run: Client, connect: Callable[..., Client]
) -> None:
    other = connect()
    put, look = "INSERT INTO t VALUES (?, ?)", "SELECT v FROM t WHERE k = ?"
    change = "UPDATE t SET v = ? WHERE k = ?"
    for client, key in ((run, 10), (other, 20), (run, 11), (other, 21)):
        client(put, key, "shared")
        client(change, "shared too", key)
        assert client(look, key) == [("shared too",)]
    run("CREATE TEMP TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    for key in (10, 11, 12):
        run(put, key, "mine")
        run(change, "mine too", key)
        assert run(look, key) == [("mine too",)]
        other(put, key + 100, "theirs")
        other(change, "theirs too", key + 100)
        assert other(look, key) == ([("shared too",)] if key < 12 else [])
    assert run("SELECT count(*) FROM t") == [(3,)]
    assert run("SELECT count(*) FROM main.t") == [(9,)]
    run("DROP TABLE t")
    assert run(look, 10) == [("shared too",)]
    assert run(look, 112) == [("theirs too",)]


def test_the_past_is_read_beside_it(run: Client) -> None:
    run("CREATE TEMP TABLE wanted AS SELECT 1 AS k")
    (version,) = run("SELECT max(version) FROM system.transactions")[0]
    run("UPDATE t SET v = 'new' WHERE k = 1")
    joined = f"FROM t FOR SYSTEM_VERSION AS OF {version} JOIN wanted USING (k)"
    assert run(f"SELECT v {joined}") == [("a",)]
    run(f"SET as_of = '{version}'")
    assert run("SELECT v FROM t JOIN wanted USING (k)") == [("a",)]
    run("RESET as_of")
    for asked in (
        f"SELECT * FROM wanted FOR SYSTEM_VERSION AS OF {version}",
        "SELECT * FROM wanted FOR SYSTEM_TIME ALL",
        "SELECT * FROM table_history('wanted')",
        f"RESTORE TABLE wanted TO VERSION AS OF {version}",
    ):
        assert run.error(asked) == ("PAL-209", "42809"), asked


def test_on_commit_drops_empties_or_keeps_a_temporary_table(run: Client) -> None:
    for text, rows in (("DROP", None), ("DELETE ROWS", []), ("PRESERVE ROWS", [(1,)])):
        run("BEGIN")
        run(f"CREATE LOCAL TEMPORARY TABLE once (a INTEGER) ON COMMIT {text}")
        run("INSERT INTO once VALUES (1)")
        assert run("SELECT * FROM once") == [(1,)]
        run("COMMIT")
        if rows is None:
            assert run.error("SELECT * FROM once")[1] == "42P01"
            continue
        assert run("SELECT * FROM once") == rows
        run("DROP TABLE once")
    run("BEGIN")
    run("CREATE TEMP TABLE once ON COMMIT DROP AS SELECT * FROM t")
    assert run("SELECT count(*) FROM once") == [(2,)]
    run("COMMIT")
    assert run.error("SELECT * FROM once")[1] == "42P01"


def test_a_lost_update_takes_temporary_changes_with_it(
    run: Client, connect: Callable[..., Client]
) -> None:
    other = connect()
    run("CREATE TEMP TABLE log (note VARCHAR)")
    run("BEGIN")
    run("UPDATE t SET v = 'mine' WHERE k = 1")
    run("INSERT INTO log VALUES ('changed it')")
    run("CREATE TEMP TABLE more AS SELECT 1 AS a")
    other("UPDATE t SET v = 'theirs' WHERE k = 1")
    assert run.error("COMMIT")[1] == "40001"
    assert run("SELECT * FROM log") == []
    assert run.error("SELECT * FROM more")[1] == "42P01"


def test_savepoints(run: Client) -> None:
    run("CREATE TEMP TABLE log (a INTEGER)")
    run("BEGIN")
    run("INSERT INTO log VALUES (1)")
    run("SAVEPOINT s")
    run("INSERT INTO log VALUES (2)")
    run("CREATE TEMP TABLE inside (a INTEGER)")
    run("ROLLBACK TO s")
    run("INSERT INTO log VALUES (3)")
    assert run.error("SELECT * FROM inside")[1] == "42P01"
    run("ROLLBACK TO s")
    run("COMMIT")
    assert run("SELECT * FROM log") == [(1,)]


def test_what_it_cannot_be(run: Client) -> None:
    run("CREATE TEMP TABLE t AS SELECT 5 AS k")
    assert run.error("ERASE FROM t WHERE k = 1")[1] == "42809"
    assert run.error("CREATE VIEW main.stays AS SELECT * FROM t")[1] == "42P16"
    assert run.error("CREATE GLOBAL TEMPORARY TABLE g (a INTEGER)")[1] == "0A000"
    assert run.error("CREATE TEMP TABLE main.g (a INTEGER)")[1] == "42P16"
    assert run.error("CREATE SCHEMA temp")[1] == "42939"
    assert run.error("CREATE TABLE temp.g (a INTEGER)")[1] == "42939"
    assert run("SELECT * FROM t") == [(5,)]
    assert run("SELECT count(*) FROM main.t") == [(2,)]


@pytest.mark.long
def test_many_small_statements(run: Client) -> None:
    run("CREATE TEMP TABLE s (k INTEGER PRIMARY KEY, n INTEGER)")
    for key in range(60):
        run("INSERT INTO s VALUES (?, 0)", key)
    for _ in range(50):
        run("UPDATE s SET n = n + 1")
    assert run("SELECT count(*), sum(n) FROM s") == [(60, 3000)]
    run("DELETE FROM s WHERE k >= 10")
    run("ALTER TABLE s ADD COLUMN z INTEGER DEFAULT 4")
    for key in range(100, 120):
        run("INSERT INTO s VALUES (?, 1, 1)", key)
    assert run("SELECT count(*), sum(n), sum(z) FROM s") == [(30, 520, 60)]


def test_stores_without_refuse_it() -> None:
    context = RewriteContext(CatalogSnapshot.empty("public"), plain_scan_info, dialect="postgres")
    for text in ("CREATE TEMP TABLE x (a INTEGER)", "CREATE TEMP VIEW x AS SELECT 1"):
        (parsed,) = parse(text, "postgres", DEFAULT_LIMITS)
        with pytest.raises(PalimpsestError, match="not supported by this store"):
            rewrite_statement(parsed.statement, context)


def test_temporary_views_of_spark_are_read(connect: Callable[..., Client]) -> None:
    client = connect(dialect="spark")
    client("CREATE TABLE t (k INT)")
    client("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT k + 1 AS k FROM t")
    client("INSERT INTO t VALUES (1)")
    assert client("SELECT * FROM v") == [(2,)]
    assert client("SHOW TABLES") == [("main", "t", False), ("temp", "v", True)]
    assert client.error("CREATE GLOBAL TEMPORARY VIEW g AS SELECT 1")[1] == "0A000"


def test_drop_temporary_table_of_mysql_drops_the_temporary_one(
    connect: Callable[..., Client],
) -> None:
    client = connect(dialect="mysql")
    client("CREATE TABLE t (k INT PRIMARY KEY)")
    assert client.error("DROP TEMPORARY TABLE t")[1] == "42P01"
    client("CREATE TEMPORARY TABLE t (k INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    client("INSERT INTO t (v) VALUES (5), (6)")
    assert client("SELECT * FROM t") == [(1, 5), (2, 6)]
    client("DROP TEMPORARY TABLE t")
    assert client("SELECT * FROM t") == []


def test_sqlalchemy(tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine(f"palimpsest:///{tmp_path / 'w'}")
    meta = sqlalchemy.MetaData()
    lasting = sqlalchemy.Table("t", meta, sqlalchemy.Column("k", sqlalchemy.Integer))
    own = sqlalchemy.Table(
        "own",
        sqlalchemy.MetaData(),
        sqlalchemy.Column("k", sqlalchemy.Integer, primary_key=True),
        prefixes=["TEMPORARY"],
    )
    with engine.begin() as connection:
        meta.create_all(connection)
        own.create(connection)
        connection.execute(own.insert(), [{"k": 1}, {"k": 2}])
        connection.execute(lasting.insert().from_select(["k"], sqlalchemy.select(own.c.k)))
        inspector = sqlalchemy.inspect(connection)
        assert inspector.get_temp_table_names() == ["own"]
        assert inspector.get_table_names() == ["t"]
        assert inspector.has_table("own")
        assert inspector.get_pk_constraint("own")["constrained_columns"] == ["k"]
    with engine.connect() as connection:
        total = connection.execute(sqlalchemy.select(sqlalchemy.func.sum(lasting.c.k))).scalar()
        assert total == 3
    engine.dispose()


def test_they_refer_to_one_another_and_to_themselves(run: Client) -> None:
    assert run.error("CREATE TEMP TABLE child (k INTEGER REFERENCES t (k))")[1] == "42P16"
    run("CREATE TEMP TABLE tree (k INTEGER PRIMARY KEY, up INTEGER REFERENCES tree (k))")
    run("CREATE TABLE tree (k INTEGER PRIMARY KEY, up INTEGER REFERENCES tree (k))")
    for table in ("tree", "main.tree"):
        run(f"INSERT INTO {table} VALUES (1, NULL), (2, 1)")
        assert run.error(f"INSERT INTO {table} VALUES (3, 9)")[1] == "23503"
        assert run.error(f"DELETE FROM {table} WHERE k = 1")[1] == "23503"
    assert run.error("CREATE TABLE leaf (k INTEGER REFERENCES tree (k))")[1] == "42P16"
    run("CREATE TEMP TABLE leaf (k INTEGER REFERENCES tree (k))")
    assert run.error("INSERT INTO leaf VALUES (7)")[1] == "23503"
    assert run.error("DROP TABLE tree")[1] == "2BP01"
