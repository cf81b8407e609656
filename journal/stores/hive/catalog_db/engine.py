"""The database of a catalog that lies beside its store: SQLite in a file, or a server's.

The only module that imports SQLAlchemy. A transaction here is short: one that reads sees one
moment, one that writes excludes every other writer from its beginning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from journal.files.tcp_keepalive import SILENCE_S, limits, of_server
from journal.local_engine.file_modes import OWNER, configured, set_mode
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.store_session import RecordDialect
from journal.records.catalog_format import OLDEST_SERVER
from journal.records.record_types import RecordTable
from journal.records.schema import INLINED_ROWS
from journal.records.statements import BESIDE

_BUSY_S = 30.0
_CONNECT_S = 10
_LIBPQ = frozenset({"psycopg", "psycopg2"})
_SETTING = re.compile(r"-c (\w+)=")
_CONNECTIONS = 16


class CatalogConnection:
    """A connection inside a transaction of the catalog."""

    def __init__(self, connection: Connection, dialect: RecordDialect) -> None:
        self.dialect = dialect
        self._connection = connection
        self.changed = 0
        """How many rows the statement that ran last has changed."""

    def text(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run constant SQL."""
        found = self._connection.exec_driver_sql(sql, tuple(values) or None)
        self.changed = found.rowcount
        return [tuple(row) for row in found] if found.returns_rows else []

    @contextmanager
    def savepoint(self) -> Iterator[sa.NestedTransaction]:
        """A part of the transaction, undone at the end unless it is committed."""
        part = self._connection.begin_nested()
        try:
            yield part
        finally:
            if part.is_active:
                part.rollback()


class CatalogDatabase:
    """An open catalog database; thread-safe."""

    def __init__(self, url: str) -> None:
        self._url = _parsed(url)
        self._is_sqlite = self._url.get_backend_name() == "sqlite"
        if self._is_sqlite and self._url.database in {None, "", ":memory:"}:
            raise _bad_url("a catalog in memory would be lost with the process")
        self._engine = self._open_engine()
        dialects = (RecordDialect.CATALOG_POSTGRES, RecordDialect.CATALOG_SQLITE)
        self.dialect = dialects[self._is_sqlite]

    @property
    def display_name(self) -> str:
        """Where the catalog is, without passwords, for people."""
        return self._url.render_as_string(hide_password=True)

    def _open_engine(self) -> Engine:
        options: dict[str, Any] = {"pool_size": _CONNECTIONS, "max_overflow": _CONNECTIONS}
        if self._is_sqlite:
            options["connect_args"] = {"timeout": _BUSY_S, "check_same_thread": False}
            options["poolclass"] = QueuePool
        elif self._url.get_driver_name() in _LIBPQ:
            known: dict[str, Any] = {**limits(SILENCE_S), "connect_timeout": _CONNECT_S}
            told = {k: v for k, v in known.items() if k not in self._url.query}
            # What another gateway holds there is free again when that one has vanished.
            told |= {} if "options" in self._url.query else {"options": of_server(SILENCE_S)}
            options["connect_args"] = told
        try:
            engine = sa.create_engine(self._url, pool_pre_ping=not self._is_sqlite, **options)
        except (ImportError, NoSuchModuleError) as error:
            raise PalimpsestError(
                Code.DRIVER_MISSING,
                f"the catalog's database needs a driver that is not installed: {error}",
                advice="install it, or give ?catalog=sqlite:///file",
            ) from error
        if self._is_sqlite:
            sa.event.listen(engine, "do_connect", self._make_file)
            sa.event.listen(engine, "connect", _prepare_sqlite)
            sa.event.listen(engine, "begin", _begin_sqlite)
        elif self._url.get_driver_name() in _LIBPQ:
            sa.event.listen(engine, "do_connect", _connect_to_postgres)
        return engine

    def _make_file(self, *_: object) -> None:
        """Make the file when it is first needed, and not for a store that cannot be reached."""
        _make_private(str(self._url.database))

    @contextmanager
    def reading(self) -> Iterator[CatalogConnection]:
        """A transaction that sees one moment and changes nothing."""
        options = {} if self._is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with _mapped(), self._engine.connect() as found:
            connection = found.execution_options(**options)
            with connection.begin() as transaction:
                yield CatalogConnection(connection, self.dialect)
                transaction.rollback()

    def text(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Read rows by constant SQL, in a transaction of their own."""
        with self.reading() as connection:
            return connection.text(sql, values)

    def glance(self, wanted: str) -> tuple[Any, ...] | None:
        """The only row of a query, without the cost of a transaction; None where it is not plain.

        Whatever fails is left to who reads in a transaction then, and is told what is wrong.
        """
        with suppress(SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error):
            with closing(self._engine.raw_connection()) as connection:
                cursor = connection.cursor()
                cursor.execute(wanted)
                rows = cursor.fetchall()
                return tuple(rows[0]) if len(rows) == 1 else None
        return None

    @contextmanager
    def writing(self, *exclusive: RecordTable) -> Iterator[CatalogConnection]:
        """A transaction that commits at the end; others wait that change ``exclusive`` tables.

        Raises OUTCOME_UNKNOWN if the connection is cut during COMMIT.
        """
        with _mapped(), self._engine.connect() as found:
            connection = found.execution_options(palimpsest_begin="BEGIN IMMEDIATE")
            transaction = connection.begin()
            try:
                if not self._is_sqlite:
                    for table in exclusive:
                        name = f"{BESIDE}{table.name}"
                        connection.exec_driver_sql(f"LOCK TABLE {name} IN EXCLUSIVE MODE")
                yield CatalogConnection(connection, self.dialect)
            except BaseException:
                if transaction.is_active:
                    transaction.rollback()
                raise
            try:
                transaction.commit()
            except DBAPIError as error:
                if error.connection_invalidated:
                    raise unknown_outcome(str(error.orig)) from error
                raise

    def scrub(self) -> None:
        """Let nothing of what was dropped or deleted stay in the files of the catalog.

        A server removes the files of dropped tables itself; those of inlined rows are written anew.
        """
        with _mapped(), self._engine.connect() as connection:
            if self._is_sqlite:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            else:
                alone = connection.execution_options(isolation_level="AUTOCOMMIT")
                alone.exec_driver_sql(f"VACUUM FULL {BESIDE}{INLINED_ROWS.name}")

    def close(self) -> None:
        """Let go of the connections."""
        self._engine.dispose()


def unknown_outcome(message: str) -> PalimpsestError:
    """The catalog's connection was cut while COMMIT was under way."""
    return PalimpsestError(
        Code.OUTCOME_UNKNOWN,
        f"the connection to the catalog was lost during COMMIT: {message}",
        advice="the transaction is committed or rolled back as a whole; palimpsest log tells which",
    )


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        # What it says may show a part of the password.
        raise _bad_url("SQLAlchemy cannot read it") from None


def _bad_url(why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.URL,
        f"the URL of the catalog cannot be used: {why}",
        advice="give ?catalog=sqlite:///file.db or ?catalog=postgresql+psycopg://user@host/db",
    )


def _connect_to_postgres(
    dialect: sa.Dialect, record: object, given: Sequence[Any], options: dict[str, Any]
) -> Any:
    """A connection to a server that is young enough; raises NOT_SUPPORTED for others.

    Old ones refuse settings of ours before they can be asked how old they are.
    """
    try:
        return _young_enough(dialect.connect(*given, **options))
    except dialect.loaded_dbapi.Error as error:
        if any(name in str(error) for name in _SETTING.findall(str(options.get("options", "")))):
            bare = {k: v for k, v in options.items() if k != "options"}
            _young_enough(dialect.connect(*given, **bare)).close()
        raise


def _young_enough(connection: Any) -> Any:
    if connection.info.server_version >= OLDEST_SERVER:
        return connection
    shown = connection.info.parameter_status("server_version")
    connection.close()
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        f"the catalog's server is older than PostgreSQL 12, or made from an older one: {shown}",
        advice="keep the catalog in PostgreSQL 12 or later, or in a file: ?catalog=sqlite:///file",
    )


def _make_private(name: str) -> None:
    """Make the file of a new catalog before SQLite makes it for everybody to read.

    SQLite gives the files beside it the same mode.
    """
    if name.startswith("file:") or Path(name).exists():
        return
    modes = configured() or OWNER
    with failures(), suppress(FileExistsError):
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        set_mode(Path(name), modes.file)


def _prepare_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA secure_delete=ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    how = connection.get_execution_options().get("palimpsest_begin", "BEGIN")
    connection.exec_driver_sql(how)


_LOOK = "look into the log of the catalog's server; if the error stays, report it"


@contextmanager
def _mapped() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise _translated(error) from error
    except SQLAlchemyError as error:
        raise PalimpsestError(Code.STORE, f"the catalog failed: {error}", advice=_LOOK) from error


def _translated(error: DBAPIError) -> PalimpsestError:
    said = " ".join(str(error.orig).split())
    code, advice = Code.STORE, _LOOK
    if "readonly" in said or "read-only" in said:
        code, advice = Code.STORE_READ_ONLY, "give the process the right to write the catalog"
    elif "full" in said:
        code, advice = Code.STORE_WRITE, "free space; nothing was changed"
    elif "locked" in said:
        code, advice = Code.STORE_UNREACHABLE, "another process holds the catalog; try again"
    elif isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError):
        code, advice = Code.STORE_UNREACHABLE, "check the catalog's URL, and that its server runs"
    return PalimpsestError(code, f"the catalog failed: {said}", advice=advice)
