"""A transaction of few rows that is committed in one trip, with its checks and its record.

    BEGIN -> advisory lock -> locks of adopted journals -> checks, rows, record -> COMMIT

All of it is sent at once, for the state that this process has seen last. Under the lock the server
looks whether that is still the state, and whether a classic tool has written keys of adopted
journals; if anything is in the way, it writes nothing, and the commit section says what it is.
Builds texts and sends them; when it is tried is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlglot import exp

from journal.erasure.guard import may_be_erased
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Head
from journal.model.store_session import MemoryRows, RowSet
from journal.model.version import HybridClock, Version
from journal.records.catalog_format import StateRow
from journal.records.schema import TRANSACTIONS
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import fields_of
from journal.sql.unique_keys import further_keys
from journal.stores.postgres import flat, flat_conflicts, layout
from journal.stores.postgres.adopt.stale_writes import lock_all
from journal.stores.postgres.arrow import array_text
from journal.stores.postgres.catalog import TAKE_LOCK
from journal.stores.postgres.dialect.text import EpochOf, rendered
from journal.stores.postgres.few_rows import FEW_ROWS_MAX, query_of_values
from journal.stores.postgres.one_trip import STATE_IS
from journal.stores.postgres.pipeline_cursor import Sent
from journal.stores.postgres.public import shown_tiers
from journal.stores.postgres.rows import columns_of, values_of
from journal.stores.postgres.section import SectionResult
from journal.stores.postgres.store import BEGIN_SECTION, PostgresSession
from journal.transactions.commit_plan import CommitPlan, commit_plan
from journal.transactions.conflicts import check_catalog
from journal.transactions.head_tables import mine_of
from journal.transactions.references import linked
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author, transaction_row

_KEPT_MAX = 256
_ALIKE = ", pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true)"
"""The server plans the write once: whatever the rows are, they are few, and looked up by key."""


@dataclass(frozen=True, slots=True)
class BufferedTrip:
    """Rows of tables and the record of their commit, on top of a state."""

    before: JournalState
    rows: Mapping[int, tuple[Table, list[list[Any]]]]
    """Values column by column, by the ids of their tables, with the versions that they get."""
    result: SectionResult
    catalog: Version
    record: Sequence[object]
    first: Version

    @property
    def version(self) -> Version:
        """The version of the commit."""
        assert self.result.version is not None, "it writes a row of it"
        return self.result.version

    def run(self, session: PostgresSession) -> bool:
        """Write and commit; False where something is in the way, and nothing was done."""
        values: list[object] = []
        shown: list[str] = []
        for table, rows in self.rows.values():
            columns = columns_of(session, table, fields_of(table), rows)
            shown.append(query_of_values(columns, len(values)))
            values += [array_text(column.values) for column in columns]
        tables = [table for table, _ in self.rows.values()]
        heads = tuple(self.before.tables[table.id].manifest.heads for table in tables)
        epochs = tuple(self.before.epoch_of(table.id) for table in tables)
        sql = _write(tuple(tables), heads, epochs, tuple(shown), len(values))
        added = [self._added(table) for table in tables]
        counts = map(array_text, (list(self.rows), *zip(*added, strict=True)))
        record = [array_text(v) if isinstance(v, list) else v for v in self.record]
        values += [self.result.row.generation - 1, self.first, *record, *counts]
        # Other definitions are another text, as the types of parameters are found once.
        written = (f"{sql} /* {self.catalog} */", values)
        answers = session.run_together([*_before(tables), written, ("COMMIT", None)])
        return answers[-2] == (b"t",)

    def _added(self, table: Table) -> tuple[int, int, int]:
        """By how many rows of each kind a head grows; nobody counts those of a flat journal."""
        after, before = self.result.state.tables[table.id], self.before.tables[table.id]
        counts = after.head_counts - before.head_counts
        return counts.open, counts.closing, counts.tombstone


def may_fit(transaction: Transaction) -> bool:
    """True for a transaction that has few rows to write, and nothing else to record."""
    if transaction.lineage or transaction.alongside is not None:
        return False
    if any(writes.changes or writes.relied_on for writes in transaction.writes):
        return False
    sets = [rows for writes in transaction.writes for _, rows in writes.rows]
    if not all(isinstance(rows, MemoryRows) for rows in sets):
        return False
    return sum(rows.counts.total for rows in sets) <= FEW_ROWS_MAX


def planned(
    transaction: Transaction,
    committed: JournalState,
    row: StateRow,
    clock: HybridClock,
    author: Author,
) -> BufferedTrip | None:
    """What a transaction that ``may_fit`` comes to; None where the state asks for a closer look."""
    own = transaction.buffered_tables()
    referring = linked(committed.catalog, own) | linked(transaction.catalog, own)
    ends = own | referring
    if not own or any(transaction.is_replaced(i, committed) for i in ends):
        return None
    try:
        check_catalog(transaction, committed)
    except PalimpsestError:
        # The state that it was compared with may be an old one.
        return None
    tables = {i: table for i in sorted(own) if (table := committed.catalog.by_id(i)) is not None}
    if len(tables) < len(own) or any(
        _needs_a_look(table, transaction, committed) for table in tables.values()
    ):
        return None
    if referring and any(transaction.is_pinned(i, committed) for i in ends):
        return None
    versions = {writes.version: clock.next() for writes in transaction.writes}
    plan = commit_plan(committed, transaction.writes, versions)
    states = {i: _with_rows(committed.tables[i], tables[i], plan) for i in tables}
    if any(shown_tiers(s) != shown_tiers(committed.tables[i]) for i, s in states.items()):
        return None
    following = replace(row, generation=row.generation + 1, version=plan.version)
    result = SectionResult(following, plan.next_state(committed, states), plan.version)
    record = transaction_row(plan.writes, transaction, author, committed.catalog).values
    rows = {i: (table, _restamped(plan.rows[i], versions)) for i, table in tables.items()}
    return BufferedTrip(committed, rows, result, row.catalog, record, plan.first_version)


def _needs_a_look(table: Table, transaction: Transaction, committed: JournalState) -> bool:
    """True for a table whose rows have to be compared with what others have written, or erased."""
    if may_be_erased(committed.fence, table):
        return True
    fields = {(), fields_of(table)}
    sets = transaction.buffered(table.id)
    if not all(isinstance(rows, MemoryRows) and rows.fields in fields for rows in sets):
        return True
    is_pinned = transaction.is_pinned(table.id, committed)
    if is_flat(table):
        return is_pinned and bool(further_keys(table))
    return is_pinned or not committed.tables[table.id].manifest.heads


def _with_rows(state: TableState, table: Table, plan: CommitPlan) -> TableState:
    if is_flat(table):
        return replace(state, last_version=plan.version)
    return state.with_rows(plan.rows[table.id], plan.version)


def _restamped(sets: Sequence[RowSet], versions: Mapping[Version, Version]) -> list[list[Any]]:
    """The values of rows in memory under the versions that they are committed under."""
    *values, starts, ends = values_of([held for held in sets if isinstance(held, MemoryRows)])
    return [*values, *([versions.get(v, v) for v in times] for times in (starts, ends))]


def _before(tables: Sequence[Table]) -> list[Sent]:
    """What is run before rows are read, as in the commit section."""
    locks = lock_all([t.journal_name for t in tables if is_flat(t)], TAKE_LOCK, _ALIKE)
    return [(sql, None) for sql in (BEGIN_SECTION, *locks)]


@lru_cache(maxsize=_KEPT_MAX)
def _write(
    tables: tuple[Table, ...],
    heads: tuple[tuple[Head, ...], ...],
    epochs: tuple[int, ...],
    shown: tuple[str, ...],
    given: int,
) -> str:
    """Appends rows ``shown`` and records them, if the state is as assumed and nothing conflicts.

    Its parameters: so many ``given`` ones, the generation, the first version, the values of the
    record, and the counts.
    """
    of_table = dict(zip([table.id for table in tables], epochs, strict=True))
    clauses = {mine_of(t): f"MATERIALIZED ({sql})" for t, sql in zip(tables, shown, strict=True)}
    first = given + 3
    names = TRANSACTIONS.names
    places = {name: f"${i}" for i, name in enumerate(names, first)}
    is_now = STATE_IS.format(generation=f"${given + 1}", version=f"${given + 2}")
    fits = [f"EXISTS ({is_now})"]
    for table in filter(is_flat, tables):
        found = flat_conflicts.late_and_above(table, mine_of(table))
        name = f"checked_{table.id}"
        clauses[name] = f"MATERIALIZED ({_text(found, of_table.__getitem__)})"
        fits.append(f"(SELECT NOT late AND highest IS NULL FROM {name})")  # noqa: S608
    clauses["fits"] = f"MATERIALIZED (SELECT {' AND '.join(fits)} AS fits)"
    for table, known in zip(tables, heads, strict=True):
        clauses[f"written_{table.id}"] = f"({_insert(table, known)})"
    number = first + len(names)
    arrays = ", ".join(f"${number + i}::bigint[]" for i in range(4))
    version = places["version"]
    clauses["grown"] = (
        f"(UPDATE _palimpsest.journals AS j SET changed = ${given + 1} + 1,"  # noqa: S608
        f" last_version = {version}, open_rows = j.open_rows + a.open_rows,"
        " closing_rows = j.closing_rows + a.closing_rows, tombstones = j.tombstones + a.tombstones"
        f" FROM unnest({arrays}) AS a (table_id, open_rows, closing_rows, tombstones), fits"
        " WHERE fits AND j.table_id = a.table_id)"
    )
    # It comes as text: the library takes longer to write an array than all the other values.
    places["tables"] += "::text[]"
    clauses["recorded"] = (
        f"(INSERT INTO _palimpsest.transactions ({', '.join(names)})"  # noqa: S608
        f" SELECT {', '.join(places[name] for name in names)} FROM fits WHERE fits)"
    )
    clauses["moved"] = (
        f"(UPDATE _palimpsest.state SET generation = ${given + 1} + 1,"  # noqa: S608
        f" version = {version} FROM fits WHERE fits)"
    )
    listed = ", ".join(f"{name} AS {clause}" for name, clause in clauses.items())
    return f"WITH {listed} SELECT fits FROM fits"  # noqa: S608


def _text(tree: exp.Expr, epoch_of: EpochOf) -> str:
    return rendered(tree, epoch_of).sql


def _insert(table: Table, heads: tuple[Head, ...]) -> str:
    """Appends the rows of a table, if all is as it shall be."""
    mine = mine_of(table)
    if is_flat(table):
        insert = flat.insert_of_new(table, mine)
    else:
        rows = exp.select("*").from_(mine)
        insert = layout.insert_into(table, layout.head_table(table.id, heads[-1]), rows)
    all_fits = exp.Exists(this=exp.select("1").from_("fits").where("fits"))
    insert.expression.where(all_fits, copy=False)
    return rendered(insert).sql
