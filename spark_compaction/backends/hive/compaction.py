"""Compaction in Spark, by set-based SQL: changes into the base, old versions to history.

Rows keep the columns they were written in, so that every layout of a table is read as before.

    plan    counts that the catalog has                        (a dry run ends here)
    stage   base and history are written to partitions that no manifest lists
    verify  current rows and all intervals say the same through old and new partitions
    swap    the catalog lists the new partitions, if it lists the old ones still; else plan anew
    retire  what was replaced stays until its grace ends, then its partitions are dropped
    report  rows, seconds

Nothing is moved: queries in flight go on reading the partitions they began with. Killed at any
step, nothing or all of it happened; a later run drops what no manifest lists.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts, Segment, Tier
from journal.records.catalog_format import JournalRow
from journal.records.report import ESTIMATED, JobReport, ReplacedSegment, Skipped, Volume, Work
from journal.sql.relations import Reader, column, ident, union_all, version_type
from journal.sql.row_layout import present_keys
from journal.stores.hive import layout, written
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.pieces import Fingerprinted, SegmentGroup, fingerprints, pieces
from journal.stores.hive.queries import in_terms_of
from journal.stores.hive.segment_check import check_there, check_whole, count_rows
from journal.stores.hive.store import HiveConnection
from journal.stores.hive.tiers import SeenTiers
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from spark_compaction.backends.hive import cleaning
from spark_compaction.backends.hive.rewriting import SILENT, HiveRetireReason
from spark_compaction.contract import JobRequest

_REPLANS_MAX = 3
_MINOR = "it is small, and not the only one"
_WHY = {
    Tier.DELTA: "its changes are worked into the base",
    Tier.BASE: "changes are worked into it",
}
_SMALL_ROWS = 100_000
"""Segments of fewer rows are merged by a minor compaction."""


class _Replan(Exception):
    """What was planned on is no longer listed."""


@dataclass(slots=True)
class _Run:
    journal: HiveJournal
    asked: JobRequest
    connection: HiveConnection
    mode: str
    seconds: dict[str, float] = field(default_factory=dict)
    replans: int = 0
    made: list[str] = field(default_factory=list)

    def timed(self, step: str, since: float) -> float:
        now = time.monotonic()
        self.seconds[step] = round(self.seconds.get(step, 0.0) + now - since, 3)
        self.asked.progress(step, 1, 1)
        return now


def compact(journal: HiveJournal, asked: JobRequest, mode: str = "major") -> JobReport:
    """Run a compaction; raises JOB_BUSY, JOB_VERIFICATION, or what the server raises.

    A minor one only merges small segments, a major one works changes into the base.
    """
    table = asked.table
    _, state = journal.look()
    segments = state.tables[table.id].manifest.segments
    inputs = _inputs(journal, state.tables[table.id], mode)
    if asked.dry_run or not inputs:
        with journal.store.connection() as connection:
            check_there(journal.names, connection, table, segments)
    if not inputs:
        return JobReport(asked.job_id, "compact", str(table.name), "nothing", "nothing has changed")
    if asked.dry_run:
        return _planned(asked, state.tables[table.id], inputs, mode)
    with journal.store.connection() as connection:
        run = _Run(journal, asked, connection, mode)
        while True:
            try:
                return _once(run)
            except _Replan as reason:
                journal.drop_segments(run.made)
                run.made.clear()
                run.replans += 1
                if run.replans > _REPLANS_MAX:
                    raise PalimpsestError(
                        Code.JOB_BUSY,
                        f"{table.name} changed again and again while it was compacted",
                        advice="run it again when no other compaction runs",
                    ) from reason
            except PalimpsestError:
                journal.drop_segments(run.made)
                raise


def _inputs(journal: HiveJournal, state: TableState, mode: str) -> tuple[Segment, ...]:
    """What a compaction takes, if there is anything to gain: all but history, or what is small."""
    segments = state.manifest.segments
    if mode == "minor":
        small = [s for s in segments if s.counts.total < _SMALL_ROWS]
        own = [s for s in small if not layout.is_adopted(journal.names, s.files[0].path)]
        return tuple(s for p in pieces(own) if len(p.segments) > 1 for s in p.segments)
    base, delta = state.manifest.in_tier(Tier.BASE), state.manifest.in_tier(Tier.DELTA)
    return (*base, *delta) if delta or len(base) > 1 else ()


def _written(inputs: Sequence[Segment], mode: str) -> RowCounts:
    counts = sum((s.counts for s in inputs), RowCounts())
    if mode == "minor":
        return counts
    return RowCounts(counts.open - counts.closing, counts.closing, 0)


def _once(run: _Run) -> JobReport:
    """Stage, verify and swap once; raises _Replan when it must all be done again."""
    journal, table, now = run.journal, run.asked.table, time.monotonic()
    _, before = journal.look()
    inputs = _inputs(journal, before.tables[table.id], run.mode)
    check_whole(journal.names, run.connection, table, before.tables[table.id].manifest.segments)
    now = run.timed("plan", now)
    staged = (_merge if run.mode == "minor" else _stage)(run, inputs)
    now = run.timed("stage", now)
    checks = _verify(run, before, inputs, staged)
    now = run.timed("verify", now)
    _swap(run, inputs, staged)
    run.timed("swap", now)
    reaped = cleaning.reap(journal, run.connection)
    volume = Volume(len(staged), sum(s.counts.total for s in staged))
    work = replace(_work(before.tables[table.id], inputs, run.mode), written=volume, inexact=SILENT)
    return JobReport.of(
        *(work, run.asked.job_id, "compact", str(table.name), "done"),
        retired=tuple(s.id for s in inputs),
        reaped=len(reaped),
        replans=run.replans,
        seconds=run.seconds,
        details=checks,
    )


def _planned(
    asked: JobRequest, state: TableState, inputs: Sequence[Segment], mode: str
) -> JobReport:
    work = _work(state, inputs, mode)
    return JobReport.of(work, asked.job_id, "compact", str(asked.table.name), "planned")


def _work(state: TableState, inputs: Sequence[Segment], mode: str) -> Work:
    """What is taken, and what will be written as far as it is known."""
    taken = tuple(
        ReplacedSegment(s.id, 1, s.counts.total, 0, _MINOR if mode == "minor" else _WHY[s.tier])
        for s in inputs
    )
    why = "it is not small, or the only small one" if mode == "minor" else "history stays as it is"
    skipped = tuple(Skipped(s.id, 1, why) for s in state.manifest.segments if s not in inputs)
    rows, inexact = _written(inputs, mode), dict(SILENT)
    if mode == "minor":
        return Work(taken, Volume(len(pieces(inputs)), rows.total), skipped, inexact)
    tiers = 2 if rows.closing else 1
    files = tiers * len({s.fields for s in inputs})
    inexact["written.files"] = ESTIMATED
    return Work(taken, Volume(files, rows.total), skipped, inexact)


def _merge(run: _Run, inputs: Sequence[Segment]) -> list[Segment]:
    """Write small segments of one kind together."""
    table, names = run.asked.table, run.journal.names
    made: list[Segment] = []
    for piece in pieces(inputs):
        columns = [column(n) for n, _ in layout.journal_fields(table, piece.fields)]
        rows = layout.rows_of(names, piece.paths)
        rows.set("expressions", columns)
        made += _write(run, piece, rows)
    return made


def _stage(run: _Run, inputs: Sequence[Segment]) -> list[Segment]:
    """Write current rows and those that ended to partitions of their own, by their columns."""
    made: list[Segment] = []
    by_fields: dict[Fields, list[SegmentGroup]] = {}
    for piece in pieces(inputs):
        by_fields.setdefault(piece.fields, []).append(piece)
    for fields, found in by_fields.items():
        segments = tuple(s for p in found for s in p.segments)
        for tier in (Tier.BASE, Tier.HISTORY):
            made += _write(
                run, SegmentGroup(tier, fields, segments), _rows_for(run, inputs, found, tier)
            )
    return made


def _write(run: _Run, piece: SegmentGroup, rows: exp.Query) -> list[Segment]:
    """Write rows to a segment of their own; none where there are no rows."""
    journal, connection, table = run.journal, run.connection, run.asked.table
    is_shaped = run.mode != "minor" or piece.is_shaped
    path = written.write(journal, connection, table, piece.fields, rows, run.made, is_shaped)
    counts = count_rows(journal.names, connection, table, path)
    return [piece.written_to(path, counts)] if counts.total else []


def _rows_for(
    run: _Run, inputs: Sequence[Segment], found: Sequence[SegmentGroup], tier: Tier
) -> exp.Select:
    """What base or history shall hold of the rows that were written in some columns."""
    table, names = run.asked.table, run.journal.names
    start, end = table.format.version_column, table.format.subsequent_column
    opens = union_all([_with_keys(names, table, piece, closing=False) for piece in found])
    closings = union_all([_with_keys(names, table, p, closing=True) for p in pieces(inputs)])
    last: exp.Expr = column(end, "c")
    if tier is Tier.BASE:
        last = exp.cast(exp.Null(), version_type(table), dialect="duckdb")
    outputs = [*(column(n, "o") for n, _ in found[0].fields), column(start, "o")]
    rows = exp.select(*outputs, exp.alias_(last, ident(end))).from_(opens.subquery("o"))
    same = [exp.EQ(this=column(n, "o"), expression=column(n, "c")) for n in _key_names(table)]
    same.append(exp.EQ(this=column(start, "o"), expression=column(start, "c")))
    kind = "ANTI" if tier is Tier.BASE else "INNER"
    rows.append("joins", exp.Join(this=closings.subquery("c"), kind=kind, on=exp.and_(*same)))
    return rows


def _key_names(table: Table) -> list[str]:
    return [f"palimpsest_key_{i}" for i in range(len(table.key))]


def _with_keys(
    names: layout.Names, table: Table, piece: SegmentGroup, *, closing: bool
) -> exp.Select:
    """Open or closing rows of a piece, and their keys as the table has them now."""
    start, end = table.format.version_column, table.format.subsequent_column
    keys = [
        exp.alias_(value, ident(name))
        for name, value in zip(_key_names(table), present_keys(table, piece.fields), strict=True)
    ]
    fields = [column(end, "p")] if closing else [column(n, "p") for n, _ in piece.fields]
    source = layout.rows_of(names, piece.paths).subquery("p")
    rows = exp.select(*fields, column(start, "p"), *keys).from_(source)
    if closing:
        return rows.where(exp.GT(this=column(end, "p"), expression=column(start, "p")))
    return rows.where(exp.Is(this=column(end, "p"), expression=exp.Null()))


def _tiers(run: _Run, state: JournalState) -> SeenTiers:
    return SeenTiers(run.journal.names, state, Transaction(state))


def _replaced(
    state: TableState, inputs: Sequence[Segment], staged: Sequence[Segment]
) -> TableState:
    """The journal with new segments in the place of old ones; raises _Replan if they are gone."""
    gone = {s.id for s in inputs}
    kept = tuple(s for s in state.manifest.segments if s.id not in gone)
    if len(kept) + len(gone) != len(state.manifest.segments):
        raise _Replan
    manifest = replace(
        state.manifest, generation=state.manifest.generation + 1, segments=(*staged, *kept)
    )
    return replace(state, manifest=manifest)


def _verify(
    run: _Run, before: JournalState, inputs: Sequence[Segment], staged: Sequence[Segment]
) -> dict[str, object]:
    """Compare what readers see through the old partitions and through the new ones."""
    table = run.asked.table
    after = _replaced(before.tables[table.id], inputs, staged)
    states = (before, before.with_tables({table.id: after}))
    asked = [_compared(run, state) for state in states]
    found = fingerprints(run.connection, [rows for each in asked for rows in each])
    old, new = found[: len(asked[0])], found[len(asked[0]) :]
    if old != new:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"compacting {table.name} would change what it says: {old} became {new}",
            advice="nothing was changed; palimpsest verify tells whether the journal is whole",
        )
    (current, _), (versions, checksum) = old[:2]
    return {"current_rows": current, "versions": versions, "checksum": str(checksum)}


def _compared(run: _Run, state: JournalState) -> list[Fingerprinted]:
    """What readers see: the current rows, and all versions in every layout."""
    table, found = run.asked.table, state.tables[run.asked.table.id]
    # What is hidden may be shown again, so it is compared as well.
    bare = replace(found, manifest=found.manifest.without_keys(found.manifest.masks))
    state = state.with_tables({table.id: bare})
    layouts = {t.layout: t for t in (*found.layouts, table)}
    del layouts[table.layout]
    names = [c.physical for c in table.stored]
    queries = [(names, Reader(table, found.tiers).current([(column(n), n) for n in names]))]
    for shown in (table, *layouts.values()):
        ends = [shown.format.version_column, shown.format.subsequent_column]
        columns = [*(c.physical for c in shown.stored), *ends]
        rows = Reader(shown, found.tiers).intervals([(column(n), n) for n in columns])
        queries.append((columns, rows))
    asked: list[Fingerprinted] = []
    for columns, rows in queries:
        placed = in_terms_of(rows, _tiers(run, state).in_spark)
        assert isinstance(placed, exp.Query)
        asked.append((placed, columns))
    return asked


def _swap(run: _Run, inputs: Sequence[Segment], staged: Sequence[Segment]) -> None:
    """List the new partitions instead of the old ones, which stay until their grace ends."""
    journal, table = run.journal, run.asked.table
    with journal.leases.holding([f"table:{table.id}"]) as held:
        with journal.catalog.writing(rows_of.STATE) as connection:
            held.check(connection)
            row, committed = journal.look_in(connection)
            found = committed.tables[table.id]
            if committed.catalog.by_id(table.id) != table:
                raise _Replan
            state = _replaced(found, inputs, staged)
            following = replace(row, generation=row.generation + 1)
            listed = JournalRow(table.id, state.manifest, state.last_version, RowCounts())
            rows_of.put_journal(connection, listed, following.generation)
            now = journal.now()
            HiveRetireReason(run.asked.job_id, now, now + run.asked.grace_us).retire(
                connection, table, inputs
            )
            rows_of.put_state(connection, following)
        journal.keep(following, committed.with_tables({table.id: state}))
    journal.staged.difference_update(run.made)
    unused = [p for p in run.made if p not in {s.files[0].path for s in staged}]
    run.made.clear()
    journal.drop_segments(unused)
