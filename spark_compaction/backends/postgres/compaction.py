"""Compaction inside the database, by set-based SQL: changes into the base, old versions to history.

    plan    counts that the catalog has                        (a dry run ends here)
    settle  appends go to a fresh head, so that what was there stays as it is
    stage   base and history are written to tables that no manifest lists
    verify  current rows and all intervals say the same through old and new tables
    swap    the manifest lists the new tables, if it lists the old ones still; else plan anew
    retire  what was replaced stays until its grace ends
    report  rows, bytes, seconds

Statements in flight go on reading the tables they began with, under the names of their epoch. No
row is updated or deleted: tables are made, and later dropped. Killed at any step, nothing or all of
it happened; a later run removes what no manifest lists.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.model.segment import Head, Manifest, RowCounts, Segment, Tier
from journal.model.version import Version
from journal.records.report import (
    ESTIMATED,
    JobReport,
    ReplacedSegment,
    Skipped,
    Volume,
    Work,
    volume_of,
)
from journal.sql.relations import Reader, column
from journal.sql.relations_flat import is_flat
from journal.stores.postgres import as_committed, layout, pieces
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.partitions import create_sealed
from journal.stores.postgres.pieces import Inputs
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState
from spark_compaction.backends.postgres import flat_jobs, rewriting, segment_swap
from spark_compaction.backends.postgres.spark_filling import Fill, Filling, by_server
from spark_compaction.contract import JobRequest

_REPLANS_MAX = 3
_WHY = {
    Tier.HEAD: "its changes are worked into the base",
    Tier.DELTA: "its changes are worked into the base",
    Tier.BASE: "changes are worked into it",
    Tier.HISTORY: "history lies in many pieces",
}
_HISTORY_MAX = 8
"""Segments of history that lie beside each other; one more, and they become one."""


@dataclass(slots=True)
class _Run:
    asked: JobRequest
    seconds: dict[str, float] = field(default_factory=dict)
    replans: int = 0

    def timed(self, step: str, since: float) -> float:
        now = time.monotonic()
        self.seconds[step] = round(self.seconds.get(step, 0.0) + now - since, 3)
        self.asked.progress(step, 1, 1)
        return now


def compact(journal: DatabaseJournal, asked: JobRequest, fill: Fill = by_server) -> JobReport:
    """Run a compaction; raises JOB_BUSY, JOB_VERIFICATION, or what the server raises."""
    table = asked.table
    if is_flat(table):
        return flat_jobs.compact(journal, asked)
    run = _Run(asked)
    started = time.monotonic()
    inputs, work = _planned(journal, table)
    run.timed("plan", started)
    if inputs.is_empty:
        return JobReport(asked.job_id, "compact", str(table.name), "nothing", "nothing has changed")
    if asked.dry_run:
        work = replace(work, skipped=_skipped(journal.state.tables[table.id]))
        told = (asked.job_id, "compact", str(table.name), "planned")
        return JobReport.of(work, *told, seconds=run.seconds)
    with segment_swap.turn(journal, table) as session:
        segment_swap.remove_litter(session, table.id)
        while True:
            try:
                return _once(journal, session, run, fill)
            except segment_swap.TableReplan as reason:
                run.replans += 1
                if run.replans > _REPLANS_MAX:
                    raise _ever_changing(table, reason) from reason


def _ever_changing(table: Table, reason: segment_swap.TableReplan) -> PalimpsestError:
    return PalimpsestError(
        Code.JOB_BUSY,
        f"{table.name} changed again and again while it was compacted: {reason}",
        advice="run it again when its definition is left alone",
    )


def _planned(journal: DatabaseJournal, table: Table) -> tuple[Inputs, Work]:
    """What a compaction would take now; the newest head as well, as it would be settled first."""
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            state = statement.committed.tables[table.id]
            there = rewriting.to_be_settled(statement.session, table, state)
            inputs = _inputs(state, [h for h in there if isinstance(h, Head)])
            if inputs.is_empty:
                as_committed.check_heads(statement.session, table)
            return inputs, _work(statement.session, table, inputs)
    finally:
        journal.rollback(transaction)


def _inputs(state: TableState, heads: Sequence[Head]) -> Inputs:
    manifest = state.manifest
    merged = _merged(manifest)
    segments = (*manifest.in_tier(Tier.BASE), *manifest.in_tier(Tier.DELTA), *merged)
    return Inputs(tuple(heads), segments, bool(heads) or bool(manifest.in_tier(Tier.DELTA)))


def _merged(manifest: Manifest) -> tuple[Segment, ...]:
    """History that lies in many pieces, which become one."""
    history = manifest.in_tier(Tier.HISTORY)
    return history if len(history) >= _HISTORY_MAX else ()


def _skipped(state: TableState) -> tuple[Skipped, ...]:
    history, merged = state.manifest.in_tier(Tier.HISTORY), _merged(state.manifest)
    return tuple(Skipped(s.id, 1, "history stays as it is") for s in history if s not in merged)


def _work(session: PostgresSession, table: Table, inputs: Inputs) -> Work:
    """What is taken, and what will be written as far as it is known."""
    taken: list[ReplacedSegment] = []
    counts = RowCounts()
    for head in inputs.heads:
        source = layout.head_table(table.id, head)
        found = layout.count_rows(session, table, source)
        taken.append(_taken(session, source, found, Tier.HEAD))
        counts += found
    for segment in inputs.segments:
        source = layout.segment_table(segment)
        taken.append(_taken(session, source, segment.counts, segment.tier))
        # Rows of history stay, whatever kind they are.
        is_old = segment.tier is Tier.HISTORY
        counts += RowCounts(segment.counts.total) if is_old else segment.counts
    read = volume_of(taken)
    # Each open row stays: in the base, or in history with its end.
    size = read.bytes * counts.open // max(1, read.rows)
    tiers = 2 if counts.closing else 1
    written = Volume(tiers * len(inputs.all_fields()), counts.open, size)
    return Work(tuple(taken), written, (), {**rewriting.ABOUT, "written.files": ESTIMATED})


def _taken(
    session: PostgresSession, source: exp.Table, counts: RowCounts, tier: Tier
) -> ReplacedSegment:
    return rewriting.taken(source, counts.total, pieces.size(session, source), _WHY[tier])


def _once(journal: DatabaseJournal, session: PostgresSession, run: _Run, fill: Fill) -> JobReport:
    """Settle, stage, verify and swap once; raises Replan when it must all be done again."""
    table, now = run.asked.table, time.monotonic()
    settled = segment_swap.settle(journal, table)
    inputs = _inputs(settled.state, settled.state.manifest.heads[:-1])
    now = run.timed("settle", now)
    staged = _stage(session, journal, settled.table, inputs, settled.version, fill)
    now = run.timed("stage", now)
    checks = _verify(session, journal, settled.table, inputs, staged)
    session.commit()
    now = run.timed("verify", now)
    why = segment_swap.RetireReason(run.asked.job_id, "compact", run.asked.grace_us)
    segment_swap.swap(journal, settled.table, inputs, staged.segments, staged.head_counts, why)
    run.timed("swap", now)
    reaped = segment_swap.reap(journal, table.id)
    work = Work(staged.taken, staged.written, _skipped(settled.state))
    return JobReport.of(
        *(work, run.asked.job_id, "compact", str(table.name), "done"),
        retired=tuple(t.name for t in inputs.tables(table)),
        reaped=len(reaped.removed),
        replans=run.replans,
        seconds=run.seconds,
        details=checks,
    )


@dataclass(frozen=True, slots=True)
class _Staged:
    segments: tuple[Segment, ...]
    head_counts: RowCounts
    taken: tuple[ReplacedSegment, ...]
    written: Volume


def _stage(
    session: PostgresSession,
    journal: DatabaseJournal,
    table: Table,
    inputs: Inputs,
    version: Version,
    fill: Fill,
) -> _Staged:
    """Write the new tables."""
    session.begin()
    session.read_epochs(journal.state.epoch_of)
    counted = {
        h.generation: layout.count_rows(session, table, layout.head_table(table.id, h))
        for h in inputs.heads
    }
    heads = sum(counted.values(), RowCounts())
    as_committed.check_heads(session, table)
    as_committed.check_segments(session, table, inputs.segments)
    taken = _work(session, table, inputs).taken
    made: list[Segment] = []
    for fields in inputs.all_fields():
        for tier in (Tier.BASE, Tier.HISTORY):
            name = pieces.new_name(table.id, len(made))
            target = exp.table_(name, db=STORE_SCHEMA)
            create_sealed(session, table, target, fields, inputs.written_in(table, fields))
            fill(session, Filling(table, target, inputs, fields, tier))
            counts = layout.count_rows(session, table, target)
            if not counts.total:
                layout.drop_rows(session, target)
                continue
            layout.finish_rows(session, table, target, fields)
            session.text(f"ANALYZE {session.rendered(target).sql}")
            _, checksum = as_committed.fingerprint(session, table, target, fields)
            made.append(Segment(name, tier, (), fields, counts, 0, version, checksum))
    size = sum(pieces.size(session, layout.segment_table(s)) for s in made)
    written = Volume(len(made), sum(s.counts.total for s in made), size)
    return _Staged(tuple(made), heads, taken, written)


def _verify(
    session: PostgresSession,
    journal: DatabaseJournal,
    table: Table,
    inputs: Inputs,
    staged: _Staged,
) -> Mapping[str, object]:
    """Compare what readers see through the old tables and through the new ones."""
    before = journal.state.tables[table.id]
    after = inputs.replaced_by(before, staged.segments, staged.head_counts)
    found = []
    for state in (before, after):
        shown = journal.state.with_tables({table.id: state})
        session.read_epochs(shown.epoch_of)
        if state is after:
            layout.refresh_tiers(session, table, state.manifest)
        found.append(_fingerprints(session, table, state))
    if found[0] != found[1]:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"compacting {table.name} would change what it says: {found[0]} became {found[1]}",
            advice="nothing was changed; palimpsest verify tells whether the journal is whole",
        )
    current, intervals = found[0]
    return {"current_rows": current[0], "versions": intervals[0], "checksum": str(intervals[1])}


def _fingerprints(
    session: PostgresSession, table: Table, state: TableState
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Counts and sums over hashes, of the current rows and of all versions with their intervals."""
    reader = Reader(table, state.tiers | {Tier.HEAD})
    ends = [table.format.version_column, table.format.subsequent_column]
    names = [c.physical for c in table.stored]
    versions = [(column(n), n) for n in (*names, *ends)]
    current = reader.current([(column(n), n) for n in names])
    return pieces.hashed(session, current), pieces.hashed(session, reader.intervals(versions))
