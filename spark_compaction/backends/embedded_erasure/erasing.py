"""Rewrites the files of one table without the rows of erased keys.

    live segments (a job) -> retired segments -> search again: nothing -> receipts written

A hold that is placed meanwhile keeps its rows.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from journal.erasure.column_changes import Changes
from journal.erasure.table_share import pieces_of
from journal.files.filters.sidecar import merge_sidecars
from journal.local_engine.hash_key import hash_key
from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment
from journal.records import backups, retired
from journal.records.report import ESTIMATED, JobReport, Skipped, Work
from journal.stores.embedded.integrity import damage_named
from journal.stores.embedded.journal import Journal
from journal.transactions.reading import reading
from journal.transactions.state import JournalState
from spark_compaction.backends.embedded.maintenance import staged_folders
from spark_compaction.backends.embedded_erasure.key_matches import (
    Holdings,
    KeyMatch,
    counts_by_mask,
    holdings,
)
from spark_compaction.backends.embedded_erasure.purge import (
    NONE_FOUND,
    PurgeJob,
    check_digests,
    digests,
    moved_files,
    new_folder,
    planned_work,
    replaced_files,
    rewrite,
    unit_of,
    volume,
    with_files,
)
from spark_compaction.engines.local import LocalEngine
from spark_compaction.erasure.backend import PurgeRun
from spark_compaction.erasure.legal_holds import check_hidden
from spark_compaction.erasure.receipts import PurgedRows
from spark_compaction.erasure.units import units_of
from spark_compaction.programs.unsealed import unsealed
from spark_compaction.runner import RunOptions, run_job

_ROUNDS_MAX = 3
_WAIT_S = 60.0
"""How long a purge waits for another job on the table."""


def remove_rows(
    journal: Journal, table: Table, names: tuple[str, ...], run: PurgeRun
) -> list[JobReport]:
    """Remove the keys in the masks of these ``names`` from all files, and write the receipts.

    Raises JOB_BUSY if a hold is placed meanwhile, ERASURE if other jobs keep bringing rows back.
    """
    changes, reports = changes_of(table, run), list[JobReport]()
    if run.unit_bytes:
        with _holding(journal, table, names, changes) as (_, found):
            live = set(pieces_of(journal.state.tables[table.id].manifest.segments))
            sizes = {h.file.path: h.file.bytes for h in found.held if h.file.path in live}
        for unit in units_of(sizes, run.unit_bytes)[:-1]:
            reports.append(remove_unit(journal, table, names, run, frozenset(unit)))
    before = journal.state.tables[table.id].manifest
    with damage_named(journal.checker, before.segments):
        with _holding(journal, table, names, changes) as (session, found):
            counts = counts_by_mask(
                session, journal.root, table, found, names, before.heads, changes
            )
        last, others = _remove(journal, table, names, run, changes)
    _record(journal, table, before, last, counts, others)
    return [*reports, *last]


def remove_unit(
    journal: Journal, table: Table, names: tuple[str, ...], run: PurgeRun, paths: frozenset[str]
) -> JobReport:
    """Write some live files anew without the keys in the masks, and add it to the receipts."""
    before, changes = journal.state.tables[table.id].manifest, changes_of(table, run)
    with damage_named(journal.checker, before.segments):
        with journal.reading_session() as session:
            segments = with_files(before.segments, paths)
            found = holdings(session, journal.root, table, segments, names, changes=changes)
            counts = counts_by_mask(session, journal.root, table, found, names, (), changes)
        report = _run_purge(journal, table, PurgeJob(names, changes, paths), run)
    _record(journal, table, before, [report], counts, report.details.get("others", {}))
    return report


def _record(
    journal: Journal,
    table: Table,
    before: Manifest,
    reports: Sequence[JobReport],
    counts: Mapping[str, int],
    others: Mapping[str, str],
) -> None:
    work = sum((r.work for r in reports), Work())
    with journal.exclusive_session() as session:
        after = journal.state.tables[table.id].manifest
        PurgedRows(before, after, work, counts, json.dumps(others, sort_keys=True)).record(session)
        session.commit()


def changes_of(table: Table, run: PurgeRun) -> Changes | None:
    """The changes of a run, ready to be made; None if rows go."""
    if not run.changes:
        return None
    return Changes(table, run.changes, hash_key())


def _remove(
    journal: Journal,
    table: Table,
    names: tuple[str, ...],
    run: PurgeRun,
    changes: Changes | None,
) -> tuple[list[JobReport], dict[str, str]]:
    """Write files anew until none holds a key; reports, and what the others of a file hold."""
    reports: list[JobReport] = []
    others: dict[str, str] = {}
    for _ in range(_ROUNDS_MAX):
        report = _run_purge(journal, table, PurgeJob(names, changes), run)
        if report.state == "done":
            others = dict(report.details.get("others", {}))
        reports += [report, *_purge_retired(journal, table, names, run, changes)]
        if not _holdings(journal, table, names, changes).counts.total:
            return reports, others
    raise PalimpsestError(
        Code.ERASURE,
        f"the purge still finds rows of erased keys in {table.name}",
        advice="run it again when fewer jobs replace segments of the table",
    )


def _run_purge(journal: Journal, table: Table, job: PurgeJob, run: PurgeRun) -> JobReport:
    """Run a job unless a hold is placed meanwhile."""

    def check(state: JournalState) -> tuple[Segment, ...]:
        check_hidden(state.tables[table.id].manifest, job.masks, table)
        return ()

    return run_job(
        *(journal, job, table.id, run.engine or LocalEngine()),
        options=RunOptions(grace_us=0, wait_s=_WAIT_S),
        progress=run.progress,
        check=check,
    )


def planned(journal: Journal, table: Table, masks: Sequence[str]) -> Work:
    """What a purge of a table would do; changes nothing."""
    table_id, root = table.id, journal.root
    with journal.sealing_lock(table_id), _holding(journal, table, masks) as (session, held):
        work = planned_work(held)
        state = journal.state.tables[table_id]
        for head in unsealed(session, state, journal.state.version):
            rows = holdings(session, root, table, (), masks, head.heads).heads.total
            if not rows:
                work += Work(skipped=(Skipped(head.segment.id, 1, NONE_FOUND),))
                continue
            there = head.segment
            estimate = KeyMatch(there, there.files[0], RowCounts(rows))
            inexact = {"read.bytes": ESTIMATED}
            if not head.is_one_file:
                inexact |= dict.fromkeys(("read.files", "read.rows", "written.rows"), ESTIMATED)
            work += planned_work(Holdings([estimate], [], [], RowCounts())) + Work(inexact=inexact)
    return work


def _holdings(
    journal: Journal, table: Table, masks: Sequence[str], changes: Changes | None
) -> Holdings:
    """Rows of the keys in all a table has: live, retired, and heads."""
    with _holding(journal, table, masks, changes) as (_, found):
        return found


@contextmanager
def _holding(
    journal: Journal, table: Table, masks: Sequence[str], changes: Changes | None = None
) -> Iterator[tuple[DuckDBSession, Holdings]]:
    """Rows of the keys in all a table has, and a session that reads there."""
    with reading(journal) as statement:
        session = statement.session
        assert isinstance(session, DuckDBSession)
        manifest = statement.committed.tables[table.id].manifest
        kept = [r.segment for r in retired.recoverable_segments(session, table.id)]
        segments = [*manifest.segments, *kept]
        yield (
            session,
            holdings(session, journal.root, table, segments, masks, manifest.heads, changes),
        )


def _purge_retired(
    journal: Journal,
    table: Table,
    masks: Sequence[str],
    run: PurgeRun,
    changes: Changes | None,
) -> list[JobReport]:
    """Write retired segments anew, too: a backup must not bring anybody back."""
    table_id, state = table.id, journal.state.tables[table.id]
    live = {f.path for s in state.manifest.segments for f in s.files}
    with journal.reading_session() as session:
        segments = [
            _unlisted_files(r.segment, live)
            for r in retired.recoverable_segments(session, table_id)
        ]
        found = holdings(session, journal.root, table, segments, masks, changes=changes)
    held, name = found.held, str(table.name)
    if not held:
        return [JobReport.of(planned_work(found), "", "purge", name, "nothing")]
    journal.checker.check_files(h.file for h in held)
    folder = new_folder(journal, held[0].file)
    with staged_folders(journal, [folder]):
        units = [
            unit_of(journal, table, state, h, masks, f"{folder}/part_{n}.parquet", changes)
            for n, h in enumerate(held)
        ]
        with journal.pins.hold([h.file.path for h in held]):
            results = rewrite(run.engine, units, run.progress)
        check_digests(digests(results), str(table.name))
        merge_sidecars(journal.root / folder)
        done = {u["path"] for u in units}
        with journal.exclusive_session() as session:
            check_hidden(journal.state.tables[table_id].manifest, masks, table)
            for entry in retired.load(session, table_id):
                if not done & {f.path for f in entry.segment.files}:
                    continue
                known = {f.path for f in entry.segment.files}
                pairs = [(u, r) for u, r in zip(units, results, strict=True) if u["path"] in known]
                bare = replaced_files([entry.segment], [u for u, _ in pairs], [r for _, r in pairs])
                retired.forget(session, [entry.id])
                retired.record(session, table_id, entry.generation, bare.added, entry.why)
            moved = moved_files(units, results)
            backups.follow(session, moved)
            session.commit()
    work = replace(planned_work(found), written=volume(f for f in moved.values() if f), inexact={})
    return [JobReport.of(work, "", "purge", name, "done")]


def _unlisted_files(segment: Segment, live: Container[str]) -> Segment:
    """A retired segment, only the files that no manifest lists."""
    return replace(segment, files=tuple(f for f in segment.files if f.path not in live))
