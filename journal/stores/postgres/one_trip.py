"""A write of one statement that is committed in the trip that makes it.

    BEGIN -> advisory lock -> lock of an adopted journal -> rows and their record -> COMMIT

All of it is sent at once, for the state that this process has seen last. Under the lock the server
looks whether that is still the state; if not, it writes nothing, and the statement takes the long
way. Rows, counts and the row of the transaction are one statement, so that what is recorded is what
was written. Builds texts and sends them; which writes may go this way is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Append
from journal.model.schema import Table
from journal.model.segment import Head
from journal.model.store_session import Parameters
from journal.records.catalog_format import StateRow, stored_format
from journal.records.schema import FORMAT, TRANSACTIONS
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import flat, layout
from journal.stores.postgres.adopt.stale_writes import lock_all
from journal.stores.postgres.arrow import array_text
from journal.stores.postgres.catalog import TAKE_LOCK
from journal.stores.postgres.dialect.text import Text, render, rendered
from journal.stores.postgres.pipeline_cursor import Sent
from journal.stores.postgres.store import BEGIN_SECTION, PostgresSession
from journal.transactions.state import JournalState
from journal.transactions.transaction_rows import TransactionRow

_PLACE = "one trip"
"""Where a query keeps the text that is made of it."""
_ROWS = "rows_written"
_RECORDED = tuple(name for name in TRANSACTIONS.names if name != _ROWS)
STATE_IS = (
    "SELECT FROM _palimpsest.state WHERE generation = {generation} AND version < {version}"
    f" AND settled < {{version}} AND {stored_format().sql(dialect='postgres')} = '{FORMAT}'"
)
"""A row, if the state is the one that is assumed, and below the version of the write."""


@dataclass(frozen=True, slots=True)
class OneTripText:
    """The statements of a trip but its COMMIT: what comes before the write, and the write.

    ``parameters`` are those of its rows; those of the record come after them.
    """

    heads: tuple[Head, ...]
    epochs: tuple[tuple[int, int], ...]
    before: tuple[Sent, ...]
    sql: str
    parameters: tuple[str, ...]

    def fits(self, heads: tuple[Head, ...], committed: JournalState) -> bool:
        """True for a text that appends to the last of these, and reads tiers as they are now."""
        return self.heads == heads and all(
            committed.epoch_of(table) == epoch for table, epoch in self.epochs
        )


def one_trip_text(
    session: PostgresSession, committed: JournalState, row: StateRow, table: Table, step: Append
) -> OneTripText | None:
    """The text of an append, which is kept with its query; None where it cannot be one.

    What has constants that mean one thing now and another later, the server must not keep.
    """
    heads = committed.tables[table.id].manifest.heads
    found = step.query.memo.get(_PLACE)
    if isinstance(found, OneTripText) and found.fits(heads, committed):
        return found
    rows = render(step.query, committed.epoch_of)
    if not rows.is_lasting:
        return None
    if rows.enums:
        session.have_types(rows.enums)
    # Other definitions are another text, as the types of parameters are found once.
    sql = f"{_write(table, heads, step, rows)} /* {row.catalog} */"
    found = OneTripText(heads, rows.epochs, _before(table), sql, rows.parameters)
    step.query.memo[_PLACE] = found
    return found


def run_in_one_trip(
    session: PostgresSession,
    text: OneTripText,
    parameters: Parameters,
    row: StateRow,
    record: TransactionRow,
) -> int | None:
    """Write on top of ``row`` and commit; how many journal rows, None if it took the long way.

    That is so where the state is another one, and where others have given a key of an adopted
    journal the version of the write, or a later one. Raises OUTCOME_UNKNOWN when the connection is
    cut. The number of rows that ``record`` tells is not heeded.
    """
    told = dict(zip(TRANSACTIONS.names, record.values, strict=True))
    values = [parameters[name] for name in text.parameters]
    told["tables"] = array_text(record.tables)
    values += [row.generation, *(told[name] for name in _RECORDED)]
    answers = session.run_together([*text.before, (text.sql, values), ("COMMIT", None)])
    is_as_assumed, number = answers[-2]
    return int(number or 0) if is_as_assumed == b"t" else None


def _before(table: Table) -> tuple[Sent, ...]:
    """What is run before rows are read, as in the commit section."""
    locks = lock_all([table.journal_name] if is_flat(table) else [], TAKE_LOCK)
    return tuple((sql, None) for sql in (BEGIN_SECTION, *locks))


def _write(table: Table, heads: tuple[Head, ...], step: Append, rows: Text) -> str:
    """Appends rows and records them, if the state is as assumed and no row is too low."""
    first = len(rows.parameters) + 1
    places = {name: f"${i}" for i, name in enumerate(("generation", *_RECORDED), first)}
    clauses = {
        flat.NEW: f"MATERIALIZED ({rows.sql})",
        "is_now": f"MATERIALIZED ({STATE_IS.format(**places)})",
    }
    fits = "EXISTS (SELECT FROM is_now)"
    if is_flat(table):
        above = rendered(flat.versions_above(table, flat.NEW)).sql
        clauses[flat.ABOVE] = f"MATERIALIZED ({above})"
        fits = f"{fits} AND (SELECT highest FROM {flat.ABOVE}) IS NULL"  # noqa: S608
        insert = flat.insert_of_new(table)
    else:
        new = exp.select("*").from_(flat.NEW)
        insert = layout.insert_into(table, layout.head_table(table.id, heads[-1]), new)
    number = exp.select("number").from_("total").subquery(copy=False)
    some = exp.GT(this=number, expression=exp.Literal.number(0))
    insert.expression.where(some, copy=False)
    clauses["fits"] = f"MATERIALIZED (SELECT {fits} AS fits)"
    clauses["total"] = (
        f"MATERIALIZED (SELECT count(*) AS number FROM {flat.NEW} WHERE (SELECT fits FROM fits))"  # noqa: S608
    )
    clauses["written"] = f"({rendered(insert).sql})"
    clauses |= _records(table, step, places)
    listed = ", ".join(f"{name} AS {clause}" for name, clause in clauses.items())
    return f"WITH {listed} SELECT fits, number FROM fits, total"  # noqa: S608


def _records(table: Table, step: Append, places: Mapping[str, str]) -> dict[str, str]:
    """Clauses that record a write, if it has written anything: journal, transaction and state."""
    counts = _counts(step)
    # Nobody counts the rows of a flat journal.
    added = {} if is_flat(table) else {f"{kind}_rows": counts[kind] for kind in ("open", "closing")}
    if not is_flat(table):
        added["tombstones"] = counts["tombstone"]
    grown = "".join(f", {name} = j.{name} + {number}" for name, number in added.items())
    names = ", ".join((*_RECORDED, _ROWS))
    # It comes as text: the library takes longer to write an array than all the other values.
    places = {**places, "tables": f"{places['tables']}::text[]"}
    values = ", ".join(places[name] for name in _RECORDED)
    changed = f"{counts['open']} + {counts['tombstone']}"
    return {
        "grown": f"(UPDATE _palimpsest.journals AS j SET changed = {places['generation']} + 1,"  # noqa: S608
        f" last_version = {places['version']}{grown} FROM total"
        f" WHERE number > 0 AND j.table_id = {table.id})",
        "recorded": f"(INSERT INTO _palimpsest.transactions ({names})"  # noqa: S608
        f" SELECT {values}, {changed} FROM total WHERE number > 0)",
        "moved": f"(UPDATE _palimpsest.state SET generation = {places['generation']} + 1,"  # noqa: S608
        f" version = {places['version']} FROM total WHERE number > 0)",
    }


def _counts(step: Append) -> dict[str, str]:
    """How many rows of each kind so many rows are, by ``Append.counts``."""
    kinds = ("open", "closing", "tombstone")
    if step.single:
        return {kind: f"(number > {place})::integer" for place, kind in enumerate(kinds)}
    each = step.per_change
    assert each is not None, "such a step says what each change makes"
    return {kind: f"number / {each.total} * {getattr(each, kind)}" for kind in kinds}
