"""From accepted requests to receipts: one purge for each table, then nothing may be left.

    for each request: copies that were out of reach when it was accepted, searched
    for each table:  live segments (a job) -> retired segments -> search again: nothing
                     -> copies of backups that lie elsewhere
    for each request whose tables are all done:  receipts, masks gone, PURGED -> COMPLETED

A legal hold on any of its rows keeps a request back; the others go on. A table that fails leaves
its requests accepted, and their rows unseen; the run goes on and ends with that failure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from journal.erasure.erased import Erased
from journal.erasure.erasure_spec import requests
from journal.erasure.requests import ErasureRequest, Outcome, State, Target
from journal.files.filters.sidecar import merge_sidecars
from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.segment import Manifest, RowCounts, Segment
from journal.records import backups, retired
from journal.records import erasure_rows as rows_of
from journal.records.report import ESTIMATED, JobReport, Skipped, Work
from journal.stores.embedded.integrity import damage_named
from journal.stores.embedded.journal import Journal
from journal.transactions.state import JournalState
from spark_compaction.backends.embedded.maintenance import staged_folders
from spark_compaction.contract import Engine, Progress, silent
from spark_compaction.erasure import deferred_files
from spark_compaction.erasure.completion import WAIT_S, finish, purged
from spark_compaction.erasure.deferred_search import AskAgain, search_each
from spark_compaction.erasure.held import check_hidden, free_masks, open_requests
from spark_compaction.erasure.key_files import settle
from spark_compaction.erasure.key_matches import Holdings, KeyMatch, counts_by_mask, holdings
from spark_compaction.erasure.offsite_search import Removed
from spark_compaction.erasure.purge import (
    NONE_FOUND,
    PurgeJob,
    check_digests,
    definition,
    digests,
    moved_files,
    new_folder,
    planned_work,
    replaced_files,
    rewrite,
    unit_of,
    volume,
)
from spark_compaction.erasure.purge_copies import purge_copies
from spark_compaction.programs.unsealed import unsealed
from spark_compaction.runner import RunOptions, run_job

_ROUNDS_MAX = 3


def erase(
    journal: Journal,
    engine: Engine,
    by: str,
    *,
    only: Iterable[str] | None = None,
    progress: Progress = silent,
    wait_s: float = WAIT_S,
    ask_again: AskAgain | None = None,
) -> Erased:
    """Purge what has been accepted (or ``only`` some requests), and complete what can be.

    ``ask_again`` looks for a condition in copies that were out of reach when it was accepted.
    """
    run = Erased()
    wanted = None if only is None else set(only)
    pending = [r for r in requests(journal) if wanted is None or r.id in wanted]
    pending, run.failures = search_each(deferred_files.side(journal), pending, by, ask_again)
    chosen = {r.id for r in pending}
    settle(journal, by, chosen)
    accepted = [r for r in requests(journal) if r.id in chosen and r.state is State.ACCEPTED]
    receipts: dict[int, dict[str, Target]] = {}
    for table_id in sorted({t.table_id for r in accepted for t in r.targets if t.mask}):
        masks = {
            t.mask: t for r in accepted for t in r.targets if t.table_id == table_id and t.mask
        }
        try:
            segments = journal.state.tables[table_id].manifest.segments
            with failures(), damage_named(journal.checker, segments):
                receipts[table_id] = _purge_table(journal, engine, table_id, masks, run, progress)
        except PalimpsestError as error:
            run.failures[str(definition(journal, table_id).name)] = error
    settled = [_with_receipts(r, receipts) for r in accepted]
    done = [r for r in settled if not r.unsearched and all(_is_over(t) for t in r.targets)]
    ended = {r.id for r in purged(journal, done, by)} if done else set()
    _keep_receipts(journal, {r.id for r in settled} - ended, receipts)
    finish(journal, by, wait_s)
    after = {r.id: r for r in requests(journal)}
    run.requests = [after[r.id] for r in pending]
    return run


def _is_over(target: Target) -> bool:
    return target.mask is None or target.outcome is Outcome.ERASED


def _keep_receipts(
    journal: Journal, left: Collection[str], receipts: dict[int, dict[str, Target]]
) -> None:
    """Record how far requests are that are not purged everywhere; their rows stay unseen.

    Also of those that a hold keeps back by now: what was removed of them is gone.
    """
    if not left or not receipts:
        return
    with journal.exclusive_session() as session:
        for request in open_requests(session, left):
            rows_of.put_erasure(session, _with_receipts(request, receipts).to_row())
        session.commit()


def planned(journal: Journal, table_id: int, found: Sequence[ErasureRequest]) -> Work:
    """What a purge of a table would do for requests that no hold keeps back; changes nothing.

    Rows in copies elsewhere are not counted.
    """
    masks = free_masks(found, table_id)
    if not masks:
        return Work()
    table, root = definition(journal, table_id), journal.root
    with journal.sealing_lock(table_id), _holding(journal, table_id, masks) as (session, held):
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


def _with_receipts(
    request: ErasureRequest, receipts: dict[int, dict[str, Target]]
) -> ErasureRequest:
    targets = tuple(
        t if t.mask is None else receipts.get(t.table_id, {}).get(t.mask, t)
        for t in request.targets
    )
    return replace(request, targets=targets)


def _purge_table(
    journal: Journal,
    engine: Engine,
    table_id: int,
    masks: dict[str, Target],
    run: Erased,
    progress: Progress,
) -> dict[str, Target]:
    """Remove the keys of some masks from all a table has; the receipt of each mask."""
    names = tuple(masks)
    table = definition(journal, table_id)

    def check(state: JournalState) -> tuple[Segment, ...]:
        check_hidden(state.tables[table_id].manifest, names, table)
        return ()

    before = journal.state.tables[table_id].manifest
    found = _holdings(journal, table_id, names)
    with journal.reading_session() as session:
        counts = counts_by_mask(session, journal.root, table, found, names, before.heads)
    others: dict[str, str] = {}
    for _ in range(_ROUNDS_MAX):
        options = RunOptions(grace_us=0, wait_s=60.0)
        report = run_job(
            *(journal, PurgeJob(names), table_id, engine),
            options=options,
            progress=progress,
            check=check,
        )
        run.reports.append(report)
        if report.state == "done":
            others = dict(report.details.get("others", {}))
        run.reports += _purge_retired(journal, engine, table_id, names, progress)
        if not _holdings(journal, table_id, names).counts.total:
            break
    else:
        raise PalimpsestError(
            Code.ERASURE,
            f"rows of erased keys are still found in {table.name}",
            advice="run it again when fewer jobs replace segments of the table",
        )
    outcome, elsewhere = Outcome.ERASED, dict.fromkeys(names, Removed())
    try:
        with failures():
            elsewhere = purge_copies(journal, engine, table_id, names, progress)
    except PalimpsestError as error:
        # What is gone here is gone; the next run goes on with the copies.
        run.failures.setdefault(str(table.name), error)
        outcome = Outcome.PENDING
    after = journal.state.tables[table_id].manifest
    return {
        mask: replace(
            target,
            outcome=outcome,
            versions_removed=target.versions_removed + counts.get(mask, 0),
            copies_rewritten=target.copies_rewritten + elsewhere[mask].files,
            copies_removed=target.copies_removed + elsewhere[mask].versions,
            files_rewritten=target.files_rewritten + len(found.held),
            bytes_rewritten=target.bytes_rewritten + sum(h.file.bytes for h in found.held),
            manifest_before=target.manifest_before or _digest(before),
            manifest_after=_digest(after),
            others=json.dumps(others, sort_keys=True) if others else target.others or "{}",
        )
        for mask, target in masks.items()
    }


def _digest(manifest: Manifest) -> str:
    return hashlib.sha256(json.dumps(manifest.to_json()).encode()).hexdigest()


def _holdings(journal: Journal, table_id: int, masks: Sequence[str]) -> Holdings:
    """Rows of the keys in all a table has: live, retired, and heads."""
    with _holding(journal, table_id, masks) as (_, found):
        return found


@contextmanager
def _holding(
    journal: Journal, table_id: int, masks: Sequence[str]
) -> Iterator[tuple[DuckDBSession, Holdings]]:
    """Rows of the keys in all a table has, and a session that reads there."""
    table = definition(journal, table_id)
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            session = statement.session
            manifest = statement.committed.tables[table_id].manifest
            kept = [r.segment for r in retired.kept(session, table_id)]
            segments = [*manifest.segments, *kept]
            yield (
                session,
                holdings(session, journal.root, table, segments, masks, manifest.heads),
            )
    finally:
        journal.rollback(transaction)


def _purge_retired(
    journal: Journal, engine: Engine, table_id: int, masks: Sequence[str], progress: Progress
) -> list[JobReport]:
    """Write retired segments anew, too: a backup must not bring anybody back."""
    table, state = definition(journal, table_id), journal.state.tables[table_id]
    live = {f.path for s in state.manifest.segments for f in s.files}
    with journal.reading_session() as session:
        segments = [_beside(r.segment, live) for r in retired.kept(session, table_id)]
        found = holdings(session, journal.root, table, segments, masks)
    held, name = found.held, str(table.name)
    if not held:
        return [JobReport.of(planned_work(found), "", "purge", name, "nothing")]
    journal.checker.check_files(h.file for h in held)
    folder = new_folder(journal, held[0].file)
    with staged_folders(journal, [folder]):
        units = [
            unit_of(journal, table, state, h, masks, f"{folder}/part_{n}.parquet")
            for n, h in enumerate(held)
        ]
        with journal.pins.hold([h.file.path for h in held]):
            results = rewrite(engine, units, progress)
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


def _beside(segment: Segment, live: Container[str]) -> Segment:
    """A retired segment, only the files that no manifest lists."""
    return replace(segment, files=tuple(f for f in segment.files if f.path not in live))
