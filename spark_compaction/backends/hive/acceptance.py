"""Accepting a request to erase in a Hive store: the rows are hidden, until a purge removes them.

    turn    the leases of all tables it is about: nobody else commits to them meanwhile
    find    the keys of who is meant, in any version, layout and backup
    hide    a list of the keys for each table that holds one
    commit  manifests that name the lists, suppressions, the request and its audit entry: one
            transaction

Identifiers are held in memory, and go to the server as literals. A dry run writes nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
from sqlglot import exp

from journal.erasure import audit, holds
from journal.erasure.erasure_spec import ErasureSpec, Subjects, TargetTable, aims
from journal.erasure.guard import load_fence
from journal.erasure.holds import Hold
from journal.erasure.matching import distinct_keys
from journal.erasure.requests import ErasureRequest, Outcome, State, Target
from journal.erasure.secret import lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import deferred_subjects as sql_sought
from journal.records import erasure_rows
from journal.stores.hive import backup_segments
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.leases import HeldLeases
from journal.stores.hive.pieces import pieces
from journal.stores.hive.session import HiveSession
from journal.stores.hive.statement import INLINE_ROWS_MAX, HiveStatement
from journal.transactions.protocol import OpenStatement
from journal.transactions.state import TableState
from spark_compaction.backends.hive import masks, partition_backups
from spark_compaction.backends.hive import offsite_search as copied
from spark_compaction.backends.hive.erased_rows import ERASED, keys_among, rows_with
from spark_compaction.backends.hive.key_partitions import KeyPartitions, check_holds
from spark_compaction.backends.hive.rewriting import staging
from spark_compaction.erasure import held
from spark_compaction.erasure.deferred_search import to_keep
from spark_compaction.erasure.held import Split
from spark_compaction.erasure.offsite_search import NOT_LOOKED_AT, Copied
from spark_compaction.erasure.shared_identifiers import Shared


@dataclass(slots=True)
class _Sought:
    """One table a request is about."""

    aim: TargetTable
    state: TableState
    keys: pa.Table | None = None
    copied: Copied = field(default_factory=Copied)
    target: Target = field(init=False)
    parts: Split | None = None
    """The keys that are hidden, and those that a hold spares."""

    def __post_init__(self) -> None:
        table, why = self.aim.table, self.aim.why_not
        outcome = Outcome.PENDING if why is None else Outcome.NOT_SEARCHED
        self.target = Target(table.id, str(table.name), outcome, why or "")

    def split(self, lists: KeyPartitions, active: Sequence[Hold]) -> None:
        """Write lists of the keys that were found: those to hide, and those that a hold spares."""
        if self.keys is None:
            return
        table, covered = self.aim.table, partial(lists.covered, self.aim.table)
        self.parts = held.split_keys(lists.journal, table, self.keys, active, covered)
        target = replace(self.target, keys=self.keys.num_rows)
        self.target = held.written(lists, table, "", target, self.parts)

    @property
    def targets(self) -> list[Target]:
        """The receipts: of the table, and of copies that could not be searched."""
        return [self.target, *self.copied.unsearched(self.aim.table)]


def accept(journal: HiveJournal, wanted: ErasureSpec, by: str) -> ErasureRequest:
    """Hide who is meant, and record the request. Raises ERASURE when no table could hold them, and
    what the server raises, with nothing changed.
    """
    wanted.check()
    names = [f"table:{a.table.id}" for a in _aims(journal, wanted) if a.why_not is None]
    with journal.leases.holding(names) as turn, staging(journal) as made:
        with journal.statement(journal.begin(read_only=True)) as statement:
            found, shared = _search(journal, statement, wanted, tidies=True)
            active = holds.active_in(statement.session)
            lists = KeyPartitions(journal, statement, made)
            for sought in found:
                sought.split(lists, active)
        request = _write(journal, turn, found, shared, by, {h.id for h in active})
    show(journal)
    return request


def show(journal: HiveJournal) -> None:
    """Let the views say what is hidden now."""
    if journal.views is not None:
        _, state = journal.look()
        journal.views.refresh(state)


def dry_run(journal: HiveJournal, wanted: ErasureSpec) -> ErasureRequest:
    """What accepting would find: keys and versions by table; nothing is written."""
    wanted.check()
    with journal.statement(journal.begin(read_only=True)) as statement:
        found, shared = _search(journal, statement, wanted, tidies=False)
        for sought in found:
            if sought.keys is not None:
                versions = _versions(journal, statement.session, sought)
                keys = sought.keys.num_rows
                sought.target = replace(sought.target, keys=keys, versions_removed=versions)
    now = journal.clock.now()
    targets = shared.remarked(t for s in found for t in s.targets)
    return ErasureRequest(
        "dry-run", State.ACCEPTED, now, now, "", wanted.reason, wanted.types, targets
    )


def cancel(journal: HiveJournal, request: ErasureRequest, by: str) -> ErasureRequest:
    """Let the rows be seen again and written again; possible until they are purged."""
    with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
        row, committed = journal.look_in(connection)
        following = replace(row, generation=row.generation + 1, fence=row.generation + 1)
        with journal.recording(connection) as session:
            found = map(ErasureRequest.of_row, erasure_rows.load_erasures(session))
            current = next(r for r in found if r.id == request.id)
            done = current.cancelled(journal.clock.now())
            erasure_rows.put_erasure(session, done.to_row())
            erasure_rows.drop_suppressions(session, current.id)
            audit.record(journal, session, by, "erase.cancel", current.id, {})
            if current.unsearched:
                sql_sought.forget(connection, current.id)
            fence = load_fence(session)
            session.commit()
        states = {
            t.table_id: masks.shown(
                *(journal, connection, following.generation, t.table_id),
                *(committed.tables[t.table_id], t.lists),
            )
            for t in current.targets
            if t.lists
        }
        rows_of.put_state(connection, following)
    journal.keep(following, committed.with_tables(states, fence))
    journal.catalog.scrub()
    show(journal)
    return done


def keys_of(statement: OpenStatement, aim: TargetTable, subjects: Subjects) -> list[pa.Table]:
    """The keys of a table's rows that name somebody, as a statement sees them."""
    assert isinstance(statement, HiveStatement)
    session, state = statement.session, statement.committed.tables[aim.table.id]
    searched = partition_backups.with_backups(session, aim.table, state)
    return keys_among(statement, aim, subjects, searched.manifest.segments)


def _aims(journal: HiveJournal, wanted: ErasureSpec) -> list[TargetTable]:
    _, state = journal.look()
    with journal.reading_session() as session:
        return aims(session, state, wanted)


def _search(
    journal: HiveJournal, statement: HiveStatement, wanted: ErasureSpec, *, tidies: bool
) -> tuple[list[_Sought], Shared]:
    committed = statement.committed
    found = [
        _Sought(aim, committed.tables[aim.table.id])
        for aim in aims(statement.session, committed, wanted)
    ]
    for sought in found:
        if sought.aim.why_not is not None:
            continue
        keys = _keys_here(statement, sought, wanted)
        sought.copied.read(copied.search(journal, sought.aim, wanted, tidies=tidies))
        sought.keys = distinct_keys([*keys, *sought.copied.keys])
        searched = len(sought.state.manifest.segments)
        outcome = Outcome.PENDING if sought.keys is not None else Outcome.SEARCHED_NONE
        target = replace(sought.target, outcome=outcome, files_searched=searched)
        sought.target = sought.copied.told(target)
    shared = Shared(wanted, [s.aim for s in found])
    going = {s.aim.table.id: s.keys for s in found if s.keys is not None}
    shared.look(statement.session, committed, going)
    return found, shared


def _keys_here(statement: HiveStatement, sought: _Sought, wanted: ErasureSpec) -> list[pa.Table]:
    """The keys in the store: in all versions, and in what only backups list."""
    table_id = sought.aim.table.id
    if not wanted.rows:
        return keys_of(statement, sought.aim, wanted.subjects)
    keys = [find() for i, find in wanted.rows.items() if i == table_id]
    kept = backup_segments.backup_only_segments(statement.session, sought.aim.table, sought.state)
    among = wanted.among.get(table_id)
    if kept and among is not None:
        keys.append(among(kept))
    elif kept:
        sought.copied.warns = NOT_LOOKED_AT
    return keys


def _versions(journal: HiveJournal, session: HiveSession, sought: _Sought) -> int:
    """How many rows have one of the keys, which go to the server a piece at a time."""
    assert sought.keys is not None
    searched = partition_backups.with_backups(session, sought.aim.table, sought.state)
    count = 0
    for start in range(0, sought.keys.num_rows, INLINE_ROWS_MAX):
        session.show_arrow(ERASED, sought.keys.slice(start, INLINE_ROWS_MAX))
        for piece in pieces(searched.manifest.segments):
            rows = rows_with(journal, sought.aim.table, piece, "SEMI").subquery("r")
            query = session.in_spark(exp.select(exp.Count(this=exp.Star())).from_(rows))
            count += int(session.connection.run(query)[0][0])
    return count


def _write(
    journal: HiveJournal,
    turn: HeldLeases,
    found: list[_Sought],
    shared: Shared,
    by: str,
    judged: Collection[str],
) -> ErasureRequest:
    """Name the lists in all manifests; record suppressions, the request and its audit entry."""
    with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
        turn.check(connection)
        row, committed = journal.look_in(connection)
        following = replace(row, generation=row.generation + 1, fence=row.generation + 1)
        states: dict[int, TableState] = {}
        for sought in found:
            if sought.target.lists:
                table_id = sought.aim.table.id
                states[table_id] = masks.listed(
                    *(connection, following.generation, table_id),
                    *(committed.tables[table_id], sought.target),
                )
        with journal.recording(connection) as session:
            check_holds(session, judged)
            since = journal.clock.next()
            request = _recorded(journal, session, found, shared, by, since)
            if request.unsearched:
                sql_sought.keep(connection, request.id, json.dumps(to_keep(shared.wanted)))
            fence = load_fence(session)
            session.commit()
        rows_of.put_state(connection, following)
    journal.keep(following, committed.with_tables(states, fence))
    return request


def _recorded(
    journal: HiveJournal,
    session: StoreSession,
    found: list[_Sought],
    shared: Shared,
    by: str,
    now: Version,
) -> ErasureRequest:
    request_id, wanted = uuid.uuid4().hex[:12], shared.wanted
    expires = None if wanted.expires_us is None else now + wanted.expires_us
    entries = Suppressor(session, request_id, now, expires, lasting_secret(journal, session))
    for sought in found:
        if sought.parts is not None:
            held.suppress(entries, sought.aim.table, sought.parts)
    shared.enter(entries)
    targets = shared.remarked(t for s in found for t in s.targets)
    accepted = ErasureRequest(
        *(request_id, State.ACCEPTED, now, now, by, wanted.reason, wanted.types, targets),
        expires=expires,
    )
    audit.accepted(journal, session, accepted)
    holders = [s.parts.holder for s in found if s.parts is not None and s.parts.holder is not None]
    return held.accepted(journal, session, accepted, holders, by)
