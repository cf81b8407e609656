"""Accepts a request: finds its rows, hides them, and records it in one commit.

    search   what the store holds, live and kept, copies elsewhere, and what depends on what is
             found there, while others read and write
    accept   rows that came since; lists of keys that hide rows, suppressions, the request, and the
             audit entry, in one commit (``ErasureBackend.change_lists``)

Identifiers are held in memory only. What is written down are keys and keyed hashes. A dry run
writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from functools import partial

import pyarrow as pa

from journal.erasure import audit
from journal.erasure.erasure_spec import ErasureSpec, aims
from journal.erasure.matching import keys_without
from journal.erasure.requests import ErasureRequest, State, Target
from journal.erasure.scope import load_scope
from journal.erasure.secret import lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.erasure.table_share import TableShare, earlier_lists, pieces_of
from journal.erasure.unreachable_copies import (
    check_need_not_ask_again,
    check_searched,
    receipts,
)
from journal.model.dependents import Dependents, dependents_of
from journal.model.lazy_dataclass import dataclass
from journal.model.policy import PREFIX
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.records import erasure_rows as rows_of
from journal.records.safe_mode_rows import check_not_safe
from journal.sql.relations_flat import is_flat
from journal.transactions.reading import reading
from journal.transactions.state import JournalState
from spark_compaction.erasure import legal_holds
from spark_compaction.erasure.backend import ErasureBackend, KeyLists, ListChange, ListDecision
from spark_compaction.erasure.cascade import CascadeWalker, too_fast
from spark_compaction.erasure.deferred_search import subjects_text
from spark_compaction.erasure.legal_holds import KeySplit
from spark_compaction.erasure.offsite_search import search_copies
from spark_compaction.erasure.orphaned_rows import orphaned_rows
from spark_compaction.erasure.reject_search import reject_receipts
from spark_compaction.erasure.search import NOT_LOOKED_AT
from spark_compaction.erasure.shared_identifiers import Shared
from spark_compaction.erasure.table_search import TableSearch
from spark_compaction.programs import copies

_ROUNDS_MAX = 5
_LATE_FILES_MAX = 16
"""So many files may be searched inside the commit section; for more, the search begins anew."""


@dataclass(slots=True)
class _Searching:
    """The search for one request, over all tables there are."""

    backend: ErasureBackend
    wanted: ErasureSpec
    tidies: bool
    found: list[TableSearch] = field(default_factory=list)
    walker: CascadeWalker = field(init=False)
    shared: Shared = field(init=False)

    def begin(self) -> None:
        """Search while others read and write; raises ERASURE if no table could hold anybody.

        What depends on what is found is known only if all copies could be searched.
        """
        wanted, backend = self.wanted, self.backend
        with reading(backend.journal) as statement:
            session, committed = statement.session, statement.committed
            targets = aims(session, committed, wanted)
            self.found = [
                TableSearch(
                    aim,
                    changes=() if aim.is_whole else tuple(wanted.changes.get(aim.table.id, ())),
                    is_taken=not aim.is_whole,
                    rows_only=aim.table.id in wanted.rows_only and not aim.is_whole,
                    share=_share_of(wanted, aim.table),
                )
                for aim in targets
            ]
            for one in self.found:
                self._search(session, committed, one)
            scope = load_scope(session)
            self.shared = Shared(wanted, [s.aim for s in self.found])
            self.shared.look_ahead(session, committed)
        for one in self.found:
            is_asked = not wanted.rows or one.table.id in wanted.among or one.aim.is_whole
            if one.is_searched and is_asked and not one.is_partial:
                search_copies(backend, one.aim, wanted, one.search, tidies=self.tidies)
            if one.table.id in wanted.among and wanted.again is None:
                check_need_not_ask_again(one.search.left)
        self.walker = CascadeWalker(backend, self.tidies, wanted.dependents, scope)
        with reading(backend.journal) as statement:
            committed = statement.committed
            for one in self.found:
                if committed.catalog.references.get(one.table.id):
                    if dependents_of(one.table, wanted.dependents) is not Dependents.REPORT:
                        check_searched(one.search.left)
            self.walker.search(statement.session, committed, self.removed_keys())

    def _search(self, session: StoreSession, state: JournalState, one: TableSearch) -> None:
        """Search a table for what was not seen yet; a condition is asked anew as a whole."""
        if not one.is_searched:
            return
        table, search, wanted = one.table, one.search, self.wanted
        if not wanted.rows or one.aim.is_whole:
            subjects, at, is_all = wanted.subjects, one.at(state), not one.is_partial
            self.backend.search_rows(session, at, one.aim, subjects, search, kept=is_all)
            if one.is_partial:
                found = pieces_of(at.tables[table.id].manifest.segments)
                one.pieces = tuple(dict.fromkeys([*one.pieces, *found]))
        else:
            one.matched = wanted.rows[table.id]()
            find = wanted.among.get(table.id)
            with self.backend.kept_segments(session, state, table, search) as kept:
                if kept and find is not None:
                    search.keys.append(find(kept))
                    search.count_kept(kept)
                elif find is None and (
                    kept or copies.recorded_copies(self.backend.journal, table.id)
                ):
                    search.warns = NOT_LOOKED_AT
        search.version = state.tables[table.id].last_version

    def finish(self, lists: KeyLists, *, patient: bool) -> bool:
        """Search on in the commit section; False if the search must begin anew, or better does."""
        session, state = lists.session, lists.committed
        behind = [s for s in self.found if s.is_behind(state)]
        if patient and self.wanted.rows and any(not is_flat(s.table) for s in behind):
            return False
        if patient and sum(s.unseen_files(state) for s in behind) > _LATE_FILES_MAX:
            return False
        searched = [s.table for s in self.found if s.is_searched]
        reached = self.walker.reached(state, [t.id for t in searched])
        lists.block_writers({t.id: t for t in (*searched, *reached)}.values())
        for one in self.found:
            if not self.wanted.rows or one.is_behind(state):
                self._search(session, state, one)
        return self.conclude(session, state)

    def conclude(self, session: StoreSession, state: JournalState) -> bool:
        """Take along what depends on what was found by now, and count what refers to it.

        False if copies must be searched for what came since. Raises FOREIGN_KEY if rows refer to
        what goes, and may not.
        """
        tables = {s.table.id: s for s in self.found}
        if state.catalog.references:
            if not self.walker.finish(session, state, self.removed_keys()):
                return False
            if not self.walker.found.keys() <= tables.keys():
                return False
            for table_id, cascaded in self.walker.found.items():
                tables[table_id].cascade(cascaded, self.walker.search_of(cascaded.table))
        going = self.removed_keys()
        touched = {*going, *(s.table.id for s in self.found if s.changes and s.keys() is not None)}
        for one in self.found:
            if one.aim.is_whole:
                one.is_taken = one.is_searched and self._may_hold(one, state, touched)
        orphans = orphaned_rows(session, state, going, self.wanted.dependents)
        for one in self.found:
            one.dangling = orphans.get(one.table.id, {})
        self.shared.count_remaining(session, state, going)
        return True

    def _may_hold(self, view: TableSearch, state: JournalState, going: AbstractSet[int]) -> bool:
        """True if a materialised view may hold, in any version, rows of somebody who is meant.

        That cannot be excluded where rows of its tables have gone before it was refreshed.
        """
        made = view.table.materialized
        assert made is not None
        if not going.isdisjoint(made.sources):
            return True
        searches = {s.table.id: s for s in self.found if s.is_searched}
        for source in set(made.sources) & searches.keys():
            properties = searches[source].table.properties
            if searches[source].search.left or any(n.startswith(PREFIX) for n, _ in properties):
                return True
        return False

    def removed_keys(self) -> dict[int, pa.Table]:
        """The keys of rows that go, by table; those of rows that stay are none of them."""
        keys = {s.table.id: s.keys() for s in self.found if not s.changes}
        return {table_id: found for table_id, found in keys.items() if found is not None}


def _search(backend: ErasureBackend, wanted: ErasureSpec, *, tidies: bool) -> _Searching:
    """Search all tables while others read and write; goes on in the commit section."""
    searching = _Searching(backend, wanted, tidies)
    searching.begin()
    return searching


def accept(backend: ErasureBackend, wanted: ErasureSpec, by: str) -> ErasureRequest:
    """Accept a request: hide who is meant, and record it.

    Raises ERASURE when no table could hold them, FOREIGN_KEY when rows that stay refer to theirs
    and may not, JOB_BUSY when holds are placed and released all the while.
    """
    wanted.check()
    for left in reversed(range(_ROUNDS_MAX)):
        searching = _search(backend, wanted, tidies=True)
        tables = {s.table.id for s in searching.found if s.is_searched}
        tables |= searching.walker.found.keys()
        decide = partial(_decided, searching, by, left > 0)
        request = backend.change_lists(tables, decide)
        if request is not None:
            return request
    raise too_fast()


def dry_run(backend: ErasureBackend, wanted: ErasureSpec) -> ErasureRequest:
    """What accepting would find: keys, versions, files and bytes, by table; nothing is written."""
    wanted.check()
    searching = _search(backend, wanted, tidies=False)
    targets = []
    with reading(backend.journal) as statement:
        session, committed = statement.session, statement.committed
        searching.conclude(session, committed)
        for one in searching.found:
            keys = one.keys()
            target = one.target(keys)
            if keys is not None:
                counted = backend.count_keys(session, committed, one.table, keys)
                target = replace(
                    target,
                    versions_removed=0 if one.changes else counted.versions,
                    versions_changed=counted.versions if one.changes else 0,
                    files_rewritten=counted.files,
                    bytes_rewritten=counted.bytes,
                )
            targets += [target, *receipts(one.table, one.search.left)]
        targets += _reject_receipts(searching, session)
    now = backend.journal.clock.now()
    told = searching.shared.remarked(targets)
    return ErasureRequest(
        "dry-run", State.ACCEPTED, now, now, "", wanted.reason, wanted.types, told
    )


def cancel(backend: ErasureBackend, request: ErasureRequest, by: str) -> ErasureRequest:
    """Let the rows be seen again and written again; raises ERASURE once some are purged."""
    journal = backend.journal

    def decide(lists: KeyLists) -> ListDecision[ErasureRequest]:
        current = next(iter(lists.open_requests([request.id])), None)
        if current is None:
            current = next(r for r in _recorded(lists.session) if r.id == request.id)
        done = current.cancelled(journal.clock.now())

        def record(session: StoreSession) -> ErasureRequest:
            rows_of.put_erasure(session, done.to_row())
            rows_of.drop_suppressions(session, done.id)
            audit.record(journal, session, by, "erase.cancel", done.id, {})
            return done

        changes = [ListChange(t.table_id, t.lists) for t in current.targets if t.lists]
        subjects = (done.id, None) if current.unsearched else None
        return ListDecision(record, changes, subjects)

    tables = {t.table_id for t in request.targets if t.lists}
    cancelled = backend.change_lists(tables, decide)
    assert cancelled is not None
    return cancelled


def _recorded(session: StoreSession) -> list[ErasureRequest]:
    return [ErasureRequest.of_row(row) for row in rows_of.load_erasures(session)]


def _decided(
    searching: _Searching, by: str, patient: bool, lists: KeyLists
) -> ListDecision[ErasureRequest] | None:
    """Write the lists of what was found by now; None if the search must begin anew."""
    if not searching.finish(lists, patient=patient):
        return None
    backend, wanted = searching.backend, searching.wanted
    request_id = backend.new_request_id()
    splits: list[tuple[Table, KeySplit]] = []
    targets: list[Target] = []
    earlier = lists.open_requests(wanted.share.earlier) if wanted.share is not None else []
    for one in searching.found:
        table, found = one.table, one.keys()
        keys = keys_without(found, [lists.read(table, n) for n in earlier_lists(earlier, table.id)])
        target = one.target(keys)
        if keys is not None:
            # What is only hidden is not in the way of a hold, which keeps rows from removal.
            split = KeySplit(keys, None)
            if not wanted.restricts:
                split = legal_holds.split_keys(backend.journal, lists, table, keys)
            target = legal_holds.write_lists(lists, table, request_id, target, split)
            splits.append((table, split))
        left = receipts(table, one.search.left)
        targets.append(target)
        targets += [replace(t, changes=one.changes, rows_only=one.rows_only) for t in left]
    targets += _reject_receipts(searching, lists.session)
    record = partial(_record, searching, by, request_id, targets, splits)
    is_deferred = any(t.is_deferred for t in targets)
    return ListDecision(
        record,
        [ListChange(t.table_id, mask=t.mask, spared=t.spared) for t in targets if t.lists],
        (request_id, subjects_text(wanted)) if is_deferred else None,
    )


def _share_of(wanted: ErasureSpec, table: Table) -> TableShare | None:
    share = wanted.share
    return share if share is not None and share.table_id == table.id else None


def _reject_receipts(searching: _Searching, session: StoreSession) -> list[Target]:
    """The receipts of reject files, which the purge searches.

    A condition cannot be asked of rejected rows, and neither can what they depend on.
    """
    if any(one.is_partial for one in searching.found):
        return []
    searched, by_condition = {}, bool(searching.wanted.rows)
    for one in searching.found:
        if one.is_searched or one.depends:
            searched[one.table.id] = by_condition or bool(one.depends)
    passed = {s.table.id for s in searching.found} - searched.keys()
    found = reject_receipts(session, searched, passed)
    return [t for t in found if t.table_id in searched or not by_condition]


def _record(
    searching: _Searching,
    by: str,
    request_id: str,
    targets: Sequence[Target],
    splits: Sequence[tuple[Table, KeySplit]],
    session: StoreSession,
) -> ErasureRequest:
    """Write suppressions, the request and its audit entry."""
    journal, wanted = searching.backend.journal, searching.wanted
    check_not_safe(session, "to erase")
    now = journal.clock.next()
    expires = None if wanted.expires_us is None else now + wanted.expires_us
    entries = Suppressor(session, request_id, now, expires, lasting_secret(journal, session))
    for table, split in splits:
        # The keys of a materialised view are never given again.
        if table.materialized is None:
            legal_holds.suppress(entries, table, split)
    searching.shared.enter(entries)
    for one in searching.found:
        if one.rows_only and one.is_searched:
            # Nothing else keeps out whoever read the rows before, and copies them now.
            rows_of.add_changed(session, one.table.id, request_id, now)
    request = ErasureRequest(
        *(request_id, State.RESTRICTED if wanted.restricts else State.ACCEPTED, now, now),
        *(by, wanted.reason, wanted.types),
        searching.shared.remarked(targets),
        expires=expires,
    )
    audit.record_accepted(journal, session, request)
    holders = [split.holder for _, split in splits if split.holder is not None]
    return legal_holds.record_accepted(journal, session, request, holders, by)
