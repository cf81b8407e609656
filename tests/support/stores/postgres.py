"""A PostgreSQL database under test; its server is that of the session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.postgres import section
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.erasure.purge_sql import PurgeInSql
from spark_compaction.programs import retention_sql
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.programs.retention_sql import RetentionInSql
from tests.support.connections import opening
from tests.support.meanwhile import once_after
from tests.support.postgres import Cluster
from tests.support.relay import Relay
from tests.support.stores.store import Act, Capability, Row, StoreKind
from tests.support.traces import everything

_PIECES = (
    "SELECT relname FROM pg_class WHERE relnamespace = '_palimpsest'::regnamespace"
    " AND relkind = 'r' AND relname ~ '^t[0-9]+_'"
)


@dataclass
class PostgresStore:
    """A database of one test."""

    cluster: Cluster
    database: str
    open_connection: Callable[..., Connection]
    capabilities: frozenset[Capability]
    home: str = "public"

    @property
    def url(self) -> str:
        return self.cluster.url(self.database)

    def connect(self, **options: Any) -> Connection:
        return self.open_connection(**options)

    def drop_retired(self, con: Connection) -> None:
        for table_id in _journal(con).state.tables:
            segment_swap.reap(_journal(con), table_id, list)

    def pieces(self, con: Connection) -> set[str]:
        return {name for (name,) in self._run(_PIECES)}

    def listed(self, con: Connection) -> set[str]:
        found: set[str] = set()
        for table_id, state in _journal(con).state.tables.items():
            found |= {s.id for s in state.manifest.segments}
            found |= {f"t{table_id}_head_{h.generation}" for h in state.manifest.heads}
        return found

    def connect_watchful(self) -> Connection:
        return self.connect()

    def connect_through(self, relay: Relay, **options: str) -> Connection:
        url = self.url.replace(f":{self.port}/", f":{relay.port}/")
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return gateway.connect(f"{url}?{query}", autocommit=True)

    @property
    def port(self) -> int:
        return self.cluster.port

    def make_plain(self, name: str, values: str) -> None:
        self._change(f"CREATE TABLE {name} (k INTEGER, v TEXT)", f"INSERT INTO {name} {values}")

    def add_row(self, con: Connection, piece: str) -> None:
        self._change(
            "SET session_replication_role = replica",
            f"INSERT INTO _palimpsest.{piece} (k, v, version_number)"
            f" SELECT 9, 'x', version_number FROM _palimpsest.{piece} LIMIT 1",
        )

    def _change(self, *statements: str) -> None:
        with psycopg.connect(self.cluster.conninfo(self.database), autocommit=True) as admin:
            for sql in statements:
                admin.execute(sql)

    def lose(self, con: Connection, piece: str) -> None:
        self._change(f"DROP TABLE _palimpsest.{piece} CASCADE")

    def holders(self, text: str) -> list[str]:
        held = everything(self.cluster, self.database).lower()
        return [self.database] if text.lower() in held else []

    def during(self, patch: pytest.MonkeyPatch, kind: str, act: Act) -> None:
        jobs = {"purge": PurgeInSql, "compact": CompactionInSql, "retain": RetentionInSql}
        once_after(patch, jobs[kind], "stage", act)

    @contextmanager
    def killed_release(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        with patch.context() as inner:
            inner.setattr(section, "replace_states", _die)
            yield

    def forget_readers(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(retention_sql, "READ_US", 0)

    def sweep(self, con: Connection) -> None:
        """Runs that were killed leave tables only, which the next run takes for its own."""

    def read_outside(self, sql: str) -> list[Row]:
        return self._run(sql.replace("{", "").replace("}", ""))

    def _run(self, sql: str) -> list[Row]:
        with psycopg.connect(self.cluster.conninfo(self.database), autocommit=True) as admin:
            return admin.execute(sql).fetchall()


def _journal(con: Connection) -> DatabaseJournal:
    assert isinstance(con.session.journal, DatabaseJournal)
    return con.session.journal


def _die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def _opened(
    request: pytest.FixtureRequest, _folder: Path, _options: Mapping[str, str]
) -> Iterator[PostgresStore]:
    cluster: Cluster = request.getfixturevalue("cluster")
    database = cluster.database()
    with opening(cluster.url(database), autocommit=True) as connect:
        yield PostgresStore(cluster, database, connect, KIND.capabilities)


KIND = StoreKind(
    "postgres",
    frozenset(Capability),
    _opened,
)
