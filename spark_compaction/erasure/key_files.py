"""Lists of keys in an embedded warehouse: files, one for the keys of a request and table.

    <root>/_palimpsest/erasure/<request>_t<table>_<n>.keys     on disk before a manifest names it

A manifest names those that hide rows, and those that a legal hold spares. Here they are written and
read, rows of their keys are held against a hold, and keys are split anew when holds change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import pyarrow as pa
from sqlglot import exp

from journal.erasure import holds
from journal.erasure.guard import load_fence
from journal.erasure.matching import shown_keys
from journal.erasure.requests import ErasureRequest
from journal.erasure.secret import PRIVATE
from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.records import retired
from journal.sql.relations import union_all
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.keys import write_keys
from journal.transactions.state import TableState
from spark_compaction.erasure import held
from spark_compaction.erasure.held import HoldChange, Relisted, unchanged
from spark_compaction.erasure.key_matches import holdings

_ASKED, _FOUND = "possibly_held", "keys_of_request"


@dataclass(slots=True)
class KeyFiles:
    """The lists of a warehouse in one session; ``written`` are those that were made."""

    journal: Journal
    session: DuckDBSession
    written: list[str] = field(default_factory=list)

    def definition(self, table_id: int) -> Table:
        """A table as it is defined now, or was before it was dropped."""
        state = self.journal.state
        return state.catalog.by_id(table_id) or state.tables[table_id].layouts[-1]

    def read(self, table: Table, name: str) -> pa.Table:
        """The keys of a list, in the types of the table."""
        rows = layout.key_rows(table, [str(self.journal.root / name)])
        return self.session.arrow(Query(rows, ()), {})

    def typed(self, table: Table, found: Sequence[pa.Table]) -> pa.Table:
        """Keys that were found, once each, in the types of the table."""
        self.session.show_arrow(_FOUND, pa.concat_tables(found, promote_options="permissive"))
        return self.session.arrow(Query(shown_keys(table, _FOUND).distinct(), ()), {})

    def write(self, table: Table, request: str, keys: pa.Table) -> str:
        """Write a new list of keys, which nothing names yet; its path in the warehouse."""
        folder = f"{PRIVATE}/erasure/{request}_t{table.id}"
        number = 0
        while (path := self.journal.root / f"{folder}_{number}.keys").exists():
            number += 1
        path.parent.mkdir(mode=0o700, exist_ok=True)
        name = f"{folder}_{number}.keys"
        self.written.append(name)
        write_keys(self.session, table, [keys], path)
        return name

    def undo(self) -> None:
        """Remove the files that nothing names; after a breakdown the next start does it."""
        if self.journal.store.broke_down:
            return
        for name in self.written:
            (self.journal.root / name).unlink(missing_ok=True)

    def covered(self, table: Table, keys: pa.Table, condition: exp.Expr) -> Collection[int]:
        """The places of those keys of which any version, kept ones too, meets a condition."""
        rows = self._rows(table, keys)
        if not rows:
            return ()
        self.session.show_arrow(_ASKED, held.with_places(keys))
        query = held.covered_query(table, union_all(rows), _ASKED, condition)
        places = self.session.arrow(Query(query, ()), {})
        return [int(place) for (place,) in self.session.arrow_rows(places)]

    def _rows(self, table: Table, keys: pa.Table) -> list[exp.Query]:
        """Rows among which all those of the keys are: heads, and files that hold one."""
        journal, session = self.journal, self.session
        manifest = journal.state.tables[table.id].manifest
        kept = [r.segment for r in retired.load(session, table.id)]
        draft = f"{PRIVATE}/dry-{journal.new_segment_id()}.keys"
        (journal.root / PRIVATE).mkdir(mode=0o700, exist_ok=True)
        try:
            write_keys(session, table, [keys], journal.root / draft)
            found = holdings(
                session, journal.root, table, [*manifest.segments, *kept], [draft], manifest.heads
            )
        finally:
            (journal.root / draft).unlink(missing_ok=True)
        ordered = sorted(found.held, key=lambda h: h.segment.fields)
        parts = [
            layout.segment_rows(table, [h.file.path for h in group], fields, journal.root)
            for fields, group in groupby(ordered, key=lambda h: h.segment.fields)
        ]
        return [*parts, *(layout.head_rows(table, head) for head in manifest.heads)]


def settle(
    journal: Journal,
    by: str,
    only: Collection[str] | None = None,
    change: HoldChange = unchanged,
) -> list[ErasureRequest]:
    """Place or release a hold, and split the keys of open requests anew, in one commit.

    What no hold covers any more is hidden, and may not be written, from that commit on. Gives the
    requests that changed.
    """
    with journal.exclusive_session() as session:
        change(session)
        files = KeyFiles(journal, session)
        try:
            active = holds.active_in(session)
            found = held.open_requests(session, only)
            settled = held.settlings(journal, files, found, active)
            moved = [held.record(journal, session, s, by) for s in settled]
            changes = _changes([r for s in settled for r in s.relisted])
            if changes:
                journal.swap_all(session, changes, fenced=load_fence(session))
            else:
                session.commit()
        except BaseException:
            files.undo()
            raise
    return moved


def _changes(relisted: Sequence[Relisted]) -> dict[int, Callable[[TableState], TableState]]:
    """What becomes of manifests, by table."""
    tables = {r.before.table_id for r in relisted if r.after != r.before}

    def listing(table_id: int) -> Callable[[TableState], TableState]:
        found = [r for r in relisted if r.before.table_id == table_id]
        return lambda state: replace(state, manifest=listed(state.manifest, found))

    return {table_id: listing(table_id) for table_id in tables}


def listed(manifest: Manifest, found: Sequence[Relisted]) -> Manifest:
    """A manifest that names new lists of keys in the places of others."""
    for one in found:
        if one.after != one.before:
            manifest = manifest.without_keys(one.before.lists)
            manifest = manifest.with_keys(one.after.mask, one.after.spared)
    return manifest
