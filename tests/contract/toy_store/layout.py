"""How journals lie in the file: a table for each head and segment; tiers are queries over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from sqlglot import exp

from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Fields, Head, Segment, Tier
from journal.model.store_session import MemoryRows, RowSet
from journal.sql.counting import Fingerprint, hashed_rows
from journal.sql.held_rows import shown_in_parts
from journal.sql.relations import column, ident, union_all
from journal.sql.row_layout import insert_fields, rows_in_layout, written_rows
from journal.transactions.head_tables import HeadTables
from journal.transactions.state import JournalState
from journal.transactions.tiers import tier_of
from journal.transactions.transaction import Transaction
from tests.contract.toy_store.session import SqliteSession


def head_name(table_id: int, head: Head) -> str:
    """The table behind a head."""
    return f"t{table_id}_head_{head.generation}"


def journal_columns(table: Table, fields: Fields) -> Fields:
    """The columns of rows that were written as ``fields``: versions are numbers here."""
    return (*fields, *((name, "BIGINT") for name in table.ends))


def rows_of(name: str) -> exp.Table:
    """A table of rows, which may be as temporary as its name."""
    return exp.Table(this=ident(name))


def tier_rows(committed: JournalState, transaction: Transaction, name: str) -> exp.Query | None:
    """What a tier holds, in one of the layouts of its table; None for another relation."""
    found = tier_of(name, committed, transaction)
    if found is None:
        return None
    table, manifest, tier = found
    pieces = [(s.id, s.fields) for s in manifest.in_tier(tier)]
    if tier is Tier.HEAD:
        pieces = [(head_name(table.id, h), h.fields) for h in manifest.heads]
    return union_all([rows_in_layout(table, rows_of(n), fields) for n, fields in pieces])


def show_rows(session: SqliteSession, table: Table, name: str, sets: Sequence[RowSet]) -> None:
    """Let queries of a transaction read rows that it has written as a relation."""

    def show(part: str, fields: Fields, rows: pa.Table) -> None:
        session.make("TEMP TABLE", part, journal_columns(table, fields))
        session.fill(part, rows)

    memory = [rows for rows in sets if isinstance(rows, MemoryRows)]
    session.stage(name, Query(union_all(shown_in_parts(table, name, memory, show)), ()), {})


def create_head(session: SqliteSession, table: Table, head: Head) -> None:
    """Make the table behind a head."""
    session.make("TABLE", head_name(table.id, head), journal_columns(table, head.fields))


def append(session: SqliteSession, table: Table, head: Head, rows: exp.Query) -> None:
    """Add the rows of a query to those of a head."""
    target = rows_of(head_name(table.id, head))
    session.run(insert_fields(table, target, head.fields, rows))


HEADS = HeadTables(show_rows, create_head, append, lambda *_: True)
"""An epoch ends here only where a retention removes rows."""


def made_by_jobs(session: SqliteSession, table_id: int) -> set[str]:
    """The tables of rows that jobs have written for a journal."""
    listed = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ?"
    return {name for (name,) in session.text(listed, [f"t{table_id}_s*"])}


def drop(session: SqliteSession, names: Iterable[str]) -> None:
    """Drop tables of rows."""
    for name in names:
        session.run(exp.Drop(tables=[rows_of(name)], kind="TABLE"))


def fingerprint(session: SqliteSession, rows: exp.Query) -> Fingerprint:
    """How many rows, and the sum of their hashes."""
    values = [column(name) for name in rows.named_selects]
    return hashed_rows(session, rows, exp.Anonymous(this="row_hash", expressions=values))


def held(session: SqliteSession, table: Table, segment: Segment) -> Fingerprint:
    """The same of a segment."""
    return fingerprint(session, written_rows(table, rows_of(segment.id), segment.fields))
