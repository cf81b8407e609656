"""Purging a table inside the database: every version of some keys goes.

    settle   appends go to a fresh head
    stage    each table that holds a key is written anew without, and compared
    swap     the new tables are listed; the mask goes, and the receipt is written

Since a request was accepted nobody sees the rows, and nobody can write them again, so the keys are
those of its mask. All requests that are accepted share one pass. Receipts hold counts, never a key.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from journal.erasure.erasure_spec import requests
from journal.erasure.requests import Target
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Fields, Segment
from journal.records.report import JobReport, Work
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import as_committed, backup_segments, layout, pieces
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState
from spark_compaction.backend import Replan
from spark_compaction.backends.postgres import (
    flat_jobs,
    rewriting,
    searched,
    segment_swap,
    table_backups,
)
from spark_compaction.backends.postgres.key_tables import relisted
from spark_compaction.backends.postgres.spark_filling import keeping_by_spark
from spark_compaction.contract import silent
from spark_compaction.erasure.backend import (
    CopiesPurge,
    ErasureBackend,
    ListChange,
    PurgeRun,
    reading,
)
from spark_compaction.erasure.legal_holds import kept_back
from spark_compaction.erasure.offsite_search import purge_copies
from spark_compaction.erasure.receipts import PurgeResult, nothing_to_purge, targets_by_mask

_ROUNDS_MAX = 5
WHY = "holds {} rows of the keys"
Moved = Mapping[str, Segment | None]
"""What became of tables that held erased rows, by their names; None: nothing is left."""


def planned(journal: DatabaseJournal, table: Table, masks: Sequence[str]) -> Work:
    """What a purge of a table would find; changes nothing."""
    with reading(journal) as statement:
        session, there = statement.session, statement.committed.tables[table.id]
        assert isinstance(session, PostgresSession)
        keys = pieces.show_keys(session, table, masks)
        goes = partial(_erased, table, keys)
        if is_flat(table):
            taken, live = flat_jobs.planned_without(session, table, there, keys), []
        else:
            taken, live = Work(), rewriting.to_be_settled(session, table, there)
        both = [*live, *backup_segments.backup_only_segments(session, table, there)]
        return taken + rewriting.planned(session, table, both, goes, WHY)


def _erased(table: Table, keys: exp.Table, source: exp.Table, fields: Fields) -> exp.Query:
    return pieces.erased_rows(table, source, fields, keys)


def purge_table(
    backend: ErasureBackend, journal: DatabaseJournal, table: Table, run: PurgeRun
) -> list[JobReport]:
    """Remove the keys of all accepted requests from all a table has, and from copies elsewhere.

    Copies come first: until the swap the masks say what is to go. They stay while a copy cannot be
    reached, whose error is raised when what lies here is gone.
    """
    away = purge_copies(backend, run, table, _masks(journal, table, run.accepted))
    report = _purge_here(journal, table, run, away)
    if away.error is not None:
        raise away.error
    return [report]


def _purge_here(
    journal: DatabaseJournal, table: Table, run: PurgeRun, away: CopiesPurge
) -> JobReport:
    if is_flat(table):
        return _rewrite_adopted(journal, table, run.accepted, away)
    with segment_swap.turn(journal, table) as session:
        segment_swap.remove_litter(session, table.id)
        for _ in range(_ROUNDS_MAX):
            try:
                return _once(journal, session, table, run, away)
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
    run: PurgeRun,
    away: CopiesPurge,
) -> JobReport:
    started = time.monotonic()
    settled = segment_swap.settle(journal, table)
    table, state = settled.table, settled.state
    masks = _masks(journal, table, run.accepted)
    if not masks:
        return nothing_to_purge(table)
    session.begin()
    as_committed.check_heads(session, table)
    erased, removed = pieces.show_keys(session, table, masks), _count(session, table, state, masks)
    copy: rewriting.Copy = rewriting.by_server
    if run.engine is not None:
        again = partial(pieces.show_keys, session, table, masks)
        copy = keeping_by_spark(run.engine, silent, list(masks), again)
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
        *(_why(run.accepted), done.record),
    )
    return done.report(started)


def _rewrite_adopted(
    journal: DatabaseJournal, table: Table, accepted: Collection[str], away: CopiesPurge
) -> JobReport:
    """Write an adopted journal anew, under its name."""
    started = time.monotonic()
    purged: list[_Swapping] = []

    def stage(
        session: PostgresSession, now: Table, state: TableState
    ) -> flat_jobs.RewrittenJournal:
        masks = _masks(journal, table, accepted)
        if not masks:
            raise kept_back(table)
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


def _masks(journal: DatabaseJournal, table: Table, accepted: Collection[str]) -> dict[str, Target]:
    return targets_by_mask(requests(journal), accepted, table.id)


def _why(accepted: Collection[str]) -> segment_swap.RetireReason:
    return segment_swap.RetireReason(",".join(sorted(accepted)), "purge", 0)


@dataclass(frozen=True, slots=True)
class _Swapping:
    """What a purge of one table is about to do, for the receipts and the report."""

    journal: DatabaseJournal
    table: Table
    masks: Mapping[str, Target]
    before: TableState
    removed: Mapping[str, int]
    away: CopiesPurge
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
        return relisted(
            self.journal, section, following, ListChange(self.table.id, tuple(self.masks))
        )

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
