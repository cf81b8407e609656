"""Replays the year through the gateway: loads the files, then runs a transaction for each day."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

from gateway.dbapi.connection import Connection
from gateway.demo import statements
from gateway.demo.source import SourceFiles
from gateway.shell.file_source import FileOptions
from gateway.shell.files import import_file
from journal.model.lazy_dataclass import dataclass

YEAR = 2013
Advance = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Load:
    """One table's load."""

    table: str
    rows: int
    seconds: float


@dataclass(slots=True)
class Replay:
    """What the year did."""

    commits: int = 0
    updated: int = 0
    deleted: int = 0
    merged: int = 0
    seconds: float = 0.0


def days() -> Iterator[date]:
    """Every day of the year."""
    day = date(YEAR, 1, 1)
    while day.year == YEAR:
        yield day
        day += timedelta(days=1)


def ends_month(day: date) -> bool:
    """True on the last day of a month."""
    return (day + timedelta(days=1)).month != day.month


def message_of(day: date) -> str:
    """The message under which a day's transaction is recorded."""
    return f"operations of {day}"


def load(connection: Connection, files: SourceFiles) -> Iterator[Load]:
    """Make the tables and import the files; then the schedule, out of the operations."""
    sources: dict[str, Path] = {
        "airlines": files.airlines,
        "airports": files.airports,
        "planes": files.planes,
        "operations": files.flights,
    }
    for definition in statements.TABLES.values():
        connection.execute(definition)
    connection.commit()
    for table, path in sources.items():
        started = time.perf_counter()
        done = import_file(connection, str(path), table, options=FileOptions(null="NA"))
        connection.commit()
        yield Load(table, done.rows, time.perf_counter() - started)
    started = time.perf_counter()
    cursor = connection.execute(statements.SCHEDULE)
    connection.execute("SET commit_message = 'the schedule'")
    connection.commit()
    yield Load("flights", cursor.rowcount, time.perf_counter() - started)


def replay(connection: Connection, advance: Advance) -> Replay:
    """Every day delays and cancellations; each month planes and airports."""
    done = Replay()
    started = time.perf_counter()
    cursor = connection.cursor()
    for day in days():
        cursor.execute(f"SET commit_message = '{message_of(day)}'")
        parameters = [day, day.month, day.day]
        done.updated += cursor.execute(statements.DELAYS, parameters).rowcount
        done.deleted += cursor.execute(statements.CANCELLATIONS, parameters).rowcount
        if ends_month(day):
            for merge in (statements.PLANES, statements.AIRPORTS):
                done.merged += cursor.execute(merge, [day.month]).rowcount
        connection.commit()
        done.commits += 1
        advance(day.timetuple().tm_yday / 365, f"{day:%d %B}")
    cursor.execute("RESET commit_message")
    done.seconds = time.perf_counter() - started
    return done
