"""Records in a server: the audit log of two gateways, and catalogs of Hive stores in PostgreSQL."""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.erasure.seam import ErasureJournal
from journal.local_engine.database_file import IN_MEMORY, DuckDBStore
from journal.model.errors import PalimpsestError
from journal.records import catalog, erasure_rows, maintenance, retired
from journal.records.catalog_format import put_meta
from journal.records.schema import FORMAT
from journal.records.statements import columns_of, execute
from journal.stores.hive import shown_catalog
from journal.stores.hive.catalog_db.engine import CatalogDatabase
from journal.stores.hive.catalog_db.opening import open_catalog
from tests.support import formats
from tests.support.audit_log import append_at_once
from tests.support.postgres import Cluster

_FORBIDDEN = (
    (
        "CREATE FUNCTION public.stay() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE EXCEPTION 'entries stay as they are'; END $$"
    ),
    (
        "CREATE TRIGGER stay BEFORE UPDATE OR DELETE OR TRUNCATE ON _palimpsest.audit"
        " EXECUTE FUNCTION public.stay()"
    ),
)
_IN_HEAD = (
    "SELECT count(*) FILTER (WHERE subsequent_version_number IS NULL),"
    " count(*) FILTER (WHERE subsequent_version_number > version_number),"
    " count(*) FILTER (WHERE subsequent_version_number = version_number)"
    " FROM _palimpsest.t{}_head_1"
)


def test_the_audit_log_only_grows(
    url: str, admin: psycopg.Connection[Any], cluster: Cluster
) -> None:
    with (
        gateway.connect(url, autocommit=True) as con,
        gateway.connect(f"{url}?connect_timeout=14", autocommit=True) as other,
    ):
        for statement in _FORBIDDEN:
            admin.execute(statement)
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
        con.execute("ERASE FROM t WHERE a = 1")
        journals = [cast("ErasureJournal", c.session.journal) for c in (con, other)]
        assert journals[0] is not journals[1]
        append_at_once(journals)


@pytest.fixture(params=["sqlite", "postgres"])
def before(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a catalog beside a Hive store that the version before made."""
    script = formats.FOLDER.joinpath("hive_catalog.sql").read_text()
    if request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "catalog.db")) as made:
            made.executescript(script)
        return f"sqlite:///{tmp_path}/catalog.db"
    cluster: Cluster = request.getfixturevalue("cluster")
    place = cluster.conninfo(request.getfixturevalue("database"))
    with psycopg.connect(place, autocommit=True) as admin:
        admin.execute(script)
    return re.sub("^postgresql", "postgresql+psycopg", place)


@pytest.fixture
def local(tmp_path: Path) -> DuckDBStore:
    found = DuckDBStore(IN_MEMORY, {"temp_directory": str(tmp_path / "spilled")})
    shown_catalog.make(found)
    return found


def test_a_hive_catalog_that_the_version_before_made_is_read(
    before: str, local: DuckDBStore
) -> None:
    database = CatalogDatabase(before)
    for _ in range(2):
        with database.writing() as connection:
            assert open_catalog(connection, "another", local).startswith("221c923b")
    with database.reading() as connection:
        row = catalog.state_row(execute(connection, catalog.STATE_NOW), "the catalog")
        assert (row.generation, row.fence) == (14, 14)
        assert len(catalog.load_changes(connection)) == 3
        assert sorted(j.table_id for j in catalog.load_journals(connection, 0)) == [1, 2]
        assert catalog.last_version(connection) == row.version
        (crossing,) = catalog.commits_across(connection, row.version)
        assert crossing == (row.version, row.version)
        entries = erasure_rows.load_audit(connection)
        assert [e.seq for e in entries] == [1, 2, 3, 4, 5]
        assert all(e.previous == p.hash for p, e in itertools.pairwise(entries))
        assert [r.state for r in erasure_rows.load_erasures(connection)] == [
            "COMPLETED",
            "ON_HOLD",
        ]
        assert len(erasure_rows.load_fences(connection)) == 4
        told = [dict(zip(maintenance.HOLD, h, strict=True)) for h in maintenance.holds(connection)]
        assert [h["reason"] for h in told] == ["matter 1", "matter 2"]
        assert [h["placed_at"].year for h in told] == [2026, 2026]
        assert told[1]["released_at"] is None
        runs = maintenance.last_runs(connection)
        assert sorted(run[:4] for run in runs) == [
            ("backup", 1, "SUCCEEDED", 1),
            ("compact", 1, "SUCCEEDED", 1),
            ("purge", 1, "NOTHING", 1),
        ]
        assert [b[0] for b in maintenance.backups(connection)] == ["first"]
        assert len(retired.load_retired(connection, 1)) == 3
        assert {r.job_id for r in retired.load_retired(connection)} == {"5eb7b641d17e"}
        assert len(catalog.read_secret(connection)) == 64
    database.close()


def test_a_newer_hive_catalog_is_refused(before: str, local: DuckDBStore) -> None:
    database = CatalogDatabase(before)
    with database.writing() as connection:
        open_catalog(connection, "", local)
        put_meta(connection, "format", str(FORMAT + 1))
    said = f"format {FORMAT + 1}, of a newer version; this version reads format {FORMAT}"
    with pytest.raises(PalimpsestError, match=said), database.writing() as connection:
        open_catalog(connection, "", local)
    database.close()


def test_what_transactions_append_is_on_record(
    connect: Callable[..., Connection], admin: psycopg.Connection[Any]
) -> None:
    gateways = [connect(), connect(application="other")]
    for name in ("t", "u"):
        gateways[0].execute(f"CREATE TABLE {name} (k INTEGER PRIMARY KEY, n INTEGER)")
    for number in range(4):
        con = gateways[number % 2]
        con.execute("BEGIN")
        con.execute(f"INSERT INTO t VALUES ({number}, 0), ({number + 10}, 0)")
        con.execute(f"UPDATE t SET n = n + 1 WHERE k <= {number}")
        con.execute(f"DELETE FROM t WHERE k = {number + 10}")
        con.execute(f"INSERT INTO u VALUES ({number}, 0)")
        con.execute("COMMIT")
    for number, (name, kept) in enumerate({"t": 4, "u": 4}.items(), 1):
        counted = admin.execute(
            "SELECT open_rows, closing_rows, tombstones FROM _palimpsest.journals"
            f" WHERE table_id = {number}"
        ).fetchone()
        assert counted == admin.execute(_IN_HEAD.format(number)).fetchone()
        assert [con.execute(f"SELECT count(*) FROM {name}").fetchone() for con in gateways] == (
            [(kept,)] * 2
        )
    assert admin.execute(
        "SELECT statements, tables, rows_written FROM _palimpsest.transactions"
        " ORDER BY version DESC LIMIT 1"
    ).fetchone() == (4, ["public.t", "public.u"], 8)
    assert admin.execute(
        "SELECT s.version = t.version AND s.generation = ALL (SELECT changed"
        " FROM _palimpsest.journals WHERE table_id IN (1, 2)) FROM _palimpsest.state AS s,"
        " (SELECT max(version) AS version FROM _palimpsest.transactions) AS t"
    ).fetchone() == (True,)


def test_columns_are_those_of_the_tables_that_are_there(cluster: Cluster) -> None:
    database = cluster.database()
    with gateway.connect(cluster.url(database), autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'a')")
        con.execute("CALL system.flush('t')")
        journal = cast("ErasureJournal", con.session.journal)
        with journal.reading_session() as session:
            found = columns_of(session)
    with psycopg.connect(cluster.conninfo(database)) as admin:
        told = admin.execute(
            "SELECT table_name, array_agg(column_name::text) FROM information_schema.columns"
            " JOIN information_schema.tables USING (table_schema, table_name)"
            " WHERE table_schema = '_palimpsest' AND table_type = 'BASE TABLE' GROUP BY 1"
        ).fetchall()
    assert found == {table: set(columns) for table, columns in told}
    assert any({"k", "v"} <= columns for columns in found.values())
