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
    from gateway.errors import mapping

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
    "connect",
    "paramstyle",
    "threadsafety",
    *_TYPES,
]
