"""Catalogs of the version before: brought to this format with what they say, or refused clearly."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.records.catalog_format import put_meta
from journal.records.schema import FORMAT
from journal.stores.hive.catalog_db.engine import CatalogDatabase
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.store import HiveConnection
from tests.support import formats
from tests.support.audit_log import append_at_once
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.stores
_DROP = "DROP DATABASE IF EXISTS formats_default_palimpsest CASCADE"
_FORBIDDEN = (
    "CREATE TRIGGER no_{0} BEFORE {0} ON palimpsest_audit"
    " BEGIN SELECT RAISE(ABORT, 'entries stay as they are'); END"
)


@pytest.fixture
def before(server: ThriftServer, connection: HiveConnection, tmp_path: Path) -> Iterator[str]:
    """The URL of a store that the version before made."""
    place = tmp_path / "catalog.db"
    with sqlite3.connect(place) as made:
        made.executescript(formats.FOLDER.joinpath("hive_catalog.sql").read_text())
    made.close()
    connection.execute(_DROP)
    for statement in formats.FOLDER.joinpath("hive_server.sql").read_text().split(";\n"):
        if statement.strip():
            connection.execute(statement)
    yield server.url("formats_", place, views="off", presence="3600")
    connection.execute(_DROP)


def _catalog(url: str) -> str:
    return url.partition("catalog=")[2].partition("&")[0]


def _journal(con: Connection) -> HiveJournal:
    journal = con.session.journal
    assert isinstance(journal, HiveJournal)
    return journal


def test_a_store_that_the_version_before_made_is_read(before: str) -> None:
    with gateway.connect(before, autocommit=True) as con:
        formats.check(con)
        formats.go_on(con)
    with gateway.connect(before, autocommit=True) as con:
        assert con.execute("SELECT name FROM people").fetchall() == [("Ada L.",)]
    tables = CatalogDatabase(_catalog(before)).text("SELECT name FROM sqlite_master")
    assert ("palimpsest_records",) not in tables


def test_a_newer_catalog_is_refused(url: str) -> None:
    gateway.connect(url).close()
    with CatalogDatabase(_catalog(url)).writing() as connection:
        put_meta(connection, "format", str(FORMAT + 1))
    said = f"format {FORMAT + 1}, of a newer version; this version reads format {FORMAT}"
    with pytest.raises(gateway.Error, match=said) as raised:
        gateway.connect(url)
    assert raised.value.code == "PAL-502"
    assert "upgrade palimpsest" in str(raised.value)


def test_a_gateway_that_still_runs_is_refused_after_an_upgrade(con: Connection, url: str) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    with CatalogDatabase(_catalog(url)).writing() as connection:
        put_meta(connection, "format", str(FORMAT + 1))
    for sql in ("SELECT * FROM t", "INSERT INTO t VALUES (1)", "DROP TABLE t"):
        with pytest.raises(gateway.Error, match="upgrade palimpsest") as raised:
            con.execute(sql)
        assert raised.value.code == "PAL-502"


def test_the_audit_log_only_grows(url: str) -> None:
    with (
        gateway.connect(url, autocommit=True) as con,
        gateway.connect(f"{url}&lease=14", autocommit=True) as other,
    ):
        with _journal(con).catalog.writing() as connection:
            for event in ("UPDATE", "DELETE"):
                connection.text(_FORBIDDEN.format(event))
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
        con.execute("ERASE FROM t WHERE a = 1")
        con.execute("CALL system.purge('t')")
        assert _journal(con) is not _journal(other)
        append_at_once([_journal(con), _journal(other)])
