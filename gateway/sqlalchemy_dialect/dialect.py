"""The dialect itself: URLs, connections, transactions; reflection from the session's catalog."""

from __future__ import annotations

import weakref
from contextlib import nullcontext
from types import ModuleType
from typing import Any
from urllib.parse import quote, urlencode

from sqlalchemy import exc, pool
from sqlalchemy.engine import default, reflection
from sqlalchemy.engine.url import URL
from sqlalchemy.schema import Index, Sequence
from sqlalchemy.sql.compiler import InsertmanyvaluesSentinelOpts

from gateway.dbapi.connection import Connection as GatewayConnection
from gateway.errors import mapping
from gateway.sharing.remote_session import RemoteSession
from gateway.sqlalchemy_dialect import reflection as shapes
from gateway.sqlalchemy_dialect.compiler import PalimpsestCompiler, literal
from gateway.sqlalchemy_dialect.ddl import (
    PalimpsestDDLCompiler,
    PalimpsestIdentifierPreparer,
    PalimpsestTypeCompiler,
)
from gateway.sqlalchemy_dialect.types import COLSPECS, reflected_type
from journal.local_engine.scratch import Scratch
from journal.model.errors import Code
from journal.model.schema import CatalogSnapshot, Relation, Table, TableName, View

_KEEP_REFERENCES = frozenset({"postgresql"})
_OURS = frozenset({"user", "application"})
_LOST = frozenset({Code.STORE_LOST.value.code, Code.STORE_UNREACHABLE.value.code})
SNAPSHOT, AUTOCOMMIT = "SNAPSHOT", "AUTOCOMMIT"


class PalimpsestExecutionContext(default.DefaultExecutionContext):
    """One execution; ``as_of`` among its options makes it read the past."""

    def fire_sequence(self, seq: Sequence, type_: Any) -> int:
        """The next number of a sequence."""
        shown = self.identifier_preparer.format_sequence(seq)
        found = self._execute_scalar(f"SELECT nextval({literal(shown)})", type_)
        return int(found)


class PalimpsestDialect(default.DefaultDialect):
    """Of URLs of folders, servers and other stores, as ``gateway.connect`` takes them."""

    name = "palimpsest"
    driver = "gateway"
    default_paramstyle = "numeric_dollar"
    statement_compiler = PalimpsestCompiler
    ddl_compiler = PalimpsestDDLCompiler
    type_compiler_cls = PalimpsestTypeCompiler
    preparer = PalimpsestIdentifierPreparer
    execution_ctx_cls = PalimpsestExecutionContext
    colspecs = COLSPECS

    supports_statement_cache = True
    supports_alter = True
    construct_arguments = [(Index, {"where": None, "include": None})]  # noqa: RUF012
    """Indexes have arguments ``palimpsest_..``; of tables and the like they are errors."""
    supports_comments = True
    supports_identity_columns = True
    supports_sequences = True
    sequences_optional = True
    supports_default_values = True
    supports_default_metavalue = True
    supports_empty_insert = False
    supports_multivalues_insert = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_native_enum = True
    supports_native_uuid = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    postfetch_lastrowid = False
    insert_returning = True
    update_returning = True
    delete_returning = True
    update_returning_multifrom = True
    delete_returning_multifrom = True
    use_insertmanyvalues = True
    insertmanyvalues_implicit_sentinel = InsertmanyvaluesSentinelOpts.ANY_AUTOINCREMENT
    tuple_in_values = True
    div_is_floordiv = False
    returns_native_bytes = True
    # Read by the PostgreSQL compiler: backslashes in literals are plain characters.
    _backslash_escapes = False
    _supports_jsonb_subscripting = False

    def __init__(
        self, json_serializer: Any = None, json_deserializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._json_serializer = json_serializer
        self._json_deserializer = json_deserializer

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """The gateway itself is the DB-API module."""
        import gateway

        return gateway

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """Connections are cheap, yet the last one to close closes the warehouse: keep some."""
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """The gateway's URL and keywords; without a path one temporary warehouse per engine."""
        query = {k: v if isinstance(v, str) else v[-1] for k, v in url.query.items()}
        keywords: dict[str, Any] = {k: query.pop(k) for k in sorted(_OURS & set(query))}
        store = url.drivername.partition("+")[2]
        if store not in {"", self.driver}:
            # A store that is a server: the rest of the URL is that of its own client library.
            self.supports_alter = store in _KEEP_REFERENCES
            return [_text_of(url.set(query=query))], keywords
        if url.host or "host" in query:
            return [_text_of(url.set(drivername=self.name, query=query))], keywords
        if url.port or url.username or url.password:
            raise exc.ArgumentError(
                f"{url} names a user and no host; use palimpsest://user@host:5433/ for a server,"
                " palimpsest:///relative or palimpsest:////absolute for a folder"
            )
        path = url.database or self._temporary_warehouse()
        text = f"palimpsest:///{quote(path)}"
        return [f"{text}?{urlencode(query)}" if query else text], keywords

    def _temporary_warehouse(self) -> str:
        with mapping():
            scratch = Scratch()
        weakref.finalize(self, scratch.close)
        return str(scratch.path / "warehouse")

    def _get_default_schema_name(self, connection: Any) -> str:
        return _gateway(connection).client_session.settings.schema

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        import gateway

        return tuple(int(part) for part in gateway.__version__.split("."))

    def _check_max_identifier_length(self, connection: Any) -> None:
        return None

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        """Transactions read a snapshot."""
        return SNAPSHOT

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        """Snapshot isolation is what there is; stronger names are not promised."""
        return [SNAPSHOT, AUTOCOMMIT]

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """Switch autocommit."""
        dbapi_connection.autocommit = level == AUTOCOMMIT

    def reset_isolation_level(self, dbapi_conn: Any) -> None:
        """Back to transactions, or to what the engine was told."""
        dbapi_conn.rollback()
        super().reset_isolation_level(dbapi_conn)  # type: ignore[no-untyped-call]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """What holds now."""
        return AUTOCOMMIT if dbapi_connection.autocommit else SNAPSHOT

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        """Whether each statement commits by itself."""
        return bool(dbapi_conn.autocommit)

    def do_ping(self, dbapi_connection: Any) -> bool:
        """In this process a connection is there until it is closed; a server may have gone."""
        if dbapi_connection.closed:
            return False
        session = dbapi_connection.client_session
        if isinstance(session, RemoteSession):
            with mapping():
                session.synchronize()
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        """True for the error of a closed connection, or of one to a server that is lost."""
        code = getattr(e, "code", None)
        if code in _LOST:
            return True
        return code == Code.CLOSED.value.code and "connection" in str(e)

    def do_execute(
        self, cursor: Any, statement: str, parameters: Any, context: Any | None = None
    ) -> None:
        """Run a statement; with the option ``as_of`` it reads that point in time."""
        with _reading_as_of(cursor, context):
            cursor.execute(statement, parameters or None)

    def do_execute_no_params(self, cursor: Any, statement: str, context: Any | None = None) -> None:
        """Run a statement that has no placeholders."""
        with _reading_as_of(cursor, context):
            cursor.execute(statement)

    def _catalog(self, connection: Any) -> CatalogSnapshot:
        return _gateway(connection).client_session.catalog

    def _relation(self, connection: Any, name: str, schema: str | None) -> Relation:
        found = self._find(connection, name, schema)
        if found is None:
            raise exc.NoSuchTableError(f"{schema}.{name}" if schema else name)
        return found

    def _find(self, connection: Any, name: str, schema: str | None) -> Relation | None:
        """The relation of a name; without a schema a temporary one comes first."""
        catalog = self._catalog(connection)
        own = None if schema or not catalog.own else catalog.get(TableName(catalog.own, name))
        return own or catalog.get(self._name(name, schema))

    def _name(self, name: str, schema: str | None) -> TableName:
        return TableName(schema or self.default_schema_name or "main", name)

    @reflection.cache
    def has_table(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Whether there is a table or view of that name."""
        self._ensure_has_table_connection(connection)
        return self._find(connection, table_name, schema) is not None

    @reflection.cache
    def has_schema(self, connection: Any, schema_name: str, **kw: Any) -> bool:
        """Whether there is a schema of that name."""
        return schema_name.casefold() in self._catalog(connection).schemas

    @reflection.cache
    def has_sequence(
        self, connection: Any, sequence_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Whether there is a sequence of that name."""
        return sequence_name.casefold() in map(
            str.casefold, self.get_sequence_names(connection, schema)
        )

    @reflection.cache
    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        """The schemas of the warehouse."""
        return sorted(self._catalog(connection).schemas.values())

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """The tables of a schema."""
        wanted = self._name("", schema).schema
        return shapes.relation_names(self._catalog(connection), wanted, "TABLE")

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """The views of a schema."""
        wanted = self._name("", schema).schema
        return shapes.relation_names(self._catalog(connection), wanted, "VIEW")

    def get_temp_table_names(
        self, connection: Any, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """The temporary tables of the connection."""
        return self._own_names(connection, "TABLE")

    def get_temp_view_names(
        self, connection: Any, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """The temporary views of the connection."""
        return self._own_names(connection, "VIEW")

    def _own_names(self, connection: Any, kind: str) -> list[str]:
        catalog = self._catalog(connection)
        return shapes.relation_names(catalog, catalog.own, kind) if catalog.own else []

    @reflection.cache
    def get_materialized_view_names(
        self, connection: Any, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """The materialised views of a schema."""
        wanted = self._name("", schema).schema
        return shapes.relation_names(self._catalog(connection), wanted, "MATERIALIZED VIEW")

    @reflection.cache
    def get_sequence_names(
        self, connection: Any, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """The sequences of a schema, without those of identity columns."""
        wanted = self._name("", schema).schema.casefold()
        known = self._catalog(connection).sequences.values()
        return sorted(s.name.name for s in known if s.name.schema.casefold() == wanted)

    @reflection.cache
    def get_view_definition(
        self, connection: Any, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        """The SELECT of a view."""
        found = self._relation(connection, view_name, schema)
        if isinstance(found, View):
            return found.shown_query
        if found.materialized is None:
            raise exc.NoSuchTableError(view_name)
        return found.materialized.shown_query

    @reflection.cache
    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Columns of a table or view."""
        found = self._relation(connection, table_name, schema)
        if isinstance(found, Table):
            return [shapes.column_info(found, column) for column in found.columns]
        quoted = self.identifier_preparer.quote
        name = f"{quoted(found.name.schema)}.{quoted(found.name.name)}"
        result = connection.exec_driver_sql(f"SELECT * FROM {name} LIMIT 0")  # noqa: S608
        return [
            {
                "name": column[0],
                "type": reflected_type(column[1]),
                "nullable": True,
                "default": None,
                "autoincrement": False,
                "comment": None,
            }
            for column in result.cursor.description
        ]

    @reflection.cache
    def get_pk_constraint(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        """The primary key."""
        found = self._relation(connection, table_name, schema)
        if isinstance(found, Table):
            return shapes.key_info(found)
        return reflection.ReflectionDefaults.pk_constraint()

    @reflection.cache
    def get_foreign_keys(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """FOREIGN KEY constraints."""
        found = self._relation(connection, table_name, schema)
        here = None if schema else self.default_schema_name
        return shapes.foreign_key_infos(self._catalog(connection), found, here)

    @reflection.cache
    def get_indexes(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """What CREATE INDEX made; keys and constraints have no indexes of their own."""
        found = self._relation(connection, table_name, schema)
        return shapes.index_infos(found) if isinstance(found, Table) else []

    @reflection.cache
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """UNIQUE constraints."""
        found = self._relation(connection, table_name, schema)
        return shapes.unique_infos(found) if isinstance(found, Table) else []

    @reflection.cache
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """CHECK constraints."""
        found = self._relation(connection, table_name, schema)
        return shapes.check_infos(found) if isinstance(found, Table) else []

    @reflection.cache
    def get_table_comment(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        """The comment of a table or view."""
        return {"text": self._relation(connection, table_name, schema).comment}


def _gateway(connection: Any) -> GatewayConnection:
    found = connection.connection.dbapi_connection
    assert isinstance(found, GatewayConnection)
    return found


def _reading_as_of(cursor: Any, context: Any | None) -> Any:
    point = None if context is None else context.execution_options.get("as_of")
    return nullcontext() if point is None else cursor.connection.reading_as_of(point)


def _text_of(url: URL) -> str:
    """A URL with its password; SQLAlchemy leaves blanks in names and passwords as they are."""
    return url.render_as_string(hide_password=False).replace(" ", "%20")
