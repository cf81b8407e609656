"""PEP 249 type objects and constructors; a type object equals the type codes it stands for."""

from __future__ import annotations

import datetime as dt


class TypeObject:
    """Compares equal to the SQL type names of its group."""

    def __init__(self, name: str, *prefixes: str) -> None:
        self.name = name
        self._prefixes = prefixes

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return self.name == other.name
        if isinstance(other, str):
            bare = other.split("(")[0].strip().upper()
            return bare in self._prefixes and not other.endswith("]")
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


STRING = TypeObject("STRING", "VARCHAR", "TEXT", "CHAR", "JSON", "UUID", "ENUM", "BIT", "INET")
BINARY = TypeObject("BINARY", "BLOB", "BYTEA", "BINARY", "VARBINARY")
NUMBER = TypeObject(
    "NUMBER",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "BOOLEAN",
)
DATETIME = TypeObject(
    "DATETIME",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP_S",
    "TIMESTAMP_MS",
    "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE",
    "TIME WITH TIME ZONE",
    "INTERVAL",
)
ROWID = TypeObject("ROWID")

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> dt.date:  # noqa: N802 - the name PEP 249 demands
    """The local date of ``ticks``, in seconds since 1970."""
    return dt.datetime.fromtimestamp(ticks, tz=dt.UTC).date()


def TimeFromTicks(ticks: float) -> dt.time:  # noqa: N802 - the name PEP 249 demands
    """The local time of day of ``ticks``, in seconds since 1970."""
    return dt.datetime.fromtimestamp(ticks, tz=dt.UTC).time()


def TimestampFromTicks(ticks: float) -> dt.datetime:  # noqa: N802 - the name PEP 249 demands
    """The local timestamp of ``ticks``, in seconds since 1970."""
    return dt.datetime.fromtimestamp(ticks, tz=dt.UTC).replace(tzinfo=None)
