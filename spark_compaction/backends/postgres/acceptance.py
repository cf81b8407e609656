"""Accepting a request to erase in a database: who is meant is found, and from then on hidden.

    search:  every table of journal rows, and what depends on those found, while others write
    accept:  rows that came since; masks, suppressions, the request, the audit entry
             (one transaction in the commit section)

A mask is a table of keys that the views of the tiers leave out, for whoever reads them. Identifiers
are held in memory only. A dry run writes nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
from sqlglot import exp

from journal.erasure import audit, holds
from journal.erasure.erasure_spec import ErasureSpec, Subjects, TargetTable, aims
from journal.erasure.guard import load_fence
from journal.erasure.matching import Matcher, distinct_keys, shown_keys
from journal.erasure.requests import ErasureRequest, Outcome, State, Target
from journal.erasure.scope import load_scope
from journal.erasure.secret import lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.erasure.unreachable_copies import check_searched
from journal.model.dependents import Dependents, dependents_of
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.records import deferred_subjects as postgres_sought
from journal.records import erasure_rows as rows_of
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import backup_segments, pieces
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.statement import DatabaseStatement
from journal.stores.postgres.store import PostgresSession
from journal.stores.postgres.suppression_triggers import hold_writers
from journal.transactions.protocol import OpenStatement
from journal.transactions.state import JournalState, TableState
from spark_compaction.backends.postgres import masks, searched, table_backups
from spark_compaction.backends.postgres import offsite_search as copied
from spark_compaction.backends.postgres.erasure_source import DatabaseSource
from spark_compaction.backends.postgres.key_tables import KeyTables
from spark_compaction.backends.postgres.segment_swap import WAIT, Changed, publish
from spark_compaction.erasure import held
from spark_compaction.erasure.cascade import CascadedTable, CascadeWalker, too_fast
from spark_compaction.erasure.deferred_search import to_keep
from spark_compaction.erasure.left_behind import left_behind
from spark_compaction.erasure.offsite_search import NOT_LOOKED_AT, Copied
from spark_compaction.erasure.shared_identifiers import Shared

_FOUND = "keys_found"
_ROUNDS_MAX = 3


@dataclass(slots=True)
class _Sought:
    """One table while it is searched; ``state`` is what was searched, backups included.

    ``kept`` are the backups alone. What only copies have is looked at once.
    """

    aim: TargetTable
    state: TableState
    kept: tuple[Segment, ...] = ()
    keys: list[pa.Table] = field(default_factory=list)
    copied: Copied = field(default_factory=Copied)
    dangling: Mapping[str, int] = field(default_factory=dict)
    searched: int = 0
    bytes: int = 0
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

    def measure(self, session: PostgresSession) -> None:
        """Note how much there is to search."""
        self.searched, self.bytes = searched.volume(session, self.table, self.state)

    def take(self, followed: CascadedTable, copies: Copied) -> None:
        """Let rows go as well that depend on what goes."""
        if self.aim.why_not is not None:
            self.copied = copies
        self.depends = followed.why
        if followed.keys is not None:
            # They include those found before, those of copies too.
            self.keys, self.copied.keys = [followed.keys], []

    @property
    def found(self) -> pa.Table | None:
        """All keys, once each; None if there are none."""
        return distinct_keys([*self.keys, *self.copied.keys])


def accept(journal: DatabaseJournal, wanted: ErasureSpec, by: str) -> ErasureRequest:
    """Accept a request; raises ERASURE when no table could hold who is meant."""
    wanted.check()
    for left in reversed(range(_ROUNDS_MAX)):
        request = _accepted(journal, wanted, by, patient=left > 0)
        if request is not None:
            return request
    raise too_fast()


def _accepted(
    journal: DatabaseJournal, wanted: ErasureSpec, by: str, *, patient: bool
) -> ErasureRequest | None:
    """Search and accept once; None if the search must begin anew, or better does."""
    found, follower, shared = _search(journal, wanted, tidies=True)
    made: list[ErasureRequest] = []

    def change(session: PostgresSession, committed: JournalState) -> Changed:
        late = [s for s in found if _is_late(s, committed)]
        if late and wanted.rows and patient:
            return Changed({})
        adopted = [s for s in found if s.aim.why_not is None and is_flat(s.table)]
        reached = follower.reached(committed, [s.table.id for s in found if s.aim.why_not is None])
        for table in {t.id: t for t in (*(s.table for s in adopted), *reached)}.values():
            if is_flat(table):
                # Others write there, too, and know nothing of the section.
                session.text(WAIT)
                hold_writers(session, table)
        for sought in [*adopted, *(s for s in late if not is_flat(s.table))]:
            _search_late(session, sought, committed, wanted)
        if not _follow(session, committed, found, follower):
            return Changed({})
        _look_for_references(session, committed, found, wanted)
        shared.look(session, committed, _seeds(found))
        request, changed = _write(journal, session, committed, found, shared, by)
        made[:] = [request]
        return changed

    publish(journal, change)
    return made[0] if made else None


def dry_run(journal: DatabaseJournal, wanted: ErasureSpec) -> ErasureRequest:
    """What accepting would find: keys, versions, tables and bytes; nothing is written."""
    wanted.check()
    targets = []
    found, follower, shared = _search(journal, wanted, tidies=False)
    with journal.statement(journal.begin(read_only=True)) as statement:
        session, committed = statement.session, statement.committed
        _follow(session, committed, found, follower)
        _look_for_references(session, committed, found, wanted)
        shared.look(session, committed, _seeds(found))
        for number, sought in enumerate(found):
            target = _target(sought)
            if (keys := sought.found) is not None:
                shown = f"{_FOUND}_{number}"
                session.show_arrow(shown, keys)
                among = shown_keys(sought.table, shown).subquery("k")
                held = searched.holding(session, sought.table, sought.state, among)
                target = replace(
                    target,
                    keys=keys.num_rows,
                    versions_removed=sum(rows for _, rows in held),
                    files_rewritten=len(held),
                    bytes_rewritten=sum(pieces.size(session, piece) for piece, _ in held),
                )
            targets += [target, *sought.copied.unsearched(sought.table)]
    now = journal.clock.now()
    told = shared.remarked(targets)
    return ErasureRequest(
        "dry-run", State.ACCEPTED, now, now, "", wanted.reason, wanted.types, told
    )


def cancel(journal: DatabaseJournal, request: ErasureRequest, by: str) -> ErasureRequest:
    """Let the rows be seen again and written again; possible until they are purged."""
    done: list[ErasureRequest] = []

    def change(session: PostgresSession, committed: JournalState) -> Changed:
        current = next(
            r
            for r in map(ErasureRequest.of_row, rows_of.load_erasures(session))
            if r.id == request.id
        )
        done[:] = [current.cancelled(journal.clock.now())]
        rows_of.put_erasure(session, done[0].to_row())
        rows_of.drop_suppressions(session, current.id)
        audit.record(journal, session, by, "erase.cancel", current.id, {})
        if current.unsearched:
            postgres_sought.forget(session, current.id)
        states = {
            t.table_id: masks.unmasked(journal, session, committed.tables[t.table_id], t.lists)
            for t in current.targets
            if t.lists
        }
        return Changed(states, load_fence(session))

    publish(journal, change)
    return done[0]


def _search(
    journal: DatabaseJournal, wanted: ErasureSpec, *, tidies: bool
) -> tuple[list[_Sought], CascadeWalker[DatabaseSource], Shared]:
    """Every table in question, its backups and copies, and what depends on what is found there.

    The follower goes on in the commit section, and so does the look at who else holds what.
    """
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            session, committed = statement.session, statement.committed
            found = [_sought(session, aim, committed) for aim in aims(session, committed, wanted)]
            for sought in found:
                if sought.aim.why_not is None:
                    sought.keys = _keys_by_condition(sought, wanted) or searched.keys_among(
                        session, sought.aim, sought.state, wanted.subjects
                    )
                    sought.measure(session)
            scope = load_scope(session)
            shared = Shared(wanted, [s.aim for s in found])
            shared.look_ahead(session, committed)
    finally:
        journal.rollback(transaction)
    for sought in found:
        if sought.aim.why_not is None:
            sought.copied = copied.search(journal, sought.aim, wanted, tidies=tidies)
            if wanted.rows and sought.table.id not in wanted.among:
                if sought.kept or sought.copied.files:
                    sought.copied.warns = NOT_LOOKED_AT
    follower = CascadeWalker(DatabaseSource(journal, tidies), wanted.dependents, scope)
    _search_dependents(journal, found, wanted, follower)
    return found, follower, shared


def _search_dependents(
    journal: DatabaseJournal,
    found: list[_Sought],
    wanted: ErasureSpec,
    follower: CascadeWalker[DatabaseSource],
) -> None:
    """What depends on what was found, while others write; raises ERASURE if it cannot be known."""
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            state = statement.committed
            for sought in found:
                chosen = dependents_of(sought.table, wanted.dependents)
                if state.catalog.references.get(sought.table.id):
                    if chosen is not Dependents.REPORT:
                        check_searched(sought.copied.left)
            follower.search(statement.session, state, _seeds(found))
    finally:
        journal.rollback(transaction)


def _seeds(found: list[_Sought]) -> dict[int, pa.Table]:
    keys = {s.table.id: s.found for s in found}
    return {table_id: going for table_id, going in keys.items() if going is not None}


def _follow(
    session: PostgresSession,
    committed: JournalState,
    found: list[_Sought],
    follower: CascadeWalker[DatabaseSource],
) -> bool:
    """Take along what depends on what was found by now; False if the search must begin anew."""
    tables = {s.table.id: s for s in found}
    if not committed.catalog.references:
        return True
    if not follower.finish(session, committed, _seeds(found)):
        return False
    if not follower.found.keys() <= tables.keys():
        return False
    for table_id, followed in follower.found.items():
        sought = tables[table_id]
        sought.take(followed, follower.ground.copied(sought.table))
        sought.measure(session)
    return True


def _sought(session: PostgresSession, aim: TargetTable, committed: JournalState) -> _Sought:
    state = committed.tables[aim.table.id]
    kept = backup_segments.backup_only_segments(session, aim.table, state)
    return _Sought(aim, table_backups.with_backups(session, aim.table, state), kept)


def keys_of(statement: OpenStatement, aim: TargetTable, subjects: Subjects) -> list[pa.Table]:
    """The keys of a table's rows that name somebody, as a statement sees them."""
    assert isinstance(statement, DatabaseStatement)
    state = statement.committed.tables[aim.table.id]
    return searched.keys_among(statement.session, aim, state, subjects)


def _keys_by_condition(sought: _Sought, wanted: ErasureSpec) -> list[pa.Table]:
    """The keys of rows that are asked for in another way than by name, those of backups too."""
    table_id = sought.table.id
    rows = [find() for i, find in wanted.rows.items() if i == table_id]
    among = wanted.among.get(table_id)
    if rows and sought.kept and among is not None:
        rows.append(among(sought.kept))
    return [found for found in rows if found.num_rows]


def _is_late(sought: _Sought, committed: JournalState) -> bool:
    """True if rows may have come since the search."""
    state = committed.tables[sought.table.id]
    return sought.aim.why_not is None and state.last_version != sought.state.last_version


def _search_late(
    session: PostgresSession, sought: _Sought, committed: JournalState, wanted: ErasureSpec
) -> None:
    """Look at what was written since the search; a condition is looked at anew as a whole."""
    now = committed.tables[sought.table.id]
    if wanted.rows:
        sought.keys = _keys_by_condition(sought, wanted)
        return
    matcher = Matcher(session, sought.table, sought.aim.identities, wanted.subjects)
    table, since = sought.table, sought.state
    known = {p.name for p, _ in searched.tables_of(table, since)}
    for source, fields in searched.rows_written(table, now):
        is_new = isinstance(source, exp.Table) and source.name not in known
        whole = is_new or is_flat(table)
        later = source if whole else searched.written_after(table, source, since.last_version)
        matcher.rows(later, fields)
    sought.keys += matcher.keys


def _target(sought: _Sought) -> Target:
    table = sought.table
    if sought.why_not is not None:
        return Target(table.id, str(table.name), Outcome.NOT_SEARCHED, sought.why_not)
    target = Target(
        table.id,
        str(table.name),
        Outcome.SEARCHED_NONE if sought.found is None else Outcome.PENDING,
        "; ".join(part for part in (sought.depends, sought.copied.warns) if part),
        files_searched=sought.searched,
        bytes_searched=sought.bytes,
        dangling=sought.dangling,
    )
    return sought.copied.told(target)


def _look_for_references(
    session: PostgresSession, committed: JournalState, found: list[_Sought], wanted: ErasureSpec
) -> None:
    """Count the rows that stay and refer to what was found; raise FOREIGN_KEY if none may."""
    left = left_behind(session, committed, _seeds(found), wanted.dependents)
    for sought in found:
        sought.dangling = left.get(sought.table.id, {})


def _write(
    journal: DatabaseJournal,
    session: PostgresSession,
    committed: JournalState,
    found: list[_Sought],
    shared: Shared,
    by: str,
) -> tuple[ErasureRequest, Changed]:
    """Masks, suppressions, the request and its audit entry."""
    request_id, now, wanted = uuid.uuid4().hex[:12], journal.clock.next(), shared.wanted
    expires = None if wanted.expires_us is None else now + wanted.expires_us
    entries = Suppressor(session, request_id, now, expires, lasting_secret(journal, session))
    lists, active = KeyTables(journal, session, committed), holds.active_in(session)
    states: dict[int, TableState] = {}
    holders: list[str] = []
    each = []
    for sought in found:
        target = _target(sought)
        keys = sought.found
        if keys is not None:
            table, covered = sought.table, partial(lists.covered, sought.table)
            split = held.split_keys(journal, table, keys, active, covered)
            held.suppress(entries, table, split)
            holders += [] if split.holder is None else [split.holder]
            target = replace(target, keys=keys.num_rows)
            target = held.written(lists, table, request_id, target, split)
            state = committed.tables[table.id]
            states[table.id] = masks.listed(session, table, state, target.mask, target.spared)
        each += [target, *sought.copied.unsearched(sought.table)]
    shared.enter(entries)
    targets = shared.remarked(each)
    request = ErasureRequest(
        *(request_id, State.ACCEPTED, now, now, by, wanted.reason, wanted.types, targets),
        expires=expires,
    )
    if request.unsearched:
        postgres_sought.keep(session, request_id, json.dumps(to_keep(wanted)))
    audit.accepted(journal, session, request)
    request = held.accepted(journal, session, request, holders, by)
    return request, Changed(states, committed.fence.extended(entries.kinds, now))
