"""Answers statements on PostgreSQL's catalog, in a small database of the server's own.

The database holds what the catalog of the warehouse was when it was last read, and is filled anew
when that has changed. Nothing here touches the store.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

import pyarrow as pa
from sqlglot import exp

from gateway.activity.activity import ActivityReader
from gateway.config import Settings
from gateway.servers.pg_catalog.access import AccessContents
from gateway.servers.pg_catalog.activity import STATE_RELATION, activity_contents
from gateway.servers.pg_catalog.contents import CatalogContents
from gateway.servers.pg_catalog.database import IdleDatabases, PgCatalogDatabase, Rows
from gateway.servers.pg_catalog.names import name_types
from gateway.servers.pg_catalog.policies import add_policies
from gateway.servers.pg_catalog.signals import send_signals, signal_columns
from gateway.servers.pg_catalog.translation import translated
from gateway.servers.pg_catalog.triggers import add_triggers
from gateway.servers.pgwire.any_numbers import shown_number
from gateway.servers.pgwire.types import field_of
from gateway.session.description import describe
from gateway.session.outcome import StatementOutcome
from gateway.session.results import BufferedRows
from gateway.session.roles import OF_TRANSACTION, acting_user, setting_text
from gateway.session.session import Session
from gateway.system_views.own_relations import own_relations
from gateway.system_views.system import SUPPLIED_COLUMNS
from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn
from journal.model.schema import CatalogSnapshot, View, fold
from journal.model.visibility import visible_to
from rewriter.name_resolution import (
    SYSTEM_SCHEMAS,
    is_database,
    position_of,
    shown_schema,
)

_LISTS: dict[int, Any] = {1009: [""], **{oid: [0] for oid in (1005, 1007, 1016, 1028)}}
_EXAMPLES: dict[int, Any] = {
    16: True,
    **dict.fromkeys((20, 21, 23, 26, 700, 701, 1700), 0),
    **dict.fromkeys((1082, 1114, 1184), "2000-01-01"),
    114: "{}",
    3802: "{}",
    1083: "00:00",
    1186: "0 days",
    2950: str(UUID(int=0)),
    **_LISTS,
}
"""Values by types; a NULL is no name, for one."""
_VECTORS = {"USMALLINT[]": "INT2VECTOR", "UBIGINT[]": "OIDVECTOR"}
_FIXED = {
    "jit": ("off", "not here"),
    "max_index_keys": ("32", "columns of an index"),
    "max_identifier_length": ("63", "bytes of a name"),
}
"""Settings of PostgreSQL that drivers read, and nobody can change."""
_STARTED = datetime.now(UTC)


class CatalogReader:
    """The catalog as one session sees it; ``version`` is what ``version()`` gives.

    ``database`` is what the client connected to. It reads this name for the database, if it is one.
    """

    def __init__(
        self,
        session: Session,
        version: str,
        pid: int,
        idle: IdleDatabases,
        database: str = "",
    ) -> None:
        self._session = session
        self._idle = idle
        self._version = version
        self._pid = pid
        self._database = database
        self._lock = threading.Lock()
        self._engine: PgCatalogDatabase | None = None
        self._seen: tuple[CatalogSnapshot, tuple[Settings, str | None]] | None = None

    def run(self, query: exp.Expr, values: Sequence[Any], *, acts: bool = True) -> StatementOutcome:
        """The rows of a statement; raises NOT_SUPPORTED for one that the engine cannot answer.

        ``acts``: it stops the sessions that calls of ``pg_cancel_backend`` and the like name.
        """
        signals = signal_columns(query)
        self._check_database(query)
        with self._lock:
            engine = self._filled()
            if any(table.name.lower() == STATE_RELATION for table in query.find_all(exp.Table)):
                self._renew_activity(engine)
            try:
                found, table = engine.query(translated(query), values)
            except PalimpsestError as error:
                raise _failure(error) from error
        columns = [ResultColumn(column.name, _kind(column.type)) for column in found]
        for place, kind in name_types(query).items():
            columns[place] = ResultColumn(columns[place].name, kind)
        for place, function in signals.items():
            columns[place] = ResultColumn(columns[place].name, "BOOLEAN")
            if acts:
                sent = send_signals(self._session, function, table.column(place))
                table = table.set_column(place, table.column_names[place], sent)
        return StatementOutcome("SELECT", table.num_rows, columns, BufferedRows(table, _no_rows))

    def _check_database(self, query: exp.Expr) -> None:
        """Raise NOT_SUPPORTED for a relation of another database."""
        for table in query.find_all(exp.Table):
            if table.catalog and not is_database(table.catalog, self._session.catalog):
                raise PalimpsestError(
                    Code.NOT_SUPPORTED,
                    f"cross-database references are not implemented: {table.sql('postgres')}",
                    advice=f"name no database, or {self._database_name()}",
                    position=position_of(table),
                )

    def describe(self, query: exp.Expr, oids: Sequence[int]) -> list[ResultColumn]:
        """The columns of a statement's rows; ``oids`` are the types of its parameters."""
        outcome = self.run(query, [_EXAMPLES.get(oid, "") for oid in oids], acts=False)
        return outcome.columns or []

    def close(self) -> None:
        """Let go of the database, which serves another session then."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            self._idle.leave(engine)

    def _filled(self) -> PgCatalogDatabase:
        """The database, as the catalog is now."""
        session = self._session
        catalog = visible_to(session.catalog, session.catalog.rights_of(session.settings.role))
        catalog = replace(catalog, database=self._database_name())
        seen = (session.catalog, (session.settings, self._shown_setting(OF_TRANSACTION)))
        if self._engine is not None and self._seen is not None:
            if self._seen[0] is seen[0] and self._seen[1] == seen[1]:
                return self._engine
        engine, self._engine = self._engine or self._idle.take(), None
        try:
            engine.fill(self._rows(catalog), self._variables(catalog))
        except BaseException:
            # What is filled in part answers nothing.
            engine.close()
            raise
        self._engine, self._seen = engine, seen
        return engine

    def _rows(self, catalog: CatalogSnapshot) -> Mapping[str, Rows]:
        """The rows of each relation that has some."""
        session = self._session
        user, login = self._users()
        contents = CatalogContents(
            catalog, self._view_columns, user, self._schema_name, shown_number(session)
        )
        settings = [{"name": n, "setting": v, "short_desc": d} for n, v, d in self._settings()]
        rows = {**contents.rows, "pg_settings": settings, "system_columns": _system_columns()}
        AccessContents(catalog, "palimpsest" if session.settings.login_role else login).add(rows)
        add_policies(rows, session.catalog, session.catalog.rights_of(session.settings.role))
        add_triggers(rows, catalog, self._schema_name)
        return rows

    def _variables(self, catalog: CatalogSnapshot) -> dict[str, Any]:
        """What views and macros read, by name."""
        user, login = self._users()
        return {
            "user": user,
            "login": login,
            "admin": self._session.catalog.rights_of(self._session.settings.role).is_admin,
            "database": catalog.database,
            "version": self._version,
            "pid": self._pid,
            "started": _STARTED,
            "home": catalog.home,
            "shown_home": self._schema_name(catalog.home),
            "path": self._path(catalog),
        }

    def _users(self) -> tuple[str, str]:
        """The acting user and the one who has logged in."""
        return acting_user(self._session) or "palimpsest", self._session.user or "palimpsest"

    def _renew_activity(self, engine: PgCatalogDatabase) -> None:
        """Who is connected changes without the catalog, so it is read for each statement."""
        catalog, activity = self._session.catalog, self._session.executor.activity
        settings = self._session.settings
        is_admin = catalog.rights_of(settings.role).is_admin
        reader = ActivityReader(is_admin, settings.login_role)
        rows = activity_contents(activity, reader, self._database_name())
        engine.replace(STATE_RELATION, rows)

    def _database_name(self) -> str:
        catalog = self._session.catalog
        return self._database if is_database(self._database, catalog) else catalog.database

    def _settings(self) -> list[tuple[str, str | None, str]]:
        known = {name: (value, about) for name, value, about in self._session.settings.rows()}
        known["server_version"] = (self._version.split()[1], "version of the dialect")
        known["server_version_num"] = (f"{int(float(self._version.split()[1]))}0000", "as a number")
        known["search_path"] = (self._shown_setting("search_path"), "schemas")
        known[OF_TRANSACTION] = (self._shown_setting(OF_TRANSACTION), "of the open transaction")
        known["application_name"] = known["application"]
        known |= _FIXED
        return [(name, value, about) for name, (value, about) in known.items()]

    def _shown_setting(self, name: str) -> str | None:
        session = self._session
        return setting_text(session.settings, name, session.catalog, session.transaction)

    def _path(self, catalog: CatalogSnapshot) -> list[str]:
        """The schemas of ``search_path`` that are there, as clients read their names."""
        there = {*catalog.schemas, fold(catalog.home), *SYSTEM_SCHEMAS}
        path = [name for name in self._session.settings.search_path if fold(name) in there]
        return list(map(self._schema_name, path))

    def _schema_name(self, name: str) -> str:
        """What clients read as the name of a schema."""
        return shown_schema(name, self._session.dialect, self._session.catalog)

    def _view_columns(self, view: View) -> Sequence[ResultColumn]:
        name = exp.table_(view.name.name, db=view.name.schema, quoted=True)
        text = exp.select("*").from_(name).sql(dialect="postgres")
        try:
            found = describe(self._session, self._session.parse(text)[0]).columns
        except PalimpsestError:
            found = None
        return found or [ResultColumn(column, "VARCHAR") for column in view.columns]


@cache
def _system_columns() -> list[dict[str, Any]]:
    """The columns of the relations of schema ``system``, which no catalog has."""
    return [
        {
            "relname": name,
            "attname": column,
            "attnum": place,
            "atttypid": field_of(ResultColumn("", kind)).oid,
        }
        for name, columns in own_relations(SUPPLIED_COLUMNS)
        for place, (column, kind) in enumerate(columns, 1)
    ]


def _kind(name: str) -> str:
    """Numbers of objects, and vectors of numbers, are of types of their own."""
    return _VECTORS.get(name) or name.replace("UINTEGER", "OID")


def _no_rows(_table: pa.Table) -> list[Any]:
    return []


_MISSING = {
    "relation": (Code.UNKNOWN_TABLE, "SHOW TABLES lists the tables with their schemas"),
    "schema": (Code.UNKNOWN_SCHEMA, "SHOW SCHEMAS lists the schemas"),
    "role": (Code.UNKNOWN_ROLE, "pg_roles lists the roles"),
    "type": (Code.UNKNOWN_TYPE, "pg_type lists the types"),
    "setting": (Code.UNKNOWN_SETTING, "SHOW ALL lists the settings"),
}


def _failure(error: PalimpsestError) -> PalimpsestError:
    missing = re.search(r'(relation|schema|role|type|setting) ".*" does not exist', error.message)
    if missing is not None:
        code, shown = _MISSING[missing[1]]
        advice = f"check the spelling; {shown}"
        return PalimpsestError(code, missing[0], advice=advice)
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"the catalog cannot answer this: {error.message}",
        advice="read information_schema, or system.tables and system.columns",
    )
