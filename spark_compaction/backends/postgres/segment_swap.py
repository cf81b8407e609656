"""Replacing pieces of a journal: turns, fresh heads, swaps, and dropping what nobody reads.

Everything that changes a manifest here runs in the commit section and raises the epoch: the views
of the tiers get new names, so that statements which began before find those they know. Only the
views that everybody reads are replaced under their names, which waits for those who read them from
outside; the wait is short and tried again, so that writers are not held up.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from sqlglot import exp

from journal.identity.suppression_list import SuppressionList
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.model.version import Version
from journal.records import backups
from journal.records import retired as retired_rows
from journal.records.catalog import load_journal
from journal.records.retired import Reaped
from journal.stores.postgres import jobs as rows_of
from journal.stores.postgres import layout, section
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.pieces import STAGED, size
from journal.stores.postgres.store import BEGIN_SECTION, PostgresSession
from journal.transactions.state import JournalState, TableState
from spark_compaction.backend import Replan
from spark_compaction.contract import Staged
from spark_compaction.limits import SWAP_PAUSE_S, SWAP_TRIES
from spark_compaction.programs.swapped_manifest import swapped
from spark_compaction.programs.table_lock import busy

WAIT = "SET LOCAL lock_timeout = '300ms'"


@dataclass(frozen=True, slots=True)
class SettledTable:
    """A table whose heads but the last one stay as they are."""

    table: Table
    state: TableState
    version: Version
    is_dropped: bool


@dataclass(frozen=True, slots=True)
class RetireReason:
    """The run that replaces something, and how long what it replaces stays."""

    job_id: str
    kind: str
    grace_us: int


@contextmanager
def table_lock(journal: DatabaseJournal, table: Table) -> Iterator[PostgresSession]:
    """A session that is the only one, in all processes, to replace pieces of a table.

    Raises JOB_BUSY if another is at it.
    """
    with journal.reading_session() as session:
        if not rows_of.take_turn(session, table.id):
            raise busy(table)
        try:
            yield session
        except PalimpsestError as error:
            if error.code not in {Code.UNKNOWN_TABLE, Code.UNKNOWN_COLUMN}:
                raise
            raise PalimpsestError(
                Code.SEGMENT_DAMAGED,
                f"the journal of {table.name} lacks parts: {error.message}",
                advice="somebody changed its tables; restore them from a backup",
            ) from error
        finally:
            session.rollback()
            with suppress(PalimpsestError):
                rows_of.end_turn(session, table.id)


@dataclass(frozen=True, slots=True)
class Changed:
    """Manifests that become what everybody reads, and perhaps what may not be written."""

    states: Mapping[int, TableState]
    fence: SuppressionList | None = None


def publish(
    journal: DatabaseJournal, change: Callable[[PostgresSession, JournalState], Changed]
) -> JournalState:
    """Change manifests in the commit section; tried again while others read the views.

    The state that was committed before.
    """
    for _ in range(SWAP_TRIES):
        try:
            with journal.commit_section() as (session, committed, row):
                changed = change(session, committed)
                if changed.states or changed.fence is not None:
                    session.text(WAIT)
                    written = section.replace_states(
                        session, committed, row, changed.states, changed.fence
                    )
                    journal.conclude(session, written)
                return committed
        except PalimpsestError as error:
            if error.code is not Code.JOB_BUSY:
                raise
        time.sleep(SWAP_PAUSE_S)
    raise PalimpsestError(
        Code.JOB_BUSY,
        "statements outside the gateway read the table's views without a pause",
        advice="run the job again when long queries or open transactions of other tools have ended",
    )


def definition(state: JournalState, table_id: int) -> Table:
    """A table as it is defined now, or was before it was dropped."""
    return state.catalog.by_id(table_id) or state.tables[table_id].layouts[-1]


def settle(journal: DatabaseJournal, table: Table) -> SettledTable:
    """Have appends go to a fresh head, unless the last one is empty, or there is none."""

    settled: list[tuple[Table, TableState]] = []

    def change(session: PostgresSession, committed: JournalState) -> Changed:
        now = definition(committed, table.id)
        state = committed.tables[now.id]
        heads = [layout.head_table(now.id, h) for h in state.manifest.heads[-1:]]
        if not any(layout.count_rows(session, now, head).total for head in heads):
            settled.append((now, state))
            return Changed({})
        following = section.HEADS.with_head(session, now, state, fresh=True)
        manifest = following.manifest
        following = replace(following, manifest=replace(manifest, epoch=manifest.epoch + 1))
        settled.append((now, following))
        return Changed({now.id: following})

    committed = publish(journal, change)
    is_dropped = committed.catalog.by_id(table.id) is None
    return SettledTable(*settled[-1], committed.version, is_dropped)


Alongside = Callable[[PostgresSession, TableState], None]


def swap(
    journal: DatabaseJournal,
    table: Table,
    staged: Staged,
    why: RetireReason,
    alongside: Alongside,
    *,
    planned_as: Table | None,
) -> None:
    """List what was staged instead of what is retired; raises Replan if that is not live.

    ``alongside`` is given the state that will be, and does what belongs to the swap.
    ``planned_as`` is the definition that a table must still have, as its policy is part of it; None
    if it was dropped.
    """

    def change(session: PostgresSession, committed: JournalState) -> Changed:
        now = definition(committed, table.id)
        state = committed.tables[now.id]
        # The newest head takes rows: whoever planned on it plans anew.
        heads = {layout.head_table(now.id, h).name: h for h in state.manifest.heads[:-1]}
        following = swapped(state, staged, heads, is_new_epoch=True)
        if committed.catalog.by_id(table.id) != planned_as:
            raise Replan("the table's definition was changed meanwhile")
        since = journal.clock.now()
        for gone in staged.replacement.removed if staged.replacement is not None else ():
            retired = rows_of.RetiredTable(
                gone.id, now.id, state.manifest.epoch, since, since + why.grace_us
            )
            held = size(session, layout.segment_table(gone))
            rows_of.retire(session, retired, why.job_id, why.kind, held)
        alongside(session, following)
        return Changed({now.id: following})

    publish(journal, change)


Chosen = Callable[[Sequence[rows_of.RetiredTable]], Sequence[rows_of.RetiredTable]]
"""Which of the retired tables of a journal go, oldest first."""


def retired(
    journal: DatabaseJournal,
    table_id: int | None = None,
    chosen: Chosen | None = None,
    ignored: frozenset[str] = frozenset(),
) -> list[rows_of.RetiredTable]:
    """The retired tables whose grace has ended, or those ``chosen``, less those of backups.

    Of a journal, or of all. Backups of names that are ``ignored`` keep none.
    """
    now = journal.clock.now()
    with journal.reading_session() as session:
        session.begin()
        found = rows_of.retired(session, table_id)
        pinned = backups.pinned_paths(session, ignored)
    due = [r for r in found if r.until <= now] if chosen is None else chosen(found)
    return [r for r in due if r.name not in pinned]


def reap(journal: DatabaseJournal, table_id: int, chosen: Chosen | None = None) -> Reaped:
    """Drop the tables that ``retired`` finds, unless someone may still read them."""
    removed: list[str] = []
    in_use: list[str] = []
    freed = 0
    due = retired(journal, table_id, chosen)
    free = {r.name for r in due if not r.in_use}
    if free:
        with journal.reading_session() as session:
            session.begin(BEGIN_SECTION)
            session.text(WAIT)
            row = load_journal(session, table_id)
            # Of an adopted journal a backup is a copy, and its views stay those of the epoch.
            live = 0 if row is None else row.manifest.epoch
            _drop_views(
                session, table_id, min(live - 1, max(r.epoch for r in due if r.name in free))
            )
            session.commit()
    for found in due:
        if found.name not in free:
            in_use.append(found.name)
            continue
        with journal.reading_session() as session:
            session.begin(BEGIN_SECTION)
            if found.name in backups.pinned_paths(session):
                # Somebody has begun to restore a backup that expired.
                continue
            piece = exp.table_(found.name, db=STORE_SCHEMA)
            session.text(WAIT)
            try:
                session.run(exp.Drop(tables=[piece], kind="TABLE", exists=True))
            except PalimpsestError as error:
                # Somebody reads it, or has made a view of it.
                if error.code not in {Code.JOB_BUSY, Code.DEPENDENT_OBJECTS}:
                    raise
                in_use.append(found.name)
                continue
            rows_of.forget(session, found.name)
            backups.forget_without(session, table_id, [found.name])
            session.commit()
        removed.append(found.name)
        freed += found.bytes
    return Reaped(tuple(removed), tuple(in_use), bytes=freed)


def _drop_views(session: PostgresSession, table_id: int, epoch: int) -> None:
    """Drop the views of tiers of a table that only readers of earlier epochs know."""
    shape = re.compile(rf"t{table_id}(x\d+)?(?:e(\d+))?_(base|delta|history|head)$")
    for name in rows_of.relations(session, "v"):
        found = shape.match(name)
        if found is not None and int(found[2] or 0) <= epoch:
            view = exp.table_(name, db=STORE_SCHEMA)
            session.run(exp.Drop(tables=[view], kind="VIEW", exists=True))


def remove_litter(session: PostgresSession, table_id: int) -> None:
    """Drop what a job that was killed has left; the caller has the table's turn."""
    shape = re.compile(rf"t{table_id}_{STAGED}\d+_\d+$")
    session.begin()
    state = retired_rows.recorded_segment_ids(session, table_id)
    litter = [n for n in rows_of.relations(session, "r") if shape.match(n) and n not in state]
    for name in litter:
        layout.drop_rows(session, exp.table_(name, db=STORE_SCHEMA))
    session.commit()
