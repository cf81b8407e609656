"""The queries that the demonstration runs after the year, each with its result."""

from __future__ import annotations

from datetime import date
from typing import Any

from gateway.dbapi.connection import Connection
from gateway.demo import statements
from gateway.demo.replay import message_of
from gateway.shell.result import ShownColumn
from journal.model.lazy_dataclass import dataclass
from journal.model.segment import Tier

EVE = date(2013, 2, 7)
"""The evening before the blizzard; 472 flights of the next day were cancelled."""
AFTER = date(2013, 2, 10)

LIFE = """SELECT status, dep_delay, strftime(valid_from, '%H:%M:%S.%g') AS valid_from,
  strftime(valid_to, '%H:%M:%S.%g') AS valid_to, message
FROM table_history('flights')
WHERE day = DATE '2013-01-09' AND carrier = 'HA' AND flight = 51 ORDER BY valid_from"""

CHANGES = """SELECT _change_type AS change, count(*) AS rows, sum(arr_delay) AS arrival_delay
FROM table_changes('flights', {first}, {last})
GROUP BY _change_type ORDER BY _change_type"""


@dataclass(frozen=True, slots=True)
class DemoQuery:
    """A question, the SQL that asks it, and the answer."""

    title: str
    sql: str
    columns: tuple[ShownColumn, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class TierSize:
    """Rows and bytes of one tier of one table; bytes are None for heads, which DuckDB keeps."""

    table: str
    tier: str
    segments: int
    rows: int
    bytes: int | None


def run_query(connection: Connection, title: str, sql: str) -> DemoQuery:
    """Ask."""
    cursor = connection.execute(sql)
    columns = tuple(ShownColumn(d[0], d[1]) for d in cursor.description or ())
    return DemoQuery(title, sql, columns, tuple(cursor.fetchall()))


def version_after(connection: Connection, day: date) -> int:
    """The version of the transaction that ended a day."""
    query = "SELECT version FROM system.transactions WHERE message = ?"
    (row,) = connection.execute(query, [message_of(day)]).fetchall()
    return int(row[0])


def current_year(connection: Connection) -> DemoQuery:
    """The current state of the year."""
    return run_query(connection, "The current view: the five largest airlines", statements.NOW)


def flight_versions(connection: Connection) -> DemoQuery:
    """Every version of the most delayed flight of the year."""
    return run_query(connection, "One flight's life: Honolulu on 9 January, 21 hours late", LIFE)


def before_blizzard(connection: Connection) -> DemoQuery:
    """The days around the blizzard as they looked the evening before it."""
    past = f" FOR SYSTEM_VERSION AS OF {version_after(connection, EVE)}"
    title = "As of an earlier moment: the evening of 7 February, before the blizzard"
    return run_query(connection, title, statements.BLIZZARD.format(past=past))


def after_blizzard(connection: Connection) -> DemoQuery:
    """The same days as they look now."""
    return run_query(connection, "The same days now", statements.BLIZZARD.format(past=""))


def changes_between(connection: Connection) -> DemoQuery:
    """What changed between the two."""
    first, last = version_after(connection, EVE) + 1, version_after(connection, AFTER)
    return run_query(
        connection,
        "What changed between 8 and 10 February",
        CHANGES.format(first=first, last=last),
    )


def tier_sizes(connection: Connection) -> list[TierSize]:
    """Rows and bytes of every tier that holds any."""
    state = connection.session.journal.state
    found: list[TierSize] = []
    for table in sorted(state.catalog.tables(), key=lambda t: t.name.key):
        of_table = state.tables[table.id]
        for tier in (Tier.BASE, Tier.DELTA, Tier.HISTORY):
            segments = of_table.manifest.in_tier(tier)
            if segments:
                rows = sum(s.counts.total for s in segments)
                size = sum(s.bytes for s in segments)
                found.append(TierSize(table.name.name, tier.value, len(segments), rows, size))
        heads = of_table.head_counts.total
        if heads:
            found.append(TierSize(table.name.name, "head", 0, heads, None))
    return found
