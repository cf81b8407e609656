"""Accepting a request to erase: who is meant is found, and from the commit on nobody sees them.

    search:  segments, live and kept, and copies elsewhere, by filters, while others read and write
    accept:  heads and what was sealed meanwhile; masks, suppressions, the request, the audit entry
             (one transaction in the commit section)

Identifiers are held in memory only. What is written down are the keys of the rows that match, in a
file that goes when the request is completed, and keyed hashes. A dry run writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from journal.erasure import audit, holds
from journal.erasure.deferred_subjects import forget, keep
from journal.erasure.erasure_spec import ErasureSpec, TargetTable, aims
from journal.erasure.holds import Hold
from journal.erasure.requests import ErasureRequest, Outcome, State, Target
from journal.erasure.scope import load_scope
from journal.erasure.secret import PRIVATE, lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.erasure.unreachable_copies import Unsearched, check_searched, receipts
from journal.local_engine.session import DuckDBSession
from journal.model.dependents import Dependents, dependents_of
from journal.model.schema import Table
from journal.records import retired
from journal.stores.embedded import retired_files
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.keys import write_keys
from journal.stores.embedded.statement import Statement
from journal.transactions.state import TableState
from spark_compaction.erasure import held
from spark_compaction.erasure.backup_search import (
    rows_copied,
    rows_kept,
    search_copies,
    search_kept,
)
from spark_compaction.erasure.cascade import CascadedTable, CascadeWalker, together, too_fast
from spark_compaction.erasure.deferred_search import to_keep
from spark_compaction.erasure.erasure_source import WarehouseSource
from spark_compaction.erasure.key_files import KeyFiles
from spark_compaction.erasure.key_matches import holdings
from spark_compaction.erasure.left_behind import left_behind
from spark_compaction.erasure.locate import Locator, Search, unseen
from spark_compaction.erasure.offsite_search import NOT_LOOKED_AT
from spark_compaction.erasure.shared_identifiers import Shared

_ROUNDS_MAX = 5
_LATE_FILES_MAX = 16
"""So many files may be searched inside the commit section; for more, the search begins anew."""


@dataclass(slots=True)
class _Sought:
    """One table while it is searched; a condition has no locator, and its keys in what is kept."""

    aim: TargetTable
    locator: Locator | None = None
    keys: list[pa.Table] = field(default_factory=list)
    kept: list[pa.Table] = field(default_factory=list)
    search: Search = field(default_factory=Search)
    warns: str = ""
    left: list[Unsearched] = field(default_factory=list)
    dangling: Mapping[str, int] = field(default_factory=dict)
    depends: str = ""
    """Why rows of it go whom nobody named; empty if none do."""

    @property
    def table(self) -> Table:
        """The table."""
        return self.aim.table

    @property
    def why_not(self) -> str | None:
        """Why it is not searched."""
        return None if self.depends else self.aim.why_not

    def take(self, followed: CascadedTable, search: Search) -> None:
        """Let rows go as well that depend on what goes."""
        if self.aim.why_not is not None:
            self.search = search
        self.depends = followed.why
        if followed.keys is not None:
            # They include those found before.
            self.keys = [followed.keys]


def accept(journal: Journal, wanted: ErasureSpec, by: str) -> ErasureRequest:
    """Accept a request; raises ERASURE when no table could hold who is meant."""
    wanted.check()
    for attempt in range(_ROUNDS_MAX):
        found, follower, shared = _search(journal, wanted, tidies=True)
        with journal.exclusive_session() as session:
            late = [_late(journal, session, t) for t in found if t.why_not is None]
            if attempt + 1 < _ROUNDS_MAX and sum(map(len, late)) > _LATE_FILES_MAX:
                continue
            for sought in found:
                if sought.why_not is None:
                    _finish(journal, session, sought, wanted)
            if not _follow(journal, session, found, follower):
                continue
            _look_for_references(journal, session, found, wanted)
            shared.look(session, journal.state, _going(found))
            return _write(journal, session, found, shared, by)
    raise too_fast()


def dry_run(journal: Journal, wanted: ErasureSpec) -> ErasureRequest:
    """What accepting would find: keys, versions, files and bytes, by table; nothing is written."""
    wanted.check()
    found, follower, shared = _search(journal, wanted, tidies=False)
    now = journal.clock.now()
    targets = []
    with journal.reading_session() as session:
        folder = journal.root / PRIVATE
        folder.mkdir(mode=0o700, exist_ok=True)
        draft = f"{PRIVATE}/dry-{journal.new_segment_id()}.keys"
        for sought in found:
            if sought.why_not is None:
                _finish(journal, session, sought, wanted)
        _follow(journal, session, found, follower)
        _look_for_references(journal, session, found, wanted)
        shared.look(session, journal.state, _going(found))
        for sought in found:
            target = _target(sought)
            if sought.why_not is None and sought.keys:
                keys = write_keys(session, sought.table, sought.keys, journal.root / draft)
                manifest = journal.state.tables[sought.table.id].manifest
                with retired_files.pinned(journal, sought.table.id) as kept:
                    held = holdings(
                        *(session, journal.root, sought.table),
                        *((*manifest.segments, *kept), [draft], manifest.heads),
                    )
                (journal.root / draft).unlink()
                target = replace(
                    target,
                    keys=keys,
                    versions_removed=held.counts.total,
                    files_rewritten=len(held.held),
                    bytes_rewritten=sum(h.file.bytes for h in held.held),
                )
            targets += [target, *receipts(sought.table, sought.left)]
    told = shared.remarked(targets)
    return ErasureRequest(
        "dry-run", State.ACCEPTED, now, now, "", wanted.reason, wanted.types, told
    )


def _search(
    journal: Journal, wanted: ErasureSpec, *, tidies: bool
) -> tuple[list[_Sought], CascadeWalker[WarehouseSource], Shared]:
    """The sealed part of every table in question, what is kept besides, and the copies.

    What depends on it is found by the follower, which goes on in the commit section, as who else
    holds the identifiers does.
    """
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            found = [_Sought(aim) for aim in aims(statement.session, statement.committed, wanted)]
            for sought in found:
                if sought.why_not is not None:
                    continue
                if wanted.rows:
                    _search_by_condition(journal, sought, wanted, tidies=tidies)
                    continue
                locator = Locator(
                    *(statement.session, journal.root, sought.table),
                    *(sought.aim.identities, wanted.subjects, sought.search),
                )
                sought.locator = locator
                state = statement.committed.tables[sought.table.id]
                statement.check_segments([sought.table.id])
                locator.segments(state.manifest.segments)
                search_kept(journal, locator)
                sought.left = search_copies(journal, locator, tidies=tidies)
            scope = load_scope(statement.session)
            follower = CascadeWalker(WarehouseSource(journal, tidies), wanted.dependents, scope)
            _search_dependents(statement, found, wanted, follower)
            shared = Shared(wanted, [s.aim for s in found])
            shared.look_ahead(statement.session, statement.committed)
            return found, follower, shared
    finally:
        journal.rollback(transaction)


def _search_dependents(
    statement: Statement,
    found: Sequence[_Sought],
    wanted: ErasureSpec,
    follower: CascadeWalker[WarehouseSource],
) -> None:
    """What depends on what was found; heads are asked here, too, so that copies are in time."""
    state, seeds = statement.committed, dict[int, pa.Table]()
    for sought in found:
        table = sought.table
        if sought.why_not is not None or not state.catalog.references.get(table.id):
            continue
        if dependents_of(table, wanted.dependents) is not Dependents.REPORT:
            check_searched(sought.left)
        if not follower.cascades(state, table):
            continue
        if sought.locator is None:
            seeds[table.id] = together([wanted.rows[table.id](), *sought.kept])
            continue
        sought.locator.heads(state.tables[table.id].manifest.heads)
        if sought.locator.search.keys:
            seeds[table.id] = together(sought.locator.search.keys)
    follower.search(statement.session, state, seeds)


def _follow(
    journal: Journal,
    session: DuckDBSession,
    found: Sequence[_Sought],
    follower: CascadeWalker[WarehouseSource],
) -> bool:
    """Take along what depends on what was found by now; False if the search must begin anew."""
    state, tables, seeds = journal.state, {s.table.id: s for s in found}, _going(found)
    if not state.catalog.references:
        return True
    if not follower.finish(session, state, seeds) or not follower.found.keys() <= tables.keys():
        return False
    for table_id, followed in follower.found.items():
        tables[table_id].take(followed, follower.ground.search(followed.table))
    return True


def _search_by_condition(
    journal: Journal, sought: _Sought, wanted: ErasureSpec, *, tidies: bool
) -> None:
    """What is kept, here and elsewhere; the live part is looked at as a whole in the end."""
    find = wanted.among.get(sought.table.id)
    if find is None:
        sought.warns = NOT_LOOKED_AT
        return
    given = (journal, sought.table, find, sought.search)
    sought.kept = rows_kept(*given)
    copied, sought.left = rows_copied(*given, tidies=tidies)
    sought.kept += copied


def _late(journal: Journal, session: DuckDBSession, sought: _Sought) -> list[str]:
    """Files listed or retired since the search; a condition is looked at anew as a whole."""
    if sought.locator is None:
        return []
    manifest = journal.state.tables[sought.table.id].manifest
    kept = [r.segment for r in retired.kept(session, sought.table.id)]
    files = {f.path for s in (*manifest.segments, *kept) for f in s.files}
    return sorted(files - sought.search.seen)


def _finish(journal: Journal, session: DuckDBSession, sought: _Sought, wanted: ErasureSpec) -> None:
    """Search what was written or retired since, and the heads."""
    locator = sought.locator
    if locator is None:
        rows = [wanted.rows[sought.table.id](), *sought.kept]
        find = wanted.among.get(sought.table.id)
        if find is not None:
            rows += rows_kept(journal, sought.table, find, sought.search)
        sought.keys = [keys for keys in rows if keys.num_rows]
        return
    locator.use(session)
    manifest = journal.state.tables[sought.table.id].manifest
    locator.segments(unseen(s, sought.search.seen) for s in manifest.segments)
    search_kept(journal, locator)
    locator.heads(manifest.heads)
    sought.keys = list(locator.search.keys)


def _going(found: Sequence[_Sought]) -> dict[int, pa.Table]:
    return {s.table.id: together(s.keys) for s in found if s.keys}


def _look_for_references(
    journal: Journal, session: DuckDBSession, found: Sequence[_Sought], wanted: ErasureSpec
) -> None:
    """Count the rows that stay and refer to what was found; raise FOREIGN_KEY if none may."""
    left = left_behind(session, journal.state, _going(found), wanted.dependents)
    for sought in found:
        sought.dangling = left.get(sought.table.id, {})


def _target(sought: _Sought) -> Target:
    name = str(sought.table.name)
    if sought.why_not is not None:
        return Target(sought.table.id, name, Outcome.NOT_SEARCHED, sought.why_not)
    live, kept, copied = sought.search.live, sought.search.kept, sought.search.copies
    return Target(
        sought.table.id,
        name,
        Outcome.PENDING if sought.keys else Outcome.SEARCHED_NONE,
        "; ".join(part for part in (sought.depends, sought.warns) if part),
        files_searched=live.read,
        files_skipped=live.skipped,
        bytes_searched=live.bytes_read + kept.bytes_read + copied.bytes_read,
        bytes_skipped=live.bytes_skipped + kept.bytes_skipped + copied.bytes_skipped,
        kept_searched=kept.read,
        kept_skipped=kept.skipped,
        copies_searched=copied.read,
        copies_skipped=copied.skipped,
        dangling=sought.dangling,
    )


def _write(
    journal: Journal,
    session: DuckDBSession,
    found: Sequence[_Sought],
    shared: Shared,
    by: str,
) -> ErasureRequest:
    """Masks, suppressions, the request and its audit entry, all in one commit."""
    request_id, wanted = journal.new_segment_id()[:12], shared.wanted
    now = journal.clock.next()
    expires = None if wanted.expires_us is None else now + wanted.expires_us
    entries = Suppressor(session, request_id, now, expires, lasting_secret(journal, session))
    writer = _Writer(KeyFiles(journal, session), entries, holds.active_in(session))
    try:
        each = [t for s in found for t in (writer.target(s), *receipts(s.table, s.left))]
        targets = shared.remarked(each)
        shared.enter(entries)
        request = ErasureRequest(
            *(request_id, State.ACCEPTED, now, now, by, wanted.reason, wanted.types, targets),
            expires=expires,
        )
        if request.unsearched:
            keep(journal.root, request_id, to_keep(wanted))
        audit.accepted(journal, session, request)
        request = held.accepted(journal, session, request, writer.holders, by)
        changes = {t.table_id: _listing(t) for t in targets if t.lists}
        fence = journal.state.fence.extended(entries.kinds, now)
        journal.swap_all(session, changes, fenced=fence)
    except BaseException:
        writer.files.undo()
        forget(journal.root, request_id)
        raise
    return request


def _listing(target: Target) -> Callable[[TableState], TableState]:
    def listing(state: TableState) -> TableState:
        return replace(state, manifest=state.manifest.with_keys(target.mask, target.spared))

    return listing


@dataclass(slots=True)
class _Writer:
    """Writes what hides and fences one request's rows, but those under a hold."""

    files: KeyFiles
    entries: Suppressor
    active: Sequence[Hold]
    holders: list[str] = field(default_factory=list)

    def target(self, sought: _Sought) -> Target:
        """Write the keys found in a table; its receipt so far."""
        if not sought.keys:
            return _target(sought)
        table, files = sought.table, self.files
        keys = files.typed(table, sought.keys)
        covered = partial(files.covered, table)
        split = held.split_keys(files.journal, table, keys, self.active, covered)
        held.suppress(self.entries, table, split)
        self.holders += [] if split.holder is None else [split.holder]
        target = replace(_target(sought), keys=keys.num_rows)
        return held.written(files, table, self.entries.request, target, split)
