"""Purging inside the database: every version of some keys goes, from every table that holds one.

    holds    what a legal hold keeps back waits for its release
    settle   appends go to a fresh head
    stage    each table that holds a key is written anew without, and compared
    swap     the new tables are listed; the mask goes, and the receipt is written
    drop     what was replaced, now or by earlier jobs, goes as soon as nobody can read it

Since a request was accepted nobody sees the rows, and nobody can write them again, so the keys are
those of its mask. All requests that are accepted share one pass over each table. Receipts hold
counts, never a key.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from journal.erasure import audit
from journal.erasure.erased import Erased
from journal.erasure.erasure_spec import requests
from journal.erasure.requests import ErasureRequest, Outcome, State, Target
from journal.files.scratch import sweep_scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Fields, Segment
from journal.records import erasure_rows as rows_of
from journal.records.report import JobReport, Work
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import as_committed, backup_segments, layout, pieces
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState
from spark_compaction.backend import Replan
from spark_compaction.backends.postgres import (
    deferred_search,
    flat_jobs,
    key_tables,
    offsite_search,
    rewriting,
    searched,
    segment_swap,
    table_backups,
)
from spark_compaction.backends.postgres.masks import unmasked
from spark_compaction.backends.postgres.spark_filling import keeping_by_spark
from spark_compaction.contract import Engine, Progress, silent
from spark_compaction.erasure import held
from spark_compaction.erasure.deferred_search import AskAgain
from spark_compaction.erasure.offsite_search import Away
from spark_compaction.erasure.purged import PurgeResult, targets_by_mask
from spark_compaction.erasure.purging import Purging

_ROUNDS_MAX = 5
_WAITS = "a transaction of the server is open that began before"
WHY = "holds {} rows of the keys"
Moved = Mapping[str, Segment | None]
"""What became of tables that held erased rows, by their names; None: nothing is left."""


def erase(
    journal: DatabaseJournal,
    by: str,
    *,
    only: Iterable[str] | None = None,
    progress: Progress = silent,
    engine: Engine | None = None,
    ask_again: AskAgain | None = None,
) -> Erased:
    """Purge what has been accepted (or ``only`` some requests), and complete what can be.

    With an ``engine`` Spark writes the rows that stay, but those of adopted journals. ``ask_again``
    looks for a condition in copies that were out of reach when it was accepted.
    """
    return Purging(
        deferred_search.side(journal),
        partial(_definition, journal),
        partial(key_tables.settle, journal, by),
        lambda table, accepted: _purge(journal, table, accepted, engine),
        lambda request: _purged(journal, request, by),
        lambda request: complete(journal, request, by),
    ).run(only, by, ask_again, progress)


def planned(journal: DatabaseJournal, table_id: int, found: Sequence[ErasureRequest]) -> Work:
    """What a purge of a table would find for requests that no hold keeps back; changes nothing.

    Rows in copies elsewhere are not counted.
    """
    masks = held.free_masks(found, table_id)
    table = _definition(journal, table_id)
    if not masks:
        return Work()
    with journal.statement(journal.begin(read_only=True)) as statement:
        session = statement.session
        keys = pieces.show_keys(session, table, masks)
        there = statement.committed.tables[table_id]
        goes = partial(_erased, table, keys)
        if is_flat(table):
            taken, live = flat_jobs.planned_without(session, table, there, keys), []
        else:
            taken, live = Work(), rewriting.to_be_settled(session, table, there)
        both = [*live, *backup_segments.backup_only_segments(session, table, there)]
        return taken + rewriting.planned(session, table, both, goes, WHY)


def _erased(table: Table, keys: exp.Table, source: exp.Table, fields: Fields) -> exp.Query:
    return pieces.erased_rows(table, source, fields, keys)


def _definition(journal: DatabaseJournal, table_id: int) -> Table:
    return segment_swap.definition(journal.state, table_id)


def _purge(
    journal: DatabaseJournal, table: Table, accepted: set[str], engine: Engine | None
) -> JobReport:
    """Remove the keys of all accepted requests from all a table has, and from copies elsewhere.

    Copies come first: until the swap the masks say what is to go. They stay while a copy cannot be
    reached, whose error is raised when what lies here is gone.
    """
    away = offsite_search.purge(journal, table, _masks(journal, table, accepted))
    report = _purge_here(journal, table, accepted, engine, away)
    if away.error is not None:
        raise away.error
    return report


def _purge_here(
    journal: DatabaseJournal, table: Table, accepted: set[str], engine: Engine | None, away: Away
) -> JobReport:
    if is_flat(table):
        return _rewrite_adopted(journal, table, accepted, away)
    with segment_swap.turn(journal, table) as session:
        segment_swap.remove_litter(session, table.id)
        for _ in range(_ROUNDS_MAX):
            try:
                return _once(journal, session, table, accepted, engine, away)
            except Replan:
                session.rollback()
        raise PalimpsestError(
            Code.JOB_BUSY,
            f"{table.name} changes again and again while rows are erased from it",
            advice="run it again when its definition is left alone",
        )


def _once(
    journal: DatabaseJournal,
    session: PostgresSession,
    table: Table,
    accepted: set[str],
    engine: Engine | None,
    away: Away,
) -> JobReport:
    started = time.monotonic()
    settled = segment_swap.settle(journal, table)
    table, state = settled.table, settled.state
    masks = _masks(journal, table, accepted)
    if not masks:
        why = "the requests were cancelled, or a legal hold keeps them back"
        return JobReport("", "purge", str(table.name), "nothing", why)
    session.begin()
    as_committed.check_heads(session, table)
    erased, removed = pieces.show_keys(session, table, masks), _count(session, table, state, masks)
    copy: rewriting.Copy = rewriting.by_server
    if engine is not None:
        again = partial(pieces.show_keys, session, table, masks)
        copy = keeping_by_spark(engine, silent, list(masks), again)
    staged = rewriting.rewrite(
        *(session, table, state),
        partial(_erased, table, erased),
        lambda source, fields: pieces.kept_rows(table, source, fields, erased),
        *(settled.version, WHY, copy),
    )
    kept = table_backups.purge(session, table, state, erased, settled.version, WHY, copy)
    session.commit()
    work, moved = staged.work + kept.work, (staged.moved, kept.moved)
    done = _Swapping(journal, table, masks, state, removed, away, work, *moved)
    segment_swap.swap(
        *(journal, table, staged.inputs, staged.segments, staged.head_counts),
        *(_why(accepted), done.record),
    )
    return done.report(started)


def _rewrite_adopted(
    journal: DatabaseJournal, table: Table, accepted: set[str], away: Away
) -> JobReport:
    """Write an adopted journal anew, under its name."""
    started = time.monotonic()
    purged: list[_Swapping] = []

    def stage(
        session: PostgresSession, now: Table, state: TableState
    ) -> flat_jobs.RewrittenJournal:
        masks = _masks(journal, table, accepted)
        if not masks:
            raise held.kept_back(table)
        erased = pieces.show_keys(session, now, masks)
        removed = _count(session, now, state, masks)
        staged = flat_jobs.without_keys(session, now, state, erased, journal.state.version)
        kept = table_backups.purge(session, now, state, erased, journal.state.version, WHY)
        taken = flat_jobs.planned_without(session, now, state, erased)
        work = replace(taken, written=staged.written, inexact={}) + kept.work
        done = _Swapping(journal, now, masks, state, removed, away, work, {}, kept.moved)
        purged[:] = [done]
        return staged

    def record(section: PostgresSession, following: TableState) -> TableState:
        return purged[0].record(section, following)

    flat_jobs.rewrite(journal, table, stage, _why(accepted), record)
    return purged[0].report(started)


def _masks(journal: DatabaseJournal, table: Table, accepted: set[str]) -> dict[str, Target]:
    return targets_by_mask(requests(journal), accepted, table.id)


def _why(accepted: set[str]) -> segment_swap.RetireReason:
    return segment_swap.RetireReason(",".join(sorted(accepted)), "purge", 0)


@dataclass(frozen=True, slots=True)
class _Swapping:
    """What a purge of one table is about to do, for the receipts and the report."""

    journal: DatabaseJournal
    table: Table
    masks: Mapping[str, Target]
    before: TableState
    removed: Mapping[str, int]
    away: Away
    work: Work
    moved: Moved
    moved_beside: Moved

    def record(self, section: PostgresSession, following: TableState) -> TableState:
        """Write the receipts in the swap's transaction; masks go if their keys are nowhere."""
        if not set(self.masks) <= set(following.manifest.masks):
            raise Replan("a request was cancelled, or a hold was placed")
        done = PurgeResult(self.before.manifest, following.manifest, self.work, self.away)
        done.record(section, self.masks, self.removed)
        moved = {**self.moved, **self.moved_beside}
        table_backups.follow(
            section, self.table, moved, self.moved_beside, self.journal.clock.now()
        )
        if not done.is_over:
            return following
        return unmasked(self.journal, section, following, self.masks)

    def report(self, started: float) -> JobReport:
        """What was read and written."""
        return JobReport.of(
            *(self.work, "", "purge", str(self.table.name), "done"),
            seconds={"purge": round(time.monotonic() - started, 3)},
        )


def _count(
    session: PostgresSession, table: Table, state: TableState, masks: Iterable[str]
) -> dict[str, int]:
    """How many rows of each mask's keys there are, those of backups included."""
    state = table_backups.with_backups(session, table, state)
    return {
        mask: sum(n for _, n in searched.holding(session, table, state, layout.mask_table(mask)))
        for mask in masks
    }


def _purged(journal: DatabaseJournal, request: ErasureRequest, by: str) -> ErasureRequest:
    """Record that the rows of a request are in no table that is listed."""
    with journal.fencing_session() as session:
        now = journal.clock.now()
        rows_of.drop_expired(session, now)
        moved = request.moved(State.PURGED, now)
        rows_of.put_erasure(session, moved.to_row())
        audit.purged(journal, session, moved, by)
    return moved


def complete(journal: DatabaseJournal, request: ErasureRequest, by: str) -> ErasureRequest:
    """Drop what the erasure has replaced; COMPLETED once nothing of it is left."""
    left = [
        name
        for target in request.targets
        if target.outcome is Outcome.ERASED
        for name in segment_swap.reap(journal, target.table_id).in_use
    ]
    why = f"{_WAITS}, and may read {', '.join(left)}" if left else ""
    if not why and (forsaken := sweep_scratch()):
        why = f"{forsaken[0]}, which a killed process left, and which cannot be removed"
    with journal.exclusive_session() as session:
        if why:
            following = replace(request, waits_for=why)
        else:
            following = request.moved(State.COMPLETED, journal.clock.now(), waits_for="")
            audit.completed(journal, session, following, by)
        rows_of.put_erasure(session, following.to_row())
        session.commit()
    return following
