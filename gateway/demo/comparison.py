"""Runs the same statements on an ordinary DuckDB, and compares every row."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from gateway.dbapi.connection import Connection
from gateway.demo import statements
from gateway.demo.replay import days, ends_month
from gateway.demo.source import SourceFiles
from journal.model.lazy_dataclass import dataclass
from journal.stores.embedded.plain_database import PlainDatabase


@dataclass(frozen=True, slots=True)
class Comparison:
    """One table's totals on both sides, and whether all its rows are equal."""

    table: str
    totals: tuple[Any, ...]
    plain: tuple[Any, ...]
    rows: int
    same_rows: bool

    @property
    def equal(self) -> bool:
        """True when totals and rows agree."""
        return self.totals == self.plain and self.same_rows


@dataclass(frozen=True, slots=True)
class PlainRun:
    """The ordinary database after the year, with its result on the eve of the blizzard."""

    database: PlainDatabase
    before: tuple[tuple[Any, ...], ...]
    seconds: float


def plain_run(files: SourceFiles, eve: Any) -> PlainRun:
    """Load and replay the year in memory, in mutable tables."""
    database = PlainDatabase()
    started = time.perf_counter()
    sources: dict[str, Path] = {
        "airlines": files.airlines,
        "airports": files.airports,
        "planes": files.planes,
        "operations": files.flights,
    }
    for table, definition in statements.TABLES.items():
        database.execute(definition)
        if table in sources:
            database.execute(
                f"INSERT INTO {table} BY NAME SELECT * FROM read_csv(?, nullstr = 'NA')",  # noqa: S608 - a name of this module
                [str(sources[table])],
            )
    database.execute(statements.SCHEDULE)
    before: tuple[tuple[Any, ...], ...] = ()
    for day in days():
        parameters = [day, day.month, day.day]
        database.execute(statements.DELAYS, parameters)
        database.execute(statements.CANCELLATIONS, parameters)
        if ends_month(day):
            database.execute(statements.PLANES, [day.month])
            database.execute(statements.AIRPORTS, [day.month])
        if day == eve:
            before = tuple(database.rows(statements.BLIZZARD.format(past="")))
    return PlainRun(database, before, time.perf_counter() - started)


def compare(connection: Connection, plain: PlainDatabase) -> list[Comparison]:
    """Totals and all rows of the tables that changed."""
    found = []
    for table, query in statements.TOTALS.items():
        (ours,) = connection.execute(query).fetchall()
        (theirs,) = plain.rows(query)
        rows = connection.execute(statements.IN_ORDER[table]).fetch_arrow()
        expected = plain.arrow(statements.IN_ORDER[table])
        same = rows.schema.names == expected.schema.names and all(
            rows.column(name).cast(expected.schema.field(name).type).combine_chunks()
            == expected.column(name).combine_chunks()
            for name in expected.schema.names
        )
        found.append(Comparison(table, ours, theirs, rows.num_rows, same))
    return found
