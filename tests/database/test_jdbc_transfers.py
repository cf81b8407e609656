"""Import from and export to a real database by Spark's JDBC (F64)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error
from gateway.jobs.engines import ENGINES, JDBC_JAR
from gateway.shell.jdbc_databases import JdbcLogin
from gateway.shell.jdbc_transfers import (
    JdbcSource,
    JdbcTarget,
    Transferred,
    export_jdbc,
    import_jdbc,
)
from tests.support.postgres import Cluster
from tests.support.spark import why_no_spark

pytestmark = [pytest.mark.stores, pytest.mark.timeout(300)]
JAR = "/usr/share/java/postgresql.jar"
SECRET = "qz7-unmistakable"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not Path(JAR).is_file() or why_no_spark() is not None:
        pytest.skip("no JDBC driver, or no Spark")
    monkeypatch.setenv(JDBC_JAR, JAR)
    yield
    ENGINES.close()


@pytest.fixture
def shop(
    cluster: Cluster, database: str, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> str:
    """The JDBC URL of a database with orders, and its reader and writer in the environment."""
    admin.execute(
        "CREATE TABLE orders (id integer PRIMARY KEY, who text, amount numeric(10,2),"
        " at timestamptz, day date, note text)"
    )
    _add(admin, 1, 100)
    for use, name in (("READ", "reader"), ("WRITE", "writer")):
        role = f"{name}_{database}"
        admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{SECRET}'")
        monkeypatch.setenv(f"PALIMPSEST_JDBC_{use}_USER", role)
        monkeypatch.setenv(f"PALIMPSEST_JDBC_{use}_PASSWORD", SECRET)
    admin.execute(f"GRANT SELECT ON orders TO reader_{database}")
    admin.execute(f"GRANT ALL ON SCHEMA public TO writer_{database}")
    place = psycopg.conninfo.conninfo_to_dict(cluster.conninfo(database))
    return f"jdbc:postgresql://127.0.0.1:{place['port']}/{database}"


def _add(admin: psycopg.Connection[Any], first: int, last: int) -> None:
    admin.execute(
        "INSERT INTO orders SELECT i, 'p' || i, i / 3.0,"
        " '2024-01-01 00:00:00.123456+00'::timestamptz + i * interval '1 hour',"
        " date '2024-01-01' + i, NULL FROM generate_series(%s::int, %s::int) i",
        [first, last],
    )


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(
        f"palimpsest:///{tmp_path}/w", autocommit=True, application="palimpsest import"
    ) as found:
        yield found


def _import(con: Connection, url: str, **given: Any) -> Transferred:
    options = {k: given.pop(k) for k in ("load", "create", "key") if k in given}
    source = JdbcSource(url, JdbcLogin("READ"), table="orders", **given)
    return import_jdbc(con, source, "orders", **options)


def test_f64_a_table_is_imported_whole_then_what_is_new(
    con: Connection, shop: str, admin: psycopg.Connection[Any], driver: None
) -> None:
    done = _import(con, shop, create=True, key=["id"], incremental="id")
    assert (done.rows, done.last) == (100, "100")
    found = con.execute("SELECT id, who, amount, day FROM orders ORDER BY id").fetchall()
    assert found == admin.execute("SELECT id, who, amount, day FROM orders ORDER BY id").fetchall()
    assert _import(con, shop, incremental="id").rows == 0
    _add(admin, 101, 130)
    done = _import(con, shop, incremental="id")
    assert (done.rows, done.last) == (30, "130")
    assert con.execute("SELECT count(*) FROM orders").fetchone() == (130,)


def test_f64_a_merge_replaces_rows_of_the_same_key(
    con: Connection, shop: str, admin: psycopg.Connection[Any], driver: None
) -> None:
    columns = ("id", "who", "at")
    _import(con, shop, create=True, key=["id"], incremental="at", columns=columns)
    assert [c[0] for c in con.execute("SELECT * FROM orders").description] == list(columns)
    admin.execute("UPDATE orders SET who = 'new', at = at + interval '1 year' WHERE id <= 5")
    done = _import(con, shop, load="merge", incremental="at", columns=columns)
    assert done.rows == 6  # The five, and the one that was the last before.
    assert con.execute("SELECT count(*) FROM orders WHERE who = 'new'").fetchone() == (5,)
    assert con.execute("SELECT count(*) FROM orders").fetchone() == (100,)


def test_f64_a_query_is_imported(con: Connection, shop: str, driver: None) -> None:
    query = "SELECT day, sum(amount) AS total FROM orders GROUP BY day"
    source = JdbcSource(shop, JdbcLogin("READ"), query=query)
    assert import_jdbc(con, source, "days", create=True, key=["day"]).rows == 100


def test_f64_a_table_is_exported_whole_and_merged(
    con: Connection, shop: str, admin: psycopg.Connection[Any], driver: None
) -> None:
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, who VARCHAR, at TIMESTAMP)")
    con.execute("INSERT INTO t SELECT i, 'w' || i, TIMESTAMP '2024-01-01' FROM range(50) r(i)")
    whole = JdbcTarget(shop, JdbcLogin("WRITE"), "copied")
    assert export_jdbc(con, "t", whole).rows == 50
    con.execute("UPDATE t SET who = 'x' WHERE id < 10")
    con.execute("DELETE FROM t WHERE id = 20")
    assert export_jdbc(con, "t", whole).rows == 49
    assert admin.execute("SELECT count(*), max(who) FROM copied").fetchone() == (49, "x")
    con.execute("INSERT INTO t VALUES (60, 'late', NULL), (61, 'later', NULL)")
    con.execute("UPDATE t SET who = 'y' WHERE id = 49")
    newer = JdbcTarget(shop, JdbcLogin("WRITE"), "copied", "merge", ("id",), "id")
    assert export_jdbc(con, "t", newer).rows == 3
    assert admin.execute("SELECT count(*) FROM copied").fetchone() == (51,)
    assert admin.execute("SELECT who FROM copied WHERE id = 49").fetchone() == ("y",)
    left = admin.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE '%staged%'")
    assert left.fetchone() == (0,)


def test_f64_a_login_that_only_reads_cannot_write(
    con: Connection, shop: str, admin: psycopg.Connection[Any], driver: None
) -> None:
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(Error) as caught:
        export_jdbc(con, "t", JdbcTarget(shop, JdbcLogin("READ"), "orders"))
    assert SECRET not in str(caught.value)
    assert admin.execute("SELECT count(*) FROM orders").fetchone() == (100,)


def test_no_record_has_a_password(con: Connection, shop: str, driver: None, tmp_path: Path) -> None:
    _import(con, shop, create=True, key=["id"], incremental="id")
    message = con.execute("SELECT max(message) FROM system.transactions").fetchone()[0]
    assert json.loads(message)["last"] == "100"
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert not any(SECRET.encode() in p.read_bytes() for p in files)


@pytest.mark.parametrize(
    "url",
    ["jdbc:postgresql://u:pw@h/d", "jdbc:postgresql://h/d?user=u&password=pw", "jdbc:nothing"],
)
def test_a_url_with_a_password_is_refused(con: Connection, url: str) -> None:
    with pytest.raises(Error) as caught:
        import_jdbc(con, JdbcSource(url, JdbcLogin("READ"), table="t"), "t", create=True)
    assert caught.value.code == "PAL-222"
