"""The small database that a session's catalog is read from, filled with what has changed.

Its relations, views and macros are made once; a relation is made anew when its rows are others.
A database that a client leaves behind serves the next one, which finds most of it as it must be.
Nothing here knows what the rows mean.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from gateway.servers.pg_catalog.access import EXTRA
from gateway.servers.pg_catalog.functions import macro_statements
from gateway.servers.pg_catalog.relations import (
    derived_relations,
    derived_statements,
    relation_columns,
    view_statements,
)
from gateway.servers.pg_catalog.triggers import TRIGGER_TEXTS
from journal.local_engine.memory_database import MemoryDatabase
from journal.model.result_column import ResultColumn

Rows = Sequence[Mapping[str, Any]]
_EXTRA = {
    "shown_types": {"oid": "UINTEGER", "shown": "VARCHAR"},
    "serial_columns": {
        **dict.fromkeys(("nspname", "relname", "attname", "sequence"), "VARCHAR"),
        "seqrelid": "UINTEGER",
    },
    "index_definitions": {"oid": "UINTEGER", "place": "INTEGER", "definition": "VARCHAR"},
    "constraint_definitions": {"oid": "UINTEGER", "definition": "VARCHAR"},
    "function_texts": {
        "oid": "UINTEGER",
        "arguments": "VARCHAR",
        "identity": "VARCHAR",
        "result": "VARCHAR",
        "definition": "VARCHAR",
    },
    "trigger_texts": TRIGGER_TEXTS,
    "view_definitions": {"oid": "UINTEGER", "definition": "VARCHAR"},
    "system_columns": {
        "relname": "VARCHAR",
        "attname": "VARCHAR",
        "attnum": "SMALLINT",
        "atttypid": "UINTEGER",
    },
}
_IDLE_MAX = 4


class PgCatalogDatabase:
    """Relations of ``pg_catalog`` in schema ``pgc``; used by one thread at a time."""

    def __init__(self) -> None:
        self._engine = MemoryDatabase()
        self._held: dict[str, bytes] = {}
        self._is_made = False
        self._variables: dict[str, Any] = {}

    def fill(self, rows: Mapping[str, Rows], variables: Mapping[str, Any]) -> None:
        """Make the relations hold these rows, and views and macros read these variables.

        After an exception the database answers nothing: close it.
        """
        engine = self._engine
        engine.run("BEGIN")
        for name, value in variables.items():
            if name not in self._variables or self._variables[name] != value:
                engine.run(f"SET VARIABLE pgc_{name} = $1", [value])
        if not self._is_made:
            self._make()
        changed = {n for n in _columns() if _digest(rows.get(n, ())) != self._held.get(n)}
        if changed:
            for name in changed | derived_relations():
                self.replace(name, rows.get(name, ()))
            for statement in derived_statements():
                engine.run(statement)
        engine.run("COMMIT")
        self._variables = dict(variables)

    def replace(self, name: str, rows: Rows) -> None:
        """Give a relation other rows."""
        # Rows that are deleted would stay in memory.
        columns = _columns()[name]
        listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        self._engine.run(f"CREATE OR REPLACE TABLE pgc.{name} ({listed})")
        if rows:
            used = [column for column in columns if any(column in row for row in rows)]
            found = {column: pa.array([row.get(column) for row in rows]) for column in used}
            self._engine.insert(f"pgc.{name}", pa.table(found))
        self._held[name] = _digest(rows)

    def query(self, sql: str, values: Sequence[Any]) -> tuple[list[ResultColumn], pa.Table]:
        """The columns and the rows of a query; raises NOT_SUPPORTED for one that it cannot run."""
        return self._engine.query(sql, values)

    def close(self) -> None:
        """Forget everything."""
        self._engine.close()

    def _make(self) -> None:
        self._engine.run("CREATE SCHEMA pgc")
        for name in _columns():
            self.replace(name, ())
        for statement in (*view_statements(), *macro_statements()):
            self._engine.run(statement)
        self._is_made = True


class IdleDatabases:
    """Databases that no session uses, for those that come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[PgCatalogDatabase] = []

    def take(self) -> PgCatalogDatabase:
        """One of them, or a new one: what it holds is unknown until it is filled."""
        with self._lock:
            return self._idle.pop() if self._idle else PgCatalogDatabase()

    def leave(self, database: PgCatalogDatabase) -> None:
        """Keep one that answers, or close it where there are enough."""
        with self._lock:
            if len(self._idle) < _IDLE_MAX:
                self._idle.append(database)
                return
        database.close()


def _digest(rows: Rows) -> bytes:
    """Tells rows from others; the rows themselves would take more memory than the relations."""
    return blake2b(repr([*rows]).encode(), digest_size=16).digest()


@cache
def _columns() -> dict[str, dict[str, str]]:
    """The types of the columns of each relation, by name."""
    return {**relation_columns(), **_EXTRA, **EXTRA}
