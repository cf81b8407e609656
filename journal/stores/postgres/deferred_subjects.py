"""What requests look for in copies out of reach, in a database: a table for each, for its owner.

A table that is dropped leaves no rows behind, as deleted rows of a shared one would. Runs in the
session it is given; commits nothing, decides nothing.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.plan import STORE_SCHEMA
from journal.stores.postgres.jobs import relations
from journal.stores.postgres.store import PostgresSession

_PREFIX = "sought_"


def _table(session: PostgresSession, request_id: str) -> str:
    return session.rendered(exp.table_(f"{_PREFIX}{request_id}", db=STORE_SCHEMA)).sql


def keep(session: PostgresSession, request_id: str, sought: str) -> None:
    """Write down what a request looks for."""
    table = _table(session, request_id)
    session.text(f"CREATE TABLE {table} (sought text NOT NULL)")
    session.text(f"INSERT INTO {table} VALUES (?)", [sought])  # noqa: S608


def kept(session: PostgresSession, request_id: str) -> str | None:
    """What a request looks for; None if that is lost."""
    if request_id not in names(session):
        return None
    rows = session.text(f"SELECT sought FROM {_table(session, request_id)}")  # noqa: S608
    return str(rows[0][0]) if rows else None


def names(session: PostgresSession) -> set[str]:
    """The requests for which something is kept."""
    there = relations(session, "r")
    return {n.removeprefix(_PREFIX) for n in there if n.startswith(_PREFIX)}


def forget(session: PostgresSession, request_id: str) -> None:
    """Drop what a request looked for."""
    session.text(f"DROP TABLE {_table(session, request_id)}")
