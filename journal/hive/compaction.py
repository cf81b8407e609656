"""Compaction in Spark, by set-based SQL: changes into the base, old versions to history.

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

from journal.errors import Code, PalimpsestError
from journal.hive import cleaning
from journal.hive.journal import HiveJournal
from journal.hive.queries import in_terms_of
from journal.hive.tiers import SeenTiers
from journal.jobs.contract import Asked, JobReport, Volume
from journal.relations import Reader, column
from journal.schema import Table
from journal.segment import RowCounts, Segment, Tier
from journal.state import JournalState, TableState
from journal.stores import hive_layout as layout
from journal.stores import sql_catalog as rows_of
from journal.stores.catalog_format import JournalRow
from journal.stores.hive import HiveConnection
from journal.stores.hive_text import rendered
from journal.stores.row_layout import fields_of
from journal.transaction import Transaction

_REPLANS_MAX = 3


class _Replan(Exception):
    """What was planned on is no longer listed."""


@dataclass(slots=True)
class _Run:
    journal: HiveJournal
    asked: Asked
    connection: HiveConnection
    seconds: dict[str, float] = field(default_factory=dict)
    replans: int = 0
    made: list[str] = field(default_factory=list)

    def timed(self, step: str, since: float) -> float:
        now = time.monotonic()
        self.seconds[step] = round(self.seconds.get(step, 0.0) + now - since, 3)
        self.asked.progress(step, 1, 1)
        return now


def compact(journal: HiveJournal, asked: Asked) -> JobReport:
    """Run a compaction; raises JOB_BUSY, JOB_VERIFICATION, or what the server raises."""
    table = asked.table
    _, state = journal.look()
    inputs = _inputs(state.tables[table.id])
    if not inputs:
        return JobReport(asked.job_id, "compact", str(table.name), "nothing", "nothing has changed")
    if any(s.fields != fields_of(table) for s in state.tables[table.id].manifest.segments):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"rows of {table.name} were written before its columns were changed, and a Hive store"
            " does not compact those",
            advice="copy the current rows to a new table, if their number hurts",
        )
    if asked.dry_run:
        return _report(asked, inputs, "planned", _written(inputs), {}, ())
    with journal.store.connection() as connection:
        run = _Run(journal, asked, connection)
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


def _inputs(state: TableState) -> tuple[Segment, ...]:
    """What a compaction takes: all but history, if there is anything to gain."""
    base, delta = state.manifest.in_tier(Tier.BASE), state.manifest.in_tier(Tier.DELTA)
    return (*base, *delta) if delta or len(base) > 1 else ()


def _written(inputs: Sequence[Segment]) -> RowCounts:
    counts = sum((s.counts for s in inputs), RowCounts())
    return RowCounts(counts.open - counts.closing, counts.closing, 0)


def _once(run: _Run) -> JobReport:
    """Stage, verify and swap once; raises _Replan when it must all be done again."""
    journal, table, now = run.journal, run.asked.table, time.monotonic()
    _, before = journal.look()
    inputs = _inputs(before.tables[table.id])
    now = run.timed("plan", now)
    staged = _stage(run, before, inputs)
    now = run.timed("stage", now)
    checks = _verify(run, before, inputs, staged)
    now = run.timed("verify", now)
    _swap(run, inputs, staged)
    run.timed("swap", now)
    reaped = cleaning.reap(journal, run.connection)
    counts = sum((s.counts for s in staged), RowCounts())
    done = _report(run.asked, inputs, "done", counts, checks, tuple(s.id for s in inputs))
    return replace(done, seconds=run.seconds, replans=run.replans, reaped=len(reaped))


def _report(
    asked: Asked,
    inputs: Sequence[Segment],
    state: str,
    written: RowCounts,
    details: dict[str, object],
    retired: tuple[str, ...],
) -> JobReport:
    read = sum((s.counts for s in inputs), RowCounts())
    return JobReport(
        *(asked.job_id, "compact", str(asked.table.name), state),
        read=Volume(len(inputs), read.total, 0),
        written=Volume(0, written.total, 0),
        removed=Volume(0, read.total - written.total, 0),
        retired=retired,
        details=details,
    )


def _stage(run: _Run, state: JournalState, inputs: Sequence[Segment]) -> list[Segment]:
    """Write current rows and those that ended to partitions of their own."""
    table, journal = run.asked.table, run.journal
    seen = _only(state, table, inputs)
    reader = Reader(table, seen.tables[table.id].tiers)
    end = table.format.subsequent_column
    columns = [n for n, _ in layout.journal_fields(table, fields_of(table))]
    rows = reader.intervals([(column(n), n) for n in columns]).subquery("i")
    lasting = exp.Is(this=column(end, "i"), expression=exp.Null())
    first = min(s.min_version for s in inputs)
    last = max(s.max_version for s in inputs)
    made: list[Segment] = []
    for tier, where in ((Tier.BASE, lasting), (Tier.HISTORY, exp.Not(this=lasting.copy()))):
        outputs = [column(n, "i") for n in columns]
        body = exp.select(*outputs).from_(rows.copy()).where(where)
        path = journal.new_segment(table, run.connection)
        run.made.append(path)
        source = in_terms_of(body, _tiers(run, seen).in_spark)
        run.connection.execute(rendered(layout.insert_rows(journal.names, path, source)))
        counts = journal.count_rows(run.connection, table, path)
        if counts.total:
            files = (layout.segment_file(path, counts.total),)
            name = path.partition("/")[2]
            fields = fields_of(table)
            made.append(Segment(name, tier, files, fields, counts, first, last))
    return made


def _tiers(run: _Run, state: JournalState) -> SeenTiers:
    return SeenTiers(run.journal.names, state, Transaction(state))


def _only(state: JournalState, table: Table, segments: Sequence[Segment]) -> JournalState:
    """A state in which a journal has just these segments."""
    found = state.tables[table.id]
    manifest = replace(found.manifest, segments=tuple(segments))
    return state.with_tables({table.id: replace(found, manifest=manifest)})


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
    found = [_fingerprints(run, state) for state in (before, before.with_tables({table.id: after}))]
    if found[0] != found[1]:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"compacting {table.name} would change what it says: {found[0]} became {found[1]}",
            advice="nothing was changed; palimpsest verify tells whether the journal is whole",
        )
    (current, _), (versions, checksum) = found[0]
    return {"current_rows": current, "versions": versions, "checksum": str(checksum)}


def _fingerprints(run: _Run, state: JournalState) -> list[tuple[int, int]]:
    """Counts and sums over hashes, of the current rows and of all versions with their intervals."""
    table = run.asked.table
    reader = Reader(table, state.tables[table.id].tiers)
    names = [c.physical for c in table.stored]
    ends = [table.format.version_column, table.format.subsequent_column]
    queries = (
        (names, reader.current([(column(n), n) for n in names])),
        ([*names, *ends], reader.intervals([(column(n), n) for n in (*names, *ends)])),
    )
    found: list[tuple[int, int]] = []
    for columns, rows in queries:
        source = in_terms_of(rows, _tiers(run, state).in_spark)
        found.append(fingerprint(run.connection, source, columns))
    return found


def fingerprint(
    connection: HiveConnection, rows: exp.Expr, columns: Sequence[str]
) -> tuple[int, int]:
    """How many rows of Spark's, and the sum of their hashes, which tells nothing of their order."""
    members = [
        exp.PropertyEQ(this=exp.to_identifier(f"c{i}"), expression=column(n, "r"))
        for i, n in enumerate(columns)
    ]
    text = exp.Anonymous(this="to_json", expressions=[exp.Struct(expressions=members)])
    hashed = exp.Anonymous(this="xxhash64", expressions=[text])
    wide = exp.cast(hashed, "DECIMAL(38, 0)")
    total = exp.Coalesce(this=exp.Sum(this=wide), expressions=[exp.Literal.number(0)])
    assert isinstance(rows, exp.Query)
    query = exp.select(exp.Count(this=exp.Star()), total).from_(rows.subquery("r"))
    ((count, summed),) = connection.run(rendered(query))
    return int(count), int(summed)


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
            until = journal.now() + run.asked.grace_us
            rows_of.retire(connection, table.id, [s.files[0].path for s in inputs], until)
            rows_of.put_state(connection, following)
        journal.keep(following, committed.with_tables({table.id: state}))
    journal.staged.difference_update(run.made)
    unused = [p for p in run.made if p not in {s.files[0].path for s in staged}]
    run.made.clear()
    journal.drop_segments(unused)
