"""What an embedded warehouse does for erasures: filters say which files need not be opened.

Segments are files, masks are files of keys. Decides nothing: see ``spark_compaction.erasure``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from journal.erasure import deferred_subjects, holds
from journal.erasure.erasure_spec import Subjects, TargetTable, requests
from journal.erasure.guard import load_fence
from journal.erasure.requests import ErasureRequest
from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.model.store_session import StoreSession
from journal.records.backups import Backup
from journal.records.report import JobReport, Work
from journal.stores.embedded import retired_files
from journal.stores.embedded.backup_files import WarehouseTransport
from journal.stores.embedded.journal import Journal
from journal.transactions.protocol import OpenStatement
from journal.transactions.state import JournalState, TableState
from spark_compaction.backends.embedded_erasure import completion, erasing, offsite_purge
from spark_compaction.backends.embedded_erasure.historical_schema import show_ever
from spark_compaction.backends.embedded_erasure.key_files import KeyFiles, matches_of
from spark_compaction.backends.embedded_erasure.locate import Locator, by_fields
from spark_compaction.contract import silent
from spark_compaction.erasure.backend import (
    Decide,
    HoldChange,
    KeyCount,
    ListChange,
    PurgeRun,
    SourceRows,
    T,
    unchanged,
)
from spark_compaction.erasure.search import Search, unseen
from spark_compaction.programs import copied_filters, copies


@dataclass(frozen=True, slots=True)
class WarehouseErasure:
    """The ``ErasureBackend`` of an embedded warehouse.

    Completion waits ``idle_wait_s`` seconds for a moment when no statement runs.
    """

    journal: Journal
    idle_wait_s: float = 5.0
    purges_at_once: bool = False
    reads_dropped: bool = True

    def new_request_id(self) -> str:
        """An id that no request has."""
        return self.journal.new_segment_id()[:12]

    def search_rows(
        self,
        session: StoreSession,
        state: JournalState,
        aim: TargetTable,
        subjects: Subjects,
        search: Search,
        *,
        kept: bool = True,
    ) -> None:
        """Search files that were not searched yet, by their filters, and heads, which grow."""
        locator = self._locator(session, aim, subjects, search)
        manifest, checker = state.tables[aim.table.id].manifest, self.journal.checker
        locator.sealed(manifest.segments, search.live, checker)
        if kept:
            with retired_files.pinned(self.journal, aim.table.id) as segments:
                locator.sealed(segments, search.kept, checker)
        locator.heads(manifest.heads)

    def _locator(
        self, session: StoreSession, aim: TargetTable, subjects: Subjects, search: Search
    ) -> Locator:
        assert isinstance(session, DuckDBSession)
        return Locator(session, self.journal.root, aim.table, aim.identities, subjects, search)

    @contextmanager
    def kept_segments(
        self, session: StoreSession, state: JournalState, table: Table, search: Search
    ) -> Iterator[tuple[Segment, ...]]:
        """Retired segments that anybody may ask back, whole, in files that were not searched."""
        search.count_live(state.tables[table.id].manifest.segments)
        with retired_files.pinned(self.journal, table.id) as segments:
            left = [s for s in (unseen(s, search.seen) for s in segments) if s is not None]
            self.journal.checker.check(left)
            yield tuple(left)

    def search_copy(
        self, aim: TargetTable, subjects: Subjects, listed: Backup, search: Search
    ) -> None:
        """Bring those files of a copy that its filters do not exclude, and search them."""

        def bring(paths: Collection[str]) -> AbstractContextManager[Mapping[str, Path]]:
            return copies.fetched(self.transport(aim.table), listed, paths, silent)

        with self.journal.reading_session() as session:
            locator = self._locator(session, aim, subjects, search)
            locator.search_copy(listed.segments, copied_filters.read(listed), bring)

    def transport(self, table: Table) -> WarehouseTransport:
        """Files come into a folder of the warehouse that nothing lists."""
        return WarehouseTransport(self.journal, table)

    def segments_of(self, here: Backup) -> tuple[Segment, ...]:
        """As they are."""
        return here.segments

    @contextmanager
    def rows_here(
        self, session: StoreSession, state: JournalState, table: Table, search: Search
    ) -> Iterator[SourceRows]:
        """Live segments, those that are kept besides, and heads; files are checked, and stay."""
        manifest = state.tables[table.id].manifest
        with retired_files.pinned(self.journal, table.id) as kept:
            segments = [*manifest.segments, *kept]
            self.journal.checker.check(segments)
            search.count_live(manifest.segments)
            search.count_kept(kept)

            def rows(skipped: Collection[str], heads: bool) -> list[exp.Query]:
                files = self._rows(table, segments, skipped)
                return [*(layout.head_rows(table, h) for h in manifest.heads if heads), *files]

            yield SourceRows({f.path for s in segments for f in s.files}, rows)

    def rows_of(self, table: Table, segments: Sequence[Segment]) -> Sequence[exp.Query]:
        """The rows of files that were brought."""
        return self._rows(table, segments, ())

    def _rows(
        self, table: Table, segments: Sequence[Segment], skipped: Collection[str]
    ) -> list[exp.Query]:
        found: list[exp.Query] = []
        for fields, files in by_fields(segments):
            paths = [f.path for f in files if f.path not in skipped]
            if paths:
                found.append(layout.segment_rows(table, paths, fields, self.journal.root))
        return found

    def piece_sizes(
        self, session: StoreSession, state: JournalState, table: Table
    ) -> Mapping[str, int]:
        """Of files; heads are small."""
        segments = state.tables[table.id].manifest.segments
        return {f.path: f.bytes for s in segments for f in s.files}

    def count_keys(
        self, session: StoreSession, state: JournalState, table: Table, keys: pa.Table
    ) -> KeyCount:
        """Exactly which files hold how many rows of the keys."""
        assert isinstance(session, DuckDBSession)
        manifest = state.tables[table.id].manifest
        with retired_files.pinned(self.journal, table.id) as kept:
            found = matches_of(self.journal, session, manifest, kept, table, keys)
        size = sum(h.file.bytes for h in found.held)
        return KeyCount(found.counts.total, len(found.held), size)

    def whole_table(self, statement: OpenStatement, table: Table) -> Table:
        """With the columns that were dropped."""
        return show_ever(self.journal, statement, table)

    def change_lists(
        self, tables: Collection[int], decide: Decide[T], change: HoldChange = unchanged
    ) -> T | None:
        """In the commit section, where nobody else commits to any table."""
        journal = self.journal
        with journal.exclusive_session() as session:
            change(session)
            lists = KeyFiles(journal, session, holds.active_in(session))
            aside: str | None = None
            try:
                decision = decide(lists)
                if decision is None:
                    return None
                if decision.subjects is not None:
                    aside, text = decision.subjects
                    if text is not None:
                        deferred_subjects.keep(journal.root, aside, text)
                done = decision.record(session)
                changes = {c.table_id: _listing(c.table_id, decision.lists) for c in decision.lists}
                journal.swap_all(session, changes, fenced=load_fence(session))
            except BaseException:
                lists.undo()
                if aside is not None:
                    deferred_subjects.forget(journal.root, aside)
                raise
        if decision.subjects is not None or any(c.dropped for c in decision.lists):
            completion.tidy(journal, wait_s=0)
        return done

    def deferred_subjects(self, request_id: str) -> str | None:
        """What lies in the request's private file."""
        return deferred_subjects.load_subjects(self.journal.root, request_id)

    def forget_subjects(self) -> None:
        """Remove the private files of requests that look for nothing any more."""
        deferred_subjects.forget_stale(self.journal.root, requests(self.journal))

    def planned(self, table: Table, masks: Sequence[str]) -> Work:
        """Which files hold the keys, exactly, and what heads would be sealed to."""
        return erasing.planned(self.journal, table, masks)

    def remove_rows(
        self, table: Table, masks: Callable[[], Sequence[str]], run: PurgeRun
    ) -> list[JobReport]:
        """Write files anew until none holds a key."""
        return erasing.remove_rows(self.journal, table, tuple(masks()), run)

    def purge_copy(
        self,
        table: Table,
        listed: Backup,
        definition: Table,
        masks: Sequence[str],
        run: PurgeRun,
    ) -> tuple[int, Mapping[str, int]]:
        """Write those files of a copy anew that hold a key."""
        return offsite_purge.purge_copy(self.journal, table, listed, definition, masks, run)

    def clear_remains(self, purged: Sequence[ErasureRequest]) -> Mapping[str, str]:
        """Remove files, and free blocks of the database file, at a moment when nobody reads."""
        waits_for = completion.clear_remains(self.journal, purged, self.idle_wait_s)
        return {r.id: waits_for for r in purged if waits_for is not None}


def _listing(table_id: int, lists: Iterable[ListChange]) -> Callable[[TableState], TableState]:
    """What becomes of a table's manifest."""
    changes = [c for c in lists if c.table_id == table_id]

    def listing(state: TableState) -> TableState:
        manifest = state.manifest
        for change in changes:
            manifest = change.applied(manifest)
        return replace(state, manifest=manifest)

    return listing
