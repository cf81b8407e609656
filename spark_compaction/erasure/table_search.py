"""One table while it is searched for a request: what was found, and the receipt so far.

A table may be searched in parts, for several requests: see ``journal.erasure.table_share``. Reads
nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import pyarrow as pa

from journal.erasure.column_changes import ColumnChange
from journal.erasure.erasure_spec import TargetTable
from journal.erasure.matching import distinct_keys
from journal.erasure.requests import Outcome, Target
from journal.erasure.table_share import TableShare
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.sql.relations_flat import is_flat
from journal.transactions.state import JournalState
from spark_compaction.erasure.cascade import CascadedTable
from spark_compaction.erasure.search import Search


@dataclass(slots=True)
class TableSearch:
    """One table while it is searched; ``matched`` are the live rows that meet a condition."""

    aim: TargetTable
    search: Search = field(default_factory=Search)
    matched: pa.Table | None = None
    dangling: Mapping[str, int] = field(default_factory=dict)
    depends: str = ""
    """Why rows of it go whom nobody named; empty if none do."""
    pieces: tuple[str, ...] = ()
    """What was searched of it, where that is a part."""
    _cascaded: pa.Table | None = None
    changes: tuple[ColumnChange, ...] = ()
    """What becomes of its columns where its rows stay."""
    rows_only: bool = False
    share: TableShare | None = None
    is_taken: bool = True
    """False for a materialised view as long as nothing goes that it may be made of."""

    @property
    def table(self) -> Table:
        return self.aim.table

    @property
    def is_searched(self) -> bool:
        """True if it is searched for who is meant."""
        return self.aim.why_not is None

    @property
    def is_partial(self) -> bool:
        """True if another request searches what comes from now on, and what is kept besides."""
        return self.share is not None and not self.share.is_last

    def at(self, state: JournalState) -> JournalState:
        """A state with what is to be searched of the table."""
        if self.share is None:
            return state
        held = state.tables[self.table.id]
        narrowed = replace(held, manifest=self.share.of(held.manifest))
        return state.with_tables({self.table.id: narrowed})

    def cascade(self, cascaded: CascadedTable, search: Search) -> None:
        """Let rows go as well that depend on what goes; raises PRIVACY_ACTION where rows stay."""
        if self.changes:
            raise PalimpsestError(
                Code.PRIVACY_ACTION,
                f"rows of {self.table.name} would go, as they refer to erased ones, but its columns"
                " are to be changed and its rows to stay",
                advice="erase its rows as well, or let rows that refer to erased ones stay",
            )
        if not self.is_searched:
            self.search = search
        self.depends, self._cascaded = cascaded.why, cascaded.keys

    def is_behind(self, state: JournalState) -> bool:
        """True if rows may have come since the search; to an adopted journal they always may."""
        last = state.tables[self.table.id].last_version
        if self.is_partial:
            return False
        return self.is_searched and (self.search.version != last or is_flat(self.table))

    def unseen_files(self, state: JournalState) -> int:
        """How many files a manifest lists that were not searched by name."""
        segments = self.at(state).tables[self.table.id].manifest.segments
        return sum(f.path not in self.search.seen for s in segments for f in s.files)

    def keys(self) -> pa.Table | None:
        """All keys that were found, once each; None if there are none."""
        if not self.is_taken:
            return None
        if self._cascaded is not None:
            # They include those found before.
            return distinct_keys([self._cascaded])
        return distinct_keys([*self.search.keys, *([] if self.matched is None else [self.matched])])

    def target(self, keys: pa.Table | None) -> Target:
        """The receipt so far."""
        table, name = self.table, str(self.table.name)
        why_not, left = self.aim.why_not, Outcome.NOT_SEARCHED
        if why_not is not None and not self.depends:
            return Target(table.id, name, left, why_not, holds_copies=self.aim.holds_copies)
        live, kept, copied = self.search.live, self.search.kept, self.search.copies
        return Target(
            table.id,
            name,
            Outcome.SEARCHED_NONE if keys is None else Outcome.PENDING,
            "; ".join(part for part in (self.depends, self.search.warns) if part),
            keys=0 if keys is None else keys.num_rows,
            files_searched=live.read,
            files_skipped=live.skipped,
            bytes_searched=live.bytes_read,
            bytes_skipped=live.bytes_skipped,
            kept_searched=kept.read,
            kept_skipped=kept.skipped,
            kept_bytes_searched=kept.bytes_read,
            kept_bytes_skipped=kept.bytes_skipped,
            copies_searched=copied.read,
            copies_skipped=copied.skipped,
            copies_bytes_searched=copied.bytes_read,
            copies_bytes_skipped=copied.bytes_skipped,
            dangling=self.dangling,
            changes=self.changes,
            rows_only=self.rows_only,
            pieces=self.pieces,
        )
