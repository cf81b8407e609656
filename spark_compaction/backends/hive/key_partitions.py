"""Lists of keys in a Hive store: partitions, one for the keys of a request in one of its tables.

    turn    the leases of the tables that open requests are about
    split   their keys by the holds as they will be; new lists are written
    commit  the hold, manifests that name the new lists, what may not be written: one transaction

A manifest names the lists that hide rows, and those that a legal hold spares.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from journal.erasure import holds
from journal.erasure.guard import load_fence
from journal.erasure.holds import Hold
from journal.erasure.requests import ErasureRequest
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.sql.row_layout import rows_in_layout
from journal.stores.hive import layout
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.leases import HeldLeases
from journal.stores.hive.pieces import pieces
from journal.stores.hive.statement import INLINE_ROWS_MAX, HiveStatement
from journal.transactions.state import TableState
from spark_compaction.backends.hive import masks, partition_backups
from spark_compaction.backends.hive.rewriting import staging
from spark_compaction.erasure import held
from spark_compaction.erasure.held import HoldChange, Settling, unchanged

_ASKED = "possibly_held"
_ROUNDS_MAX = 5


@dataclass(slots=True)
class KeyPartitions:
    """The lists of a store as a statement reads them; ``made`` takes the paths of new ones."""

    journal: HiveJournal
    statement: HiveStatement
    made: list[str]

    def definition(self, table_id: int) -> Table:
        """A table as it is defined now, or was before it was dropped."""
        committed = self.statement.committed
        return committed.catalog.by_id(table_id) or committed.tables[table_id].layouts[-1]

    def read(self, table: Table, name: str) -> pa.Table:
        """The keys of a list, in the types of the table."""
        kinds = tuple((k, table.by_physical(k).type) for k in table.key)
        keys = layout.masked_keys(self.journal.names, table, [name])
        return self.statement.session.from_spark(keys, kinds)

    def write(self, table: Table, request: str, keys: pa.Table) -> str:
        """Write a new list of keys, which nothing names yet; its path."""
        return masks.write(self.journal, self.statement.session, table, keys, self.made)

    def covered(self, table: Table, keys: pa.Table, condition: exp.Expr) -> Collection[int]:
        """The places of those keys of which any version, kept ones too, meets a condition."""
        session, journal = self.statement.session, self.journal
        state = self.statement.committed.tables[table.id]
        searched = partition_backups.with_backups(session, table, state).manifest.segments
        places = held.with_places(keys)
        found: set[int] = set()
        for start in range(0, keys.num_rows, INLINE_ROWS_MAX):
            session.show_arrow(_ASKED, places.slice(start, INLINE_ROWS_MAX))
            for piece in pieces(searched):
                source = layout.rows_of(journal.names, piece.paths).subquery()
                rows = rows_in_layout(table, source, piece.fields)
                query = session.in_spark(held.covered_query(table, rows, _ASKED, condition))
                found |= {int(row[0]) for row in session.connection.run(query)}
        return found


def settle(
    journal: HiveJournal,
    by: str,
    only: Collection[str] | None = None,
    change: HoldChange = unchanged,
) -> list[ErasureRequest]:
    """Place or release a hold, and split the keys of open requests anew, in one commit.

    What no hold covers any more is hidden, and may not be written, from that commit on. Gives the
    requests that changed.
    """
    for _ in range(_ROUNDS_MAX):
        with journal.reading_session() as session:
            found = _listed(session, only)
        if not found:
            if change is unchanged or _only_changed(journal, change):
                return []
            continue
        moved = _settled(journal, by, only, change, found)
        if moved is not None:
            return moved
    raise PalimpsestError(
        Code.JOB_BUSY,
        "requests to erase, or legal holds, change again and again",
        advice="run it again when fewer of them are made",
    )


def check_holds(session: StoreSession, judged: Collection[str]) -> None:
    """Raise JOB_BUSY unless the holds in force are those that a request was judged by."""
    if {h.id for h in holds.active_in(session)} != set(judged):
        raise PalimpsestError(
            Code.JOB_BUSY,
            "a legal hold was placed or released meanwhile",
            advice="run it again; nothing was changed",
        )


def _listed(session: StoreSession, only: Collection[str] | None) -> list[ErasureRequest]:
    """The open requests that have keys."""
    return [r for r in held.open_requests(session, only) if any(t.lists for t in r.targets)]


def _only_changed(journal: HiveJournal, change: HoldChange) -> bool:
    """Place or release a hold while no request has keys; False if one has by now."""
    with journal.exclusive_session() as session:
        if _listed(session, None):
            return False
        change(session)
        session.commit()
    return True


def _settled(
    journal: HiveJournal,
    by: str,
    only: Collection[str] | None,
    change: HoldChange,
    found: Sequence[ErasureRequest],
) -> list[ErasureRequest] | None:
    """Settle once; None if requests or holds have changed meanwhile."""
    names = {f"table:{t.table_id}" for r in found for t in r.targets if t.lists}
    with (
        journal.leases.holding(names) as turn,
        staging(journal) as made,
        journal.statement(journal.begin(read_only=True)) as statement,
    ):
        with journal.exclusive_session() as preview:
            # As it will be; this transaction is never committed.
            change(preview)
            active, now = holds.active_in(preview), _listed(preview, only)
        if now != found:
            return None
        lists = KeyPartitions(journal, statement, made)
        settled = held.settlings(journal, lists, found, active)
        if not settled and change is unchanged:
            return []
        moved = _recorded(journal, turn, by, only, change, _Judged(found, active, settled))
        if moved is None:
            journal.drop_segments(made)
            return None
    if journal.views is not None:
        journal.views.refresh(journal.look()[1])
    return moved


@dataclass(frozen=True, slots=True)
class _Judged:
    """The requests and holds that keys were split by, and what came of it."""

    found: Sequence[ErasureRequest]
    active: Sequence[Hold]
    settled: Sequence[Settling]


def _recorded(
    journal: HiveJournal,
    turn: HeldLeases,
    by: str,
    only: Collection[str] | None,
    change: HoldChange,
    judged: _Judged,
) -> list[ErasureRequest] | None:
    """Name the new lists, and record what holds make of requests; None if others were faster."""
    with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
        turn.check(connection)
        row, committed = journal.look_in(connection)
        generation = row.generation + 1
        following = replace(row, generation=generation, fence=generation)
        with journal.recording(connection) as session:
            change(session)
            if holds.active_in(session) != judged.active or _listed(session, only) != judged.found:
                return None
            moved = [held.record(journal, session, s, by) for s in judged.settled]
            fence = load_fence(session)
            session.commit()
        states: dict[int, TableState] = {}
        for one in (r for s in judged.settled for r in s.relisted if r.after != r.before):
            table_id = one.before.table_id
            given = (journal, connection, generation, table_id)
            state = states.get(table_id, committed.tables[table_id])
            states[table_id] = masks.relisted(*given, state, one.before, one.after)
        rows_of.put_state(connection, following)
    journal.keep(following, committed.with_tables(states, fence))
    return moved
