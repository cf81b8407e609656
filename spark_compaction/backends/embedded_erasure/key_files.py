"""Lists of keys in an embedded warehouse: files, one for the keys of a request and table.

    <root>/_palimpsest/erasure/<request>_t<table>_<n>.keys     on disk before a manifest names it

A manifest names those that hide rows, and those that a legal hold spares. Here they are written and
read, and rows of their keys are held against a hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from itertools import groupby

import pyarrow as pa
from sqlglot import exp

from journal.erasure.holds import Hold
from journal.erasure.requests import ErasureRequest
from journal.erasure.secret import PRIVATE
from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Manifest, Segment
from journal.records import retired
from journal.sql.relations import union_all
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.keys import write_keys
from journal.transactions.state import JournalState
from spark_compaction.backends.embedded_erasure.key_matches import Holdings, holdings
from spark_compaction.erasure import legal_holds

_ASKED = "possibly_held"


@dataclass(slots=True)
class KeyFiles:
    """The lists of a warehouse in one session; ``written`` are those that were made."""

    journal: Journal
    session: DuckDBSession
    active: Sequence[Hold]
    written: list[str] = field(default_factory=list)

    @property
    def committed(self) -> JournalState:
        """What is committed, which nobody changes meanwhile."""
        return self.journal.state

    def open_requests(self, only: Collection[str] | None) -> list[ErasureRequest]:
        """The requests that are not purged everywhere; of all, or ``only`` some."""
        return legal_holds.open_requests(self.session, only)

    def block_writers(self, tables: Iterable[Table]) -> None:
        """Nobody writes to a warehouse without its gateway."""

    def read(self, table: Table, name: str) -> pa.Table:
        """The keys of a list, in the types of the table."""
        rows = layout.key_rows(table, [str(self.journal.root / name)])
        return self.session.arrow(Query(rows, ()), {})

    def write(self, table: Table, request: str, keys: pa.Table) -> str:
        """Write a new list of keys, which nothing names yet; its path in the warehouse."""
        folder = f"{PRIVATE}/erasure/{request}_t{table.id}"
        number = 0
        while (path := self.journal.root / f"{folder}_{number}.keys").exists():
            number += 1
        for made in (path.parent.parent, path.parent):
            made.mkdir(mode=0o700, exist_ok=True)
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

    def keys_meeting(self, table: Table, keys: pa.Table, condition: exp.Expr) -> Collection[int]:
        """The places of those keys of which any version, kept ones too, meets a condition."""
        rows = self._rows(table, keys)
        if not rows:
            return ()
        self.session.show_arrow(_ASKED, legal_holds.with_places(keys))
        query = legal_holds.covered_query(table, union_all(rows), _ASKED, condition)
        places = self.session.arrow(Query(query, ()), {})
        return [int(place) for (place,) in self.session.arrow_rows(places)]

    def _rows(self, table: Table, keys: pa.Table) -> list[exp.Query]:
        """Rows among which all those of the keys are: heads, and files that hold one."""
        journal, manifest = self.journal, self.journal.state.tables[table.id].manifest
        known = [r.segment for r in retired.load(self.session, table.id)]
        found = matches_of(journal, self.session, manifest, known, table, keys)
        ordered = sorted(found.held, key=lambda h: h.segment.fields)
        parts = [
            layout.segment_rows(table, [h.file.path for h in group], fields, journal.root)
            for fields, group in groupby(ordered, key=lambda h: h.segment.fields)
        ]
        return [*parts, *(layout.head_rows(table, head) for head in manifest.heads)]


def matches_of(
    journal: Journal,
    session: DuckDBSession,
    manifest: Manifest,
    known: Sequence[Segment],
    table: Table,
    keys: pa.Table,
) -> Holdings:
    """Where the rows of some keys lie in what is live, heads too, and in retired segments."""
    draft = f"{PRIVATE}/dry-{journal.new_segment_id()}.keys"
    (journal.root / PRIVATE).mkdir(mode=0o700, exist_ok=True)
    try:
        write_keys(session, table, [keys], journal.root / draft)
        return holdings(
            session, journal.root, table, [*manifest.segments, *known], [draft], manifest.heads
        )
    finally:
        (journal.root / draft).unlink(missing_ok=True)
