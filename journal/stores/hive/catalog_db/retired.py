"""The catalog's list of retired segments: no manifest lists them, and they stay for a while.

What replaced them, and when, tells which go first. Here are rows; what goes is decided above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from journal.stores.hive.catalog_db.catalog import define, primary

RETIRED = define(
    "retired",
    primary("path", sa.String(256)),
    sa.Column("table_id", sa.BigInteger, nullable=False),
    sa.Column("until_us", sa.BigInteger, nullable=False),
    sa.Column("since_us", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("job_id", sa.String(64), nullable=False, server_default=""),
)
_ADDED = {
    "since_us": "ALTER TABLE palimpsest_retired ADD COLUMN since_us BIGINT NOT NULL DEFAULT 0",
    "job_id": "ALTER TABLE palimpsest_retired ADD COLUMN job_id VARCHAR(64) NOT NULL DEFAULT ''",
}


@dataclass(frozen=True, slots=True)
class RetiredPartition:
    """A segment that was replaced: until when it stays, since when, and by which job."""

    path: str
    table_id: int
    until_us: int
    since: int
    job_id: str


def ensure(connection: Connection) -> None:
    """Bring a list that an earlier version made up to date."""
    there = {c["name"] for c in sa.inspect(connection).get_columns(RETIRED.name)}
    for name, statement in _ADDED.items():
        if name not in there:
            connection.execute(sa.DDL(statement))  # type: ignore[no-untyped-call]


def retire(connection: Connection, found: Iterable[RetiredPartition]) -> None:
    """Note that no manifest lists these segments any more."""
    rows = [
        {
            "path": r.path,
            "table_id": r.table_id,
            "until_us": r.until_us,
            "since_us": r.since,
            "job_id": r.job_id,
        }
        for r in found
    ]
    if rows:
        connection.execute(sa.insert(RETIRED), rows)


def load_retired(connection: Connection, table_id: int | None = None) -> list[RetiredPartition]:
    """The retired segments of a table or of all, those first that were replaced first."""
    wanted = sa.select(RETIRED).order_by(RETIRED.c.since_us, RETIRED.c.path)
    if table_id is not None:
        wanted = wanted.where(RETIRED.c.table_id == table_id)
    return [
        RetiredPartition(r.path, r.table_id, r.until_us, r.since_us, r.job_id)
        for r in connection.execute(wanted)
    ]


def end_grace(
    connection: Connection, table_id: int, until_us: int, but: Collection[str] = ()
) -> None:
    """Let a table's retired segments stay no longer than until then, ``but`` these."""
    where = (RETIRED.c.table_id == table_id) & (RETIRED.c.until_us > until_us)
    if but:
        where &= RETIRED.c.path.not_in(list(but))
    connection.execute(sa.update(RETIRED).where(where).values(until_us=until_us))


def end_grace_of(connection: Connection, paths: Iterable[str], until_us: int) -> None:
    """Let these retired segments stay no longer than until then."""
    for path in paths:
        where = (RETIRED.c.path == path) & (RETIRED.c.until_us > until_us)
        connection.execute(sa.update(RETIRED).where(where).values(until_us=until_us))


def forget_retired(connection: Connection, paths: Iterable[str]) -> None:
    """Note that these segments are gone."""
    for path in paths:
        connection.execute(sa.delete(RETIRED).where(RETIRED.c.path == path))
