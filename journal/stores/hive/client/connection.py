"""A session in which statements on journals run: text in, columns of values out.

A connection is used by one thread at a time; only ``interrupt`` may come from another. What the
text means is decided above it. Who answers is decided below: a server (``thrift_connection``), or
the Spark application of a job.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import Parameters
from journal.stores.hive.client.cursor import Column, plain_values
from journal.stores.hive.dialect.text import rendered
from journal.stores.hive.engine import HiveEngine

Row = tuple[Any, ...]


class HiveConnection(ABC):
    """One session; ``engine`` tells which program answers."""

    engine: HiveEngine

    def __init__(self) -> None:
        self.zone = "UTC"
        self.used_at = time.monotonic()
        self.is_usable = True

    @abstractmethod
    def execute(
        self,
        statement: str | exp.Expr,
        parameters: Parameters | None = None,
        beside: Sequence[str] = (),
    ) -> list[list[Row]]:
        """Run a statement, a tree or its text, to its end; its rows are fetched later.

        What is asked ``beside`` it, in short statements that only read, may run at the same time;
        the rows of these are returned. Raises CANCELLED after ``interrupt`` or the statement's
        time, STORE_LOST when the session is gone, NOT_SUPPORTED for a tree that the language of
        ``engine`` cannot say.
        """

    @abstractmethod
    def short_query(self, sql: str) -> list[Row]:
        """The rows of a short statement; those of the one executed last are left to be fetched."""

    @abstractmethod
    def described(self) -> list[tuple[str, str]]:
        """Name and type of each column of the statement executed last, as the server calls them."""

    @abstractmethod
    def types(self) -> list[tuple[str, str]]:
        """The type of each column of the statement executed last: the server's word for it, and
        what it is with digits and places.
        """

    @abstractmethod
    def columns(self, size: int | None = None) -> list[Column]:
        """The values of the next rows by column, of all that are left without a ``size``; fewer at
        the end, and then no columns. Decimals, dates and times are text.
        """

    @abstractmethod
    def interrupt(self) -> None:
        """Stop whatever runs, from another thread; it may be asked for again and again."""

    @abstractmethod
    def is_quiet(self) -> bool:
        """False where the server has said something unasked: good-bye, as a rule."""

    @abstractmethod
    def close(self) -> None:
        """Close the session."""

    def text(self, tree: exp.Expr, parameters: Parameters | None = None) -> str:
        """What the server is told for a tree."""
        return rendered(tree, parameters, self.engine)

    def fetch_all(self) -> list[Row]:
        """All rows that are left."""
        kinds = [kind for _, kind in self.described()]
        columns = zip(kinds, self.columns(), strict=False)
        return list(zip(*(plain_values(kind, values) for kind, values in columns), strict=True))

    def run(self, statement: str | exp.Expr, parameters: Parameters | None = None) -> list[Row]:
        """Run a statement and hold its rows."""
        self.execute(statement, parameters)
        return self.fetch_all()

    def purge(self, drop: exp.Expr) -> None:
        """Run a DROP so that files go at once, and not to the file system's trash."""
        self.execute(f"{self.text(drop)} PURGE")

    def has_relation(self, database: str, name: str) -> bool:
        """True if a database has a table or view of that name."""
        return name in self.tables_of(database, name)

    def tables_of(self, database: str, like: str = "*") -> list[str]:
        """The tables and views of a database; none where there is no such database."""
        # Spark and Hive mean different patterns, so what is found is looked through here.
        try:
            rows = self.run(tables_text(database))
        except PalimpsestError as error:
            if error.code is not Code.UNKNOWN_SCHEMA:
                raise
            return []
        place = 0 if self.engine is HiveEngine.APACHE else 1
        return [name for row in rows if fnmatchcase(name := str(row[place]), like)]

    def partitions_of(self, database: str, table: str) -> list[str]:
        """The values of a table's first partition column."""
        rows = self.run(partitions_text(database, table))
        first = [str(row[0]).partition("/")[0] for row in rows]
        return [name.partition("=")[2] for name in dict.fromkeys(first)]

    def refresh(self, database: str, table: str) -> None:
        """Have the session list a table's files anew; Hive itself does so with every query."""
        if self.engine is HiveEngine.SPARK:
            self.short_query(refresh_text(database, table))


def tables_text(database: str) -> str:
    """What lists the tables and views of a database."""
    return f"SHOW TABLES IN {_quote_name(database)}"


def partitions_text(database: str, table: str, only: tuple[str, str] | None = None) -> str:
    """What lists a table's partitions, or those with ``only`` one value of a column."""
    text = f"SHOW PARTITIONS {_quote_name(database)}.{_quote_name(table)}"
    if only is None:
        return text
    column, value = only
    return f"{text} PARTITION ({_quote_name(column)} = {_text(value)})"


def refresh_text(database: str, table: str) -> str:
    """What has Spark forget, for its session, which files it saw in a table."""
    return f"REFRESH TABLE {_quote_name(database)}.{_quote_name(table)}"


def _quote_name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _text(value: str) -> str:
    return exp.Literal.string(value).sql(dialect="spark")
