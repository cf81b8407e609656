"""Small commits of a Hive store, whose rows stay in the catalog until a flush.

    commit --few rows, the table inlines--> rows in the catalog, in the commit's own transaction
    flush: append a partition -> lease of the table -> list the segment and remove the rows, at once

Nobody changes the inlined rows of a table while another holds its lease: a commit of such rows
alone looks in the catalog's transaction that none is held. So whoever holds the lease and has
flushed finds no others until it lets go. A flush that is killed leaves a partition that nobody
lists, or is done. A commit that is not inlined takes the inlined rows along, so inlined rows are
always newer than segments, and what reads the segments alone sees a past of the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from journal.model.errors import Code, PalimpsestError
from journal.model.inlining import inline_commits
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import DropRelation, PutRelation
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment
from journal.model.store_session import MemoryRows, RowSet
from journal.model.version import Version
from journal.records.catalog import record_states
from journal.records.catalog_format import JournalRow
from journal.records.schema import STATE
from journal.sql.held_rows import combine_rows
from journal.sql.row_layout import fields_of
from journal.stores.hive import layout
from journal.stores.hive.catalog_db import inlined
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.stores.hive.leases import HeldLeases
from journal.stores.hive.row_upload import write_held
from journal.transactions.inlined_rows import InlinedRows
from journal.transactions.restamp import restamp_rows
from journal.transactions.state import TableState
from journal.transactions.transaction import Transaction

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal

ROWS_MAX, AGE_S = 2000, 5.0
_BYTES_MAX = 1 << 20
"""What the inlined rows of a table take at most: each read sends them to Spark."""
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class InlineOptions:
    """What is inlined, and for how long.

    ``is_default``: also commits to tables that say nothing of it. ``rows_max``: the most journal
    rows of a table. ``age_s``: a flush comes so many seconds after the first of them.
    """

    is_default: bool = False
    rows_max: int = ROWS_MAX
    age_s: float = AGE_S

    def inlines(self, table: Table) -> bool:
        """True for a table whose small commits stay in the catalog."""
        said = inline_commits(table)
        return self.is_default if said is None else said

    def lag_ms(self, table: Table) -> int | None:
        """By how much readers past the gateway may lag; None for a table that inlines nothing."""
        return int(self.age_s * 1000) if self.inlines(table) else None


NO_INLINING = InlineOptions()


def is_inlined(
    options: InlineOptions, table: Table, state: TableState | None, sets: Sequence[RowSet]
) -> bool:
    """True if the rows that a commit writes to a table stay in the catalog.

    They do not where they are many or large, nor where keys are being hidden, as those are looked
    for in segments.
    """
    if state is None or not options.inlines(table) or state.manifest.key_lists:
        return False
    if state.layouts[-1] != table:
        return False
    total = sum((r.counts for r in sets), state.head_counts).total
    fields = fields_of(table)
    memory = [r for r in sets if isinstance(r, MemoryRows) and r.fields in {(), fields}]
    if total > options.rows_max or len(memory) != len(sets):
        return False
    size: int = sum(r.rows.nbytes for r in (*memory, *state.inlined.pieces))
    return size <= _BYTES_MAX


def may_inline(journal: HiveJournal, transaction: Transaction) -> bool:
    """True if all that a transaction has written seems to stay in the catalog."""
    state, options = journal.state, journal.inline_options
    if transaction.changes():
        return False
    for table_id in transaction.buffered_tables():
        table = state.catalog.by_id(table_id)
        sets = transaction.buffered(table_id)
        if table is None or not is_inlined(options, table, state.tables.get(table_id), sets):
            return False
    return True


def as_one(
    table: Table, sets: Sequence[RowSet], overtaken: Mapping[Version, Version]
) -> MemoryRows:
    """Rows in memory as one set, under newer versions where theirs were overtaken."""
    memory = [r for r in sets if isinstance(r, MemoryRows)]
    rows = combine_rows(memory).combine_chunks()
    if overtaken:
        rows = restamp_rows(rows, table, overtaken)
    return MemoryRows(rows, sum((r.counts for r in memory), RowCounts()), fields_of(table))


def flush(journal: HiveJournal, table_id: int, held: HeldLeases | None = None) -> list[Segment]:
    """Make a segment of the inlined rows of a table; none where it has none.

    ``held`` has the lease of the table already; else it is taken for a moment. Raises JOB_BUSY if
    others always flush first.
    """
    for _ in range(_ROUNDS):
        _, committed = journal.read_committed()
        state = committed.tables.get(table_id)
        if state is None or not state.inlined:
            return []
        found = _flush_once(journal, table_id, state, held)
        if found is not None:
            return found
    raise PalimpsestError(
        Code.JOB_BUSY,
        "the inlined rows of a table were flushed by others again and again",
        advice="run it again",
    )


def flush_changed(journal: HiveJournal, transaction: Transaction, held: HeldLeases) -> None:
    """Flush the tables that a transaction, which holds their leases, defines anew or drops."""
    for _, change in transaction.changes():
        if isinstance(change, PutRelation) and isinstance(change.relation, Table):
            flush(journal, change.relation.id, held)
        elif isinstance(change, DropRelation):
            dropped = transaction.snapshot.catalog.get(change.name)
            if isinstance(dropped, Table):
                flush(journal, dropped.id, held)


def flush_all(journal: HiveJournal, only: Collection[int] | None = None) -> None:
    """Flush every table, or those of these ids."""
    _, committed = journal.read_committed()
    for table_id, state in committed.tables.items():
        if state.inlined and (only is None or table_id in only):
            flush(journal, table_id)


@contextmanager
def flushed(journal: HiveJournal, table_ids: Collection[int]) -> Iterator[HeldLeases]:
    """A block in which nobody commits to some tables, none of which has inlined rows."""
    with journal.leases.holding([f"table:{i}" for i in sorted(table_ids)]) as held:
        for table_id in table_ids:
            flush(journal, table_id, held)
        yield held


def _flush_once(
    journal: HiveJournal, table_id: int, state: TableState, held: HeldLeases | None
) -> list[Segment] | None:
    """The new segments; None if the rows were flushed by others meanwhile."""
    table, rows = state.layouts[-1], state.inlined
    whole, fields = combine_rows(rows.pieces), rows.pieces[0].fields
    with (
        journal.statement(Transaction(journal.state)) as statement,
        journal.new_segment(table, statement.session.connection, fields) as path,
    ):
        try:
            session = statement.session
            write_held(journal, session.local, session.connection, whole, path)
        except PalimpsestError:
            journal.drop_segments([path])
            raise
    segment = Segment.of_changes(
        path.partition("/")[2],
        (layout.segment_file(path, whole.num_rows),),
        fields,
        rows.counts,
        (rows.first, rows.last),
    )
    try:
        if held is None:
            with journal.leases.holding([f"table:{table_id}"]) as taken:
                is_listed = _list(journal, table_id, rows, segment, taken)
        else:
            is_listed = _list(journal, table_id, rows, segment, held)
    except PalimpsestError as error:
        if error.code is not Code.OUTCOME_UNKNOWN:
            journal.drop_segments([path])
        raise
    if not is_listed:
        journal.drop_segments([path])
        return None
    journal.held.put(path, whole)
    journal.staged.discard(path)
    return [segment]


def _list(
    journal: HiveJournal, table_id: int, rows: InlinedRows, segment: Segment, held: HeldLeases
) -> bool:
    """List the segment of inlined rows instead of them; False if they are not there any more."""
    with journal.catalog.writing(STATE) as connection:
        held.check(connection)
        row, committed = journal.look_in(connection)
        before = committed.tables.get(table_id)
        if before is None or before.inlined.oldest != rows.oldest:
            return False
        state = replaced(connection, table_id, before, rows, segment)
        following = record_states(connection, row, {table_id: state})
    journal.keep(following, committed.with_tables({table_id: state}))
    return True


def replaced(
    connection: CatalogConnection,
    table_id: int,
    before: TableState,
    rows: InlinedRows,
    segment: Segment,
) -> TableState:
    """A journal that lists a segment instead of these rows, the first of its inlined ones."""
    inlined.remove_rows(connection, table_id, rows.last)
    left = before.head_counts + rows.counts.times(-1)
    found = JournalRow(table_id, before.manifest, before.last_version, left)
    kept = inlined.load_rows(connection, found)
    manifest = before.manifest.with_segments([segment])
    return replace(before.with_inlined(kept), manifest=manifest)
