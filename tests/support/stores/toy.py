"""The toy store under test: journals in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gateway.dbapi.connection import Connection
from gateway.opening.schemes import SCHEMES
from spark_compaction.programs import retention_sql
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.programs.retention_sql import RetentionInSql
from tests.contract.toy_store import SCHEME, layout
from tests.contract.toy_store.journal import SqliteJournal
from tests.contract.toy_store.maintenance import drop_retired
from tests.support.connections import opening
from tests.support.meanwhile import once_after
from tests.support.relay import Relay
from tests.support.stores.store import Act, Capability, Row, StoreKind

SCHEMES["palimpsest+sqlite"] = SCHEME
_FOREVER = 1 << 62


@dataclass
class ToyStore:
    """A file of one test."""

    path: Path
    open_connection: Callable[..., Connection]
    capabilities: frozenset[Capability]
    home: str = "main"

    @property
    def url(self) -> str:
        return f"palimpsest+sqlite://{self.path}"

    def connect(self, **options: Any) -> Connection:
        return self.open_connection(**options)

    def connect_watchful(self) -> Connection:
        return self.connect()

    def drop_retired(self, con: Connection) -> None:
        for table_id in _journal(con).state.tables:
            drop_retired(_journal(con), table_id, _FOREVER)

    def pieces(self, con: Connection) -> set[str]:
        pattern = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 't[0-9]*_*'"
        return {name for (name,) in self._run(pattern)}

    def listed(self, con: Connection) -> set[str]:
        found: set[str] = set()
        for table_id, state in _journal(con).state.tables.items():
            found |= {s.id for s in state.manifest.segments}
            found |= {layout.head_name(table_id, h) for h in state.manifest.heads}
        return found

    def connect_through(self, relay: Relay, **options: str) -> Connection:
        raise AssertionError("a file has no server")

    @property
    def port(self) -> int:
        raise AssertionError("a file has no server")

    def make_plain(self, name: str, values: str) -> None:
        raise AssertionError("the toy store adopts nothing")

    def add_row(self, con: Connection, piece: str) -> None:
        self._run(
            f'INSERT INTO "{piece}" (k, v, version_number)'
            f" SELECT 9, 'x', version_number FROM \"{piece}\" LIMIT 1"
        )

    def lose(self, con: Connection, piece: str) -> None:
        self._run(f'DROP TABLE "{piece}"')

    def holders(self, text: str) -> list[str]:
        raise AssertionError("the toy store erases nothing")

    def during(self, patch: pytest.MonkeyPatch, kind: str, act: Act) -> None:
        once_after(patch, CompactionInSql if kind == "compact" else RetentionInSql, "stage", act)

    def killed_release(self, patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
        raise AssertionError("the toy store holds nothing")

    def forget_readers(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(retention_sql, "READ_US", 0)

    def sweep(self, con: Connection) -> None:
        """The next run of a job removes what a killed one has left."""

    def read_outside(self, sql: str) -> list[Row]:
        raise AssertionError(f"nobody else reads the file: {sql}")

    def _run(self, sql: str) -> list[Row]:
        with closing(sqlite3.connect(self.path)) as admin, admin:
            return admin.execute(sql).fetchall()


def _journal(con: Connection) -> SqliteJournal:
    assert isinstance(con.session.journal, SqliteJournal)
    return con.session.journal


@contextmanager
def _opened(
    _request: pytest.FixtureRequest, folder: Path, options: Mapping[str, str]
) -> Iterator[ToyStore]:
    assert not options
    path = folder / "toy.sqlite"
    with opening(f"palimpsest+sqlite://{path}", autocommit=True) as connect:
        yield ToyStore(path, connect, KIND.capabilities)


KIND = StoreKind(
    "toy",
    frozenset(
        {
            Capability.MINOR_COMPACTION,
            Capability.REMOTE_READERS,
            Capability.WRITES_DURING_RETENTION,
        }
    ),
    _opened,
)
