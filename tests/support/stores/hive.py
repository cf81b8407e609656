"""A Hive store under test: journals behind the session's Thrift Server, a catalog in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive import backup_segments
from journal.stores.hive.catalog_db import catalog as records
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning
from spark_compaction.erasure.purge_sql import PurgeInSql
from spark_compaction.programs import retention_sql
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.programs.retention_sql import RetentionInSql
from tests.support.connections import opening
from tests.support.meanwhile import once_after
from tests.support.relay import Relay
from tests.support.stores.store import Act, Capability, Row, StoreKind
from tests.support.thrift_server import ThriftServer


@dataclass
class HiveStore:
    """A store of one test on the common server; others read it only if ``views`` are kept."""

    url: str
    folder: Path
    server: ThriftServer
    open_connection: Callable[..., Connection]
    capabilities: frozenset[Capability]
    home: str = "main"

    def connect(self, **options: Any) -> Connection:
        return self.open_connection(**options)

    def drop_retired(self, con: Connection) -> None:
        journal = _journal(con)
        with journal.store.connection() as connection:
            cleaning.reap(journal, connection, None, list)

    def pieces(self, con: Connection) -> set[str]:
        names = _journal(con).names
        with _journal(con).store.connection() as connection:
            tables = connection.tables_of(names.journal_database, f"{names.journals}*")
            return {
                f"{t}/{s}"
                for t in tables
                for s in connection.partitions_of(names.journal_database, t)
            }

    def listed(self, con: Connection) -> set[str]:
        states = _journal(con).state.tables.values()
        return {path for t in states for path in backup_segments.live_paths(t.manifest)}

    def connect_watchful(self) -> Connection:
        """Hold leases for another time than the rest, so that the store is opened anew."""
        url = self.url.replace("presence=3600", "presence=0")
        return gateway.connect(f"{url}&lease=14", autocommit=True)

    def connect_through(self, relay: Relay, **options: str) -> Connection:
        query = "".join(f"&{name}={value}" for name, value in options.items())
        url = self.url.replace(f":{self.port}/", f":{relay.port}/")
        return gateway.connect(url + query, autocommit=True)

    @property
    def port(self) -> int:
        return self.server.port

    def make_plain(self, name: str, values: str) -> None:
        with self.open_connection() as con:
            journal = _journal(con)
            home = journal.names.schema(self.home)
            with journal.store.connection() as connection:
                connection.execute(f"CREATE DATABASE IF NOT EXISTS {home}")
                connection.execute(f"CREATE TABLE {home}.{name} (k INT, v STRING) USING PARQUET")
                connection.execute(f"INSERT INTO {home}.{name} {values}")

    def add_row(self, con: Connection, piece: str) -> None:
        journal = _journal(con)
        name, _, partition = piece.partition("/")
        into = f"{journal.names.journal_database}.{name}"
        into += f" PARTITION (palimpsest_segment = '{partition}')"
        with journal.store.connection() as connection:
            connection.execute(
                f"INSERT INTO {into} VALUES (9, 'x', TIMESTAMP '2020-01-01 00:00:00', NULL)"
            )

    def lose(self, con: Connection, piece: str) -> None:
        journal = _journal(con)
        with journal.store.connection() as connection:
            journal.drop_segment(connection, piece)

    def holders(self, text: str) -> list[str]:
        with self.open_connection() as con:
            names = _journal(con).names
            with _journal(con).store.connection() as connection:
                known = [name for (name, *_) in connection.run("SHOW DATABASES")]
                told = [
                    str(value)
                    for name in (names.journal_database, names.schema("main"))
                    if name in known
                    for row in connection.run(f"DESCRIBE DATABASE {name}")
                    for value in row
                ]
        folders = [Path(t.removeprefix("file:")) for t in told if t.startswith("file:")]
        places = [*self.folder.glob("*catalog.db*")]
        places += [p for folder in folders for p in folder.rglob("*") if p.is_file()]
        return [str(place) for place in places if _says(place, text.lower())]

    def during(self, patch: pytest.MonkeyPatch, kind: str, act: Act) -> None:
        jobs = {"purge": PurgeInSql, "compact": CompactionInSql, "retain": RetentionInSql}
        once_after(patch, jobs[kind], "stage", act)

    @contextmanager
    def killed_release(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        with patch.context() as inner:
            inner.setattr(records, "put_state", _die)
            yield

    def forget_readers(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(retention_sql, "READ_US", 0)

    def sweep(self, con: Connection) -> None:
        journal = _journal(con)
        with journal.store.connection() as connection:
            cleaning.remove_forsaken(journal, connection, 0)

    def read_outside(self, sql: str) -> list[Row]:
        with self.open_connection() as con:
            con.execute("CALL system.flush()")
            journal = _journal(con)
            own = journal.names.schema(self.home)
            with journal.store.connection() as connection:
                found = connection.run(sql.replace("{", f"{own}.").replace("}", ""))
        return [tuple(row) for row in found]


def _says(place: Path, text: str) -> bool:
    """True if a file holds a text, in its bytes or in a value of a Parquet file."""
    data = place.read_bytes()
    if data[:4] == b"PAR1":
        rows = duckdb.execute("SELECT * FROM read_parquet(?)", [str(place)]).fetchall()
        return text in str(rows).lower()
    return text.encode() in data.lower()


def _journal(con: Connection) -> HiveJournal:
    assert isinstance(con.session.journal, HiveJournal)
    return con.session.journal


def _die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def _opened_on(
    name: str, request: pytest.FixtureRequest, folder: Path, options: Mapping[str, str]
) -> Iterator[HiveStore]:
    """Open a store on the server that a fixture of this name gives."""
    server: ThriftServer = request.getfixturevalue(name)
    folder.mkdir(exist_ok=True)
    url = server.new_store(folder, **options)
    with opening(url, autocommit=True) as connect:
        yield HiveStore(url, folder, server, connect, _CAPABILITIES)


_CAPABILITIES = frozenset(Capability) - {
    Capability.FOREIGN_KEYS,
    Capability.SKIP_LOCKED,
    Capability.TURNS_OF_WRITERS,
}
KIND = StoreKind("hive", _CAPABILITIES, partial(_opened_on, "server"))
APACHE = StoreKind("apache", _CAPABILITIES, partial(_opened_on, "apache"))
"""The same on Apache Hive's own server; only where that was asked for."""
