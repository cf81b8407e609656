"""Palimpsest's gateway: ``connect`` and the rest of PEP 249.

Importing this loads no driver; ``connect`` loads what its URL needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - the name PEP 249 demands
    mapping,
)
from gateway.version import VERSION

if TYPE_CHECKING:
    from gateway.dbapi.connection import Connection

__version__ = VERSION
apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"


def connect(
    url: str = "palimpsest://",
    *,
    dialect: str = "duckdb",
    autocommit: bool = False,
    user: str | None = None,
    application: str | None = None,
    **settings: Any,
) -> Connection:
    """Connect to a warehouse, a PostgreSQL database or a Hive server.

    - ``url``: ``palimpsest:///relative/path`` or ``palimpsest:////absolute/path`` (made if
      absent); ``palimpsest://`` for a temporary warehouse;
      ``palimpsest+postgresql://..`` and ``palimpsest+hive://..`` for servers.
    - ``dialect``: the SQL that the client writes: duckdb, postgres, mysql, spark, hive or ansi.
    - ``autocommit``: whether each statement commits by itself.
    - ``user``, ``application``: names that ``system.transactions`` records with each commit.
      Without ``user`` it is your login, and with a server the user of the URL.
    - ``settings``: further keywords are settings by name, such as ``as_of`` or ``retries``;
      ``SELECT * FROM system.settings`` lists them.

    Raises ``OperationalError`` if the store cannot be opened or reached (PAL-501, PAL-520),
    ``ProgrammingError`` for an unknown setting (PAL-221).

    >>> with connect("palimpsest://", user="ada") as connection:
    ...     _ = connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    ...     connection.execute("INSERT INTO t VALUES (1), (2)").rowcount
    2
    """
    from gateway.config import Settings
    from gateway.dbapi.connection import Connection

    chosen = Settings()
    with mapping():
        for name, value in settings.items():
            chosen = chosen.with_setting(name, value)
    return Connection(
        url,
        dialect=dialect,
        autocommit=autocommit,
        user=user,
        application=application,
        settings=chosen,
    )


def configure_logging(
    *, level: str | None = None, form: str | None = None, slow_statement: float | None = None
) -> None:
    """Write the log of this program's gateways to standard error.

    - ``level``: the least level that is written: debug, info, warning (default) or error.
    - ``form``: ``text`` (default), or ``json`` for one object a line.
    - ``slow_statement``: statements that take more seconds are logged, without their values.

    What is left out is as PALIMPSEST_LOG_LEVEL, PALIMPSEST_LOG_FORMAT and PALIMPSEST_SLOW_STATEMENT
    say, else as the table ``[log]`` of the file that PALIMPSEST_CONFIG names. Call it before
    ``connect``. A program that configures ``logging`` by itself needs no call: the loggers are
    ``palimpsest`` and those below it.

    Raises ``DataError`` (PAL-222) for a level or form that there is not.

    >>> configure_logging(level="warning", slow_statement=0.5)
    """
    from gateway.activity.log_settings import LogSettings, write_program_log

    with mapping():
        write_program_log(LogSettings(level, form, slow_statement))


_TYPES = (
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Date",
    "DateFromTicks",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
)


def __getattr__(name: str) -> Any:
    if name in _TYPES:
        from gateway.dbapi import types

        return getattr(types, name)
    raise AttributeError(f"module 'gateway' has no attribute {name!r}")


__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "__version__",
    "apilevel",
    "configure_logging",
    "connect",
    "paramstyle",
    "threadsafety",
    *_TYPES,
]
