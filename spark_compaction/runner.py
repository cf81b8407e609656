"""The loop every job goes through on every store: plan, stage, verify, swap, retire, report.

Readers and writers go on all the while. If what a job planned on changed meanwhile, it plans anew,
a few times. Whatever ends it early, what it had staged is removed.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TypeVar

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.records.report import UNKNOWN, JobReport, Work
from journal.stores.embedded.journal import Journal
from spark_compaction.backend import MaintenanceBackend, Program, Replan
from spark_compaction.backends.embedded.maintenance import Check, FileProgram, WarehouseBackend
from spark_compaction.contract import (
    GRACE_US,
    Engine,
    Job,
    JobPlan,
    JobRequest,
    Progress,
    Staged,
    silent,
)
from spark_compaction.limits import PLANS_MAX

B = TypeVar("B", bound=MaintenanceBackend)
T = TypeVar("T")


_DONE = frozenset({"swap", "retire"})
"""Steps of which a run is not stopped any more."""


@dataclass(slots=True)
class _Times:
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.seconds[name] = round(self.seconds.get(name, 0.0) + spent, 4)
        # Telling may stop the run, and what was swapped has been done.
        if name not in _DONE:
            self.progress(name, 1, 1)


def run(backend: B, job: Program[B], asked: JobRequest) -> JobReport:
    """Run a job on one table.

    Raises JOB_BUSY, which says to run it again, while another job holds the table or if the table
    changes whenever it is planned; JOB_VERIFICATION; and what the store raises.
    """
    times = _Times(asked.progress)
    if asked.dry_run or job.plans_ahead:
        with times.step("plan"), backend.preview(asked.table) as at:
            plan = job.plan(backend, at)
        if asked.dry_run or plan.is_empty:
            return _report(asked, plan, "nothing" if plan.is_empty else "planned", times)
    with backend.lock(asked.table):
        return until_settled(
            str(asked.table.name), lambda number: _run_once(backend, job, asked, times, number)
        )


def until_settled(what: str, once: Callable[[int], T]) -> T:
    """What ``once`` gives, called with 0, 1, .. until it does not raise Replan.

    Raises JOB_BUSY if it always does; ``what`` names the table.
    """
    reason = Replan()
    for number in range(PLANS_MAX):
        try:
            return once(number)
        except Replan as found:
            reason = found
    raise PalimpsestError(
        Code.JOB_BUSY,
        f"{what} changed {PLANS_MAX} times while a job ran: {reason}",
        advice="nothing was changed; run it again when fewer jobs and writers work on the table",
    ) from reason


def _run_once(
    backend: B, job: Program[B], asked: JobRequest, times: _Times, replans: int
) -> JobReport:
    """Plan, stage, verify and swap once; raises Replan when it must all be done again."""
    with times.step("seal"):
        at = backend.rotate_head(asked.table)
    with times.step("plan"), backend.stoppable():
        plan = job.plan(backend, at)
    if plan.is_empty:
        return _report(asked, plan, "nothing", times, replans=replans)
    with backend.staging(at, plan):
        with times.step("stage"), backend.stoppable():
            staged = job.stage(backend, at, plan, asked.progress)
        with times.step("verify"), backend.stoppable():
            verified = job.verify(backend, at, plan, staged)
        with times.step("swap"):
            alongside = job.alongside(backend, at, plan, staged)
            retired = backend.swap(at, plan, staged, alongside)
    with times.step("retire"):
        reaped = backend.drop_retired(at.table)
    found = _report(asked, plan, "done", times, staged, replans)
    details = {**plan.details, **staged.details, **verified}
    return replace(found, retired=retired, reaped=reaped, details=details)


def _report(
    asked: JobRequest,
    plan: JobPlan,
    state: str,
    times: _Times,
    staged: Staged | None = None,
    replans: int = 0,
) -> JobReport:
    written = plan.written if staged is None else staged.written
    # What the store never says is unknown of what is done as well.
    inexact = {n: how for n, how in plan.inexact.items() if staged is None or how == UNKNOWN}
    return JobReport.of(
        Work(plan.taken, written, plan.skipped, {} if state == "nothing" else inexact),
        *(asked.job_id, plan.kind, plan.table, state, plan.why),
        replans=replans,
        seconds=times.seconds,
        details=plan.details,
    )


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a job over segment files; ``grace_us`` None keeps what it retires until told."""

    dry_run: bool = False
    grace_us: int | None = GRACE_US
    job_id: str | None = None
    wait_s: float = 0.0


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
    """Run a job over the segment files of an embedded warehouse; raises as ``run`` does.

    ``check`` is asked in the commit section whether the swap is still right.
    """
    chosen = options or RunOptions()
    job_id = chosen.job_id or uuid.uuid4().hex
    backend = WarehouseBackend(journal, job_id, chosen.grace_us, chosen.wait_s, check)
    table = journal.state.tables[table_id].layouts[-1]
    asked = JobRequest(table, job_id, chosen.dry_run, progress=progress)
    return run(backend, FileProgram(job, engine), asked)
