"""Rows of deferred searches on servers: a table for each request.

A table that is dropped leaves no rows behind, as deleted rows of a shared one would. Runs in the
session it is given; commits nothing, decides nothing.
"""

from __future__ import annotations

from journal.model.store_session import RecordSession
from journal.records.record_types import RecordColumn, RecordTable, RecordType
from journal.records.statements import columns_of, create, drop, execute, insert, select

_PREFIX = "sought_"


def _table(request_id: str) -> RecordTable:
    return RecordTable(f"{_PREFIX}{request_id}", (RecordColumn("sought", RecordType.TEXT),))


def keep(session: RecordSession, request_id: str, sought: str) -> None:
    """Write down what a request looks for."""
    table = _table(request_id)
    for statement in create(table, keyed=False):
        execute(session, statement)
    execute(session, insert(table), [sought])


def load_subjects(session: RecordSession, request_id: str) -> str | None:
    """What a request looks for; None if that is lost."""
    if request_id not in names(session):
        return None
    rows = execute(session, select(_table(request_id)))
    return str(rows[0][0]) if rows else None


def names(session: RecordSession) -> set[str]:
    """The requests for which something is kept."""
    found = columns_of(session)
    return {n.removeprefix(_PREFIX) for n in found if n.startswith(_PREFIX)}


def forget(session: RecordSession, request_id: str) -> None:
    """Drop what a request looked for."""
    execute(session, drop(_table(request_id)))
