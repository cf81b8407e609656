"""The loop every job goes through: plan, stage, verify, swap, retire, report.

It runs in the process that owns the warehouse; only ``stage`` goes to the engine. Readers and
writers go on all the while. If what was planned on changed meanwhile, the job is planned anew, a
few times. Whatever ends it early, the files it had staged are removed.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from journal.files.staging import close_folder, open_folders, remove_folder
from journal.model.errors import Code, PalimpsestError
from journal.records import retired
from journal.records.report import JobReport, Work
from journal.stores.embedded import catalog_tables as rows_of
from journal.stores.embedded import retired_files
from journal.stores.embedded.integrity import damage_named
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.scratch_folders import sweep
from journal.stores.embedded.table_lock import job_turn
from spark_compaction.contract import GRACE_US, Engine, Job, JobPlan, Progress, Staged, silent
from spark_compaction.programs.swap import Check, Replan, settled_version, swap

_LOG = logging.getLogger("palimpsest.jobs")
_REPLANS_MAX = 5
"""How often a job is planned anew before it gives up."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a job; ``grace_us`` None keeps what it retires until told."""

    dry_run: bool = False
    grace_us: int | None = GRACE_US
    job_id: str | None = None
    wait_s: float = 0.0


@dataclass(slots=True)
class _Times:
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.seconds[name] = round(self.seconds.get(name, 0.0) + spent, 4)


def run_job(
    journal: Journal,
    job: Job,
    table_id: int,
    engine: Engine,
    *,
    options: RunOptions | None = None,
    progress: Progress = silent,
    check: Check | None = None,
) -> JobReport:
    """Run a job on one table; raises JOB_BUSY while another job holds the table.

    ``check`` is asked in the commit section whether the swap is still right.
    """
    chosen = options or RunOptions()
    times = _Times()
    if chosen.dry_run:
        with times.step("plan"), journal.sealing_lock(table_id):
            plan = job.plan(journal, table_id, journal.state.version)
        return _report(chosen, plan, "nothing" if plan.is_empty else "planned", times)
    with job_turn(journal, table_id, chosen.wait_s):
        return _run(journal, job, table_id, engine, chosen, progress, check, times)


def _run(
    journal: Journal,
    job: Job,
    table_id: int,
    engine: Engine,
    options: RunOptions,
    progress: Progress,
    check: Check | None,
    times: _Times,
) -> JobReport:
    sweep(journal)
    for attempt in range(_REPLANS_MAX):
        with times.step("seal"):
            settled = settled_version(journal, table_id)
        with (
            times.step("plan"),
            damage_named(journal.checker, journal.state.tables[table_id].manifest.segments),
        ):
            plan = job.plan(journal, table_id, settled)
        if plan.is_empty:
            return _report(options, plan, "nothing", times, replans=attempt)
        with journal.pins.hold(plan.inputs), staged_folders(journal, plan.folders):
            try:
                with times.step("stage"):
                    _check_inputs(journal, plan)
                    staged = job.stage(journal, plan, engine, progress)
                with times.step("verify"):
                    _check_files(journal.root, staged)
                    verified = job.verify(journal, plan, staged)
                    _merge_filters(journal.root, plan)
                with times.step("swap"):
                    ids = _swap(journal, plan, staged, options, check)
            except Replan:
                continue
        with times.step("retire"):
            reaped = retired_files.reap(journal, journal.clock.now(), table_id)
        details = {**plan.details, **staged.details, **verified}
        found = _report(options, plan, "done", times, staged, replans=attempt)
        return replace(found, retired=ids, reaped=len(reaped.removed), details=details)
    raise PalimpsestError(
        Code.JOB_FAILED,
        f"the segments of {plan.table} changed {_REPLANS_MAX} times while the job ran",
        advice="run it again when fewer jobs run; nothing was changed",
    )


def _check_inputs(journal: Journal, plan: JobPlan) -> None:
    """Raise SEGMENT_DAMAGED for an altered file: what is written from it would pass for whole."""
    inputs = set(plan.inputs)
    segments = journal.state.tables[plan.table_id].manifest.segments
    journal.checker.check_files(f for s in segments for f in s.files if f.path in inputs)


def _merge_filters(root: Path, plan: JobPlan) -> None:
    """Make one sidecar of what the units have written into each folder."""
    for folder in plan.folders:
        if any((root / folder).glob("filters*.bloom")):
            from journal.files.filters.sidecar import merge_sidecars

            merge_sidecars(root / folder)


def _swap(
    journal: Journal, plan: JobPlan, staged: Staged, options: RunOptions, check: Check | None
) -> tuple[str, ...]:
    if staged.replacement is None:
        return ()
    now = journal.clock.now()
    until = None if options.grace_us is None else now + options.grace_us
    job_id = options.job_id or uuid.uuid4().hex
    why = retired.Retirement(job_id, plan.kind, plan.why, now, until)
    return swap(
        journal,
        plan.table_id,
        staged.replacement,
        why,
        check,
        archived=staged.archived,
        floor=staged.floor,
        moved=staged.moved,
    )


def _check_files(root: Path, staged: Staged) -> None:
    """Raise unless every new file is there, in its size; their checksums come from executors."""
    new = staged.replacement.new() if staged.replacement is not None else ()
    for file in (f for s in new for f in s.files):
        path = root / file.path
        size = path.stat().st_size if path.is_file() else None
        if size != file.bytes:
            found = "is missing" if size is None else f"has {size} bytes, not {file.bytes}"
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"the new file {file.path} {found}",
                advice="see that Spark's executors write where this process reads",
            )


@contextmanager
def staged_folders(journal: Journal, folders: Sequence[str]) -> Iterator[None]:
    """Folders that units may write into; in the end, what in them got listed nowhere goes."""
    journal.staged.update(folders)
    try:
        open_folders(journal.root, folders, journal.warehouse.modes)
        yield
    finally:
        for folder in folders:
            close_folder(journal.root, folder)
        listed: set[str] | None = None
        try:
            with journal.reading_session() as session:
                listed = rows_of.listed_paths(session) | retired.paths(session)
        except PalimpsestError as error:
            # Perhaps the store broke down in the swap: what is unlisted goes with the next start.
            _LOG.warning("staged files were left for the next start to look at: %s", error)
        if listed is not None:
            for folder in folders:
                _tidy(journal.root, folder, listed)
        journal.staged.difference_update(folders)


def _tidy(root: Path, folder: str, listed: set[str]) -> None:
    found = root / folder
    if not any(path.startswith(f"{folder}/") for path in listed):
        remove_folder(found)
        return
    stray = [p for p in found.glob("*.parquet*") if f"{folder}/{p.name}" not in listed]
    for path in stray:
        path.unlink(missing_ok=True)
    if stray and any(found.glob("filters*.bloom")):
        from journal.files.filters.sidecar import drop_from_sidecar

        drop_from_sidecar(found, [p.name for p in stray])


def _report(
    options: RunOptions,
    plan: JobPlan,
    state: str,
    times: _Times,
    staged: Staged | None = None,
    replans: int = 0,
) -> JobReport:
    written = plan.written if staged is None else staged.written
    inexact = plan.inexact if state == "planned" else {}
    return JobReport.of(
        Work(plan.taken, written, plan.skipped, inexact),
        *(options.job_id or uuid.uuid4().hex, plan.kind, plan.table, state, plan.why),
        replans=replans,
        seconds=times.seconds,
        details=plan.details,
    )
