"""The claims of a commit, and whether others have written them since its snapshot.

    own keys as checksums --in those the catalog kept of later commits?--> 40001
                          --not kept, or too many--> the rows themselves, in Spark

First committer wins, per key. It writes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from journal.local_engine.rows import show_rows
from journal.model.schema import Table
from journal.model.segment import Tier
from journal.model.store_session import MemoryRows, RowSet, StagedRows
from journal.model.version import Version
from journal.sql.relations import column, union_all
from journal.sql.row_layout import journal_fields
from journal.stores.hive import layout
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.statement import HiveStatement
from journal.transactions import conflicts
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal

_INLINED = "conflict_inlined"
CLAIMS_KEPT_US = 3600 * 1_000_000
"""How long it is known which keys a commit has written; later that is looked up in Spark."""


class Claims:
    """Those of one transaction, on top of what is committed now."""

    def __init__(
        self,
        journal: HiveJournal,
        transaction: Transaction,
        statement: HiveStatement,
        committed: JournalState,
    ) -> None:
        self._journal = journal
        self._transaction = transaction
        self._statement = statement
        self._committed = committed

    def check(self) -> dict[int, str | None]:
        """Raise if keys this transaction wrote were written by a commit after its snapshot.

        Otherwise what it claims, by table: JSON text; None where only Spark can tell.
        """
        found: dict[int, str | None] = {}
        snapshot = self._transaction.snapshot.version
        for table_id in sorted(self._transaction.buffered_tables()):
            table = self._committed.catalog.by_id(table_id)
            if table is None:
                continue
            if self._transaction.snapshot.epoch_of(table_id) != self._committed.epoch_of(table_id):
                # Rows were erased since: what this transaction has read of them may not come back.
                raise conflicts.conflict(table)
            mine = _claim_checksums(table, self._transaction.buffered(table_id))
            found[table_id] = None if mine is None else json.dumps(sorted(mine))
            if not self._transaction.is_pinned(table_id, self._committed):
                continue
            with self._journal.catalog.reading() as connection:
                theirs = rows_of.load_claims(connection, table_id, snapshot)
            known = snapshot > self._journal.clock.now() - CLAIMS_KEPT_US
            if mine is not None and known and None not in theirs:
                if any(not mine.isdisjoint(json.loads(t or "[]")) for t in theirs):
                    raise conflicts.conflict(table)
                continue
            self._look_for_conflicts(table, snapshot)
        return found

    def _look_for_conflicts(self, table: Table, snapshot: Version) -> None:
        """The same by the rows themselves, in Spark."""
        session, mine = self._statement.session, conflicts.MINE
        self._statement.show_rows(table, mine.name, self._transaction.buffered(table.id))
        manifest = self._committed.tables[table.id].manifest
        later = [
            (s.files[0].path, s.fields)
            for s in manifest.segments
            if s.max_version > snapshot and s.tier is not Tier.HISTORY
        ]
        parts = [layout.staged_rows(self._journal.names, table, later)] if later else []
        inlined = self._committed.tables[table.id].inlined
        if inlined:
            self._statement.show_rows(table, _INLINED, inlined.pieces)
            parts.append(exp.select(*map(column, table.journal_columns)).from_(_INLINED))
        if not parts:
            return
        theirs = conflicts.written_after(table, union_all(parts), snapshot)
        session.put_remote(conflicts.THEIRS.name, theirs.this)
        conflicts.check_rows(session, table, mine, conflicts.THEIRS)

    def show_whole(self, table: Table, name: str) -> None:
        """Let local queries read all that the transaction has written to a table."""
        session, sets = self._statement.session, self._transaction.buffered(table.id)
        memory = [r for r in sets if isinstance(r, MemoryRows)]
        for rows in sets:
            if isinstance(rows, StagedRows):
                columns = journal_fields(table, rows.fields)
                query = layout.rows_of(self._journal.names, [f.path for f in rows.files])
                query.set("expressions", [column(n) for n, _ in columns])
                found = session.typed(session.from_spark(query, columns), columns)
                memory.append(MemoryRows(found, rows.counts, rows.fields))
        show_rows(session.local, table, name, memory)


def _claim_checksums(table: Table, sets: Sequence[RowSet]) -> frozenset[str] | None:
    """What a commit lays claim to, as checksums; None where only Spark can tell."""
    claims = conflicts.claims(table, sets)
    if claims is None:
        return None
    return frozenset(hashlib.sha256(repr(c).encode()).hexdigest()[:20] for c in claims)
