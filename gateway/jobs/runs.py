"""Runs of jobs: table after table or side by side, each with its row in ``system.jobs``.

    asked --> RUNNING --> SUCCEEDED | NOTHING | PLANNED | FAILED | CANCELLED
                 (the process ends)--> INTERRUPTED, noted by the next run, or when a warehouse is
                                       opened again

One failing table never stops the others. Tables whose last run failed come first; one that failed
as often as its policy allows is left alone until it is asked for by name.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from gateway.jobs import kinds
from gateway.jobs.arguments import Arguments
from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.engines import workers_of
from gateway.jobs.job_locks import ExclusiveLock, job_slot
from gateway.jobs.jobs_of_replicas import replica_report
from gateway.jobs.orphaned_runs import note_interrupted, owner_lock_name
from gateway.procedures.procedures import find_tables
from gateway.session.operations import Advance, operation
from journal.erasure import audit
from journal.erasure.seam import SecretJournal
from journal.model.effective_policy import effective_policy
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import coded
from journal.model.lazy_dataclass import dataclass
from journal.model.places import shown_place
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.model.system_user import system_user
from journal.model.version import to_datetime
from journal.records import maintenance as rows_of
from journal.records.report import JobReport
from journal.transactions.protocol import OpenJournal
from journal.transactions.reading import committed_state
from spark_compaction.contract import Engine, Progress, silent, unwatched

if TYPE_CHECKING:
    from gateway.session.session import Session

_LOG = logging.getLogger("palimpsest.jobs")
ATTEMPTS_MAX = 3
"""How often a table is tried in runs over all tables, unless its policy says otherwise."""
_RECORD_TRIES = 3
_LOG_LINES_MAX = 1000
_UNSUCCESSFUL = frozenset({"FAILED", "INTERRUPTED"})
JOB_STATES = ("RUNNING", "SUCCEEDED", "NOTHING", "PLANNED", "FAILED", "CANCELLED", "INTERRUPTED")
"""The states that runs have in ``system.jobs``."""
_STATES = {"done": "SUCCEEDED", "nothing": "NOTHING", "planned": "PLANNED"}


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller requests.

    - ``kind``: the kind of job; ``options``: its arguments, as in CALL.
    - ``dry_run``: plan and report, and write nothing.
    - ``cause``: manual, schedule or trigger; ``system.jobs`` records it.
    - ``named``: the caller names the tables, so that those which failed too often run, too.
    - ``parallel``: how many tables to work on at once; ``units``: at most this many tables.
    - ``now``: the moment at which policies apply; None: the clock's.
    """

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    dry_run: bool = False
    cause: str = "manual"
    named: bool = True
    parallel: int = 1
    units: int | None = None
    now: datetime | None = None
    progress: Progress = silent
    log_line: Callable[[str], None] = lambda _line: None


@dataclass(frozen=True, slots=True)
class JobRun:
    """One table's run: its report, or the error that ended it.

    ``state`` is SUCCEEDED, NOTHING, PLANNED, FAILED, CANCELLED or GIVEN UP; ``attempt`` counts
    from 1, and begins anew after a run that succeeded.
    """

    id: str
    kind: str
    table: str
    state: str
    attempt: int
    report: JobReport | None = None
    error: PalimpsestError | None = None
    seconds: float | None = None

    @property
    def failed(self) -> bool:
        """True if the run ended with an error."""
        return self.error is not None

    def to_json(self) -> dict[str, Any]:
        """The run as the commands write it with ``--json``."""
        error = self.error
        failure = (
            None if error is None else {"code": error.code.value.code, "message": error.message}
        )
        report = None if self.report is None else self.report.to_json()
        return {
            "id": self.id,
            "kind": self.kind,
            "table": self.table,
            "state": self.state,
            "attempt": self.attempt,
            "report": report,
            "error": failure,
            "seconds": None if self.seconds is None else round(self.seconds, 3),
        }


@operation
def run_named(
    session: Session,
    advance: Advance,
    kind: str,
    options: Mapping[str, Any],
    tables: Sequence[str],
    *,
    dry_run: bool = False,
    parallel: int = 1,
    units: int | None = None,
) -> list[JobRun]:
    """Run a kind of job on tables by name, on all of them if none is named; see ``run_all``.

    ``advance`` is told the step, how many of its units are done, and of how many.
    """
    request = Request(
        kind,
        options,
        dry_run=dry_run,
        named=bool(tables),
        parallel=parallel,
        units=units,
        progress=advance,
    )
    prepare(session, request, tables)
    found = {t.id: t for name in tables for t in find_tables(session, name)}
    return run_all(session, request, list(found.values()) or find_tables(session, None))


def prepare(session: Session, request: Request, names: Sequence[str]) -> None:
    """Make what runs on tables of these names need, before the tables are looked up.

    Raises UNKNOWN_FUNCTION for an unknown kind, SETTING_VALUE for arguments that it does not take.
    """
    kind = kinds.find_kind(request.kind)
    _check_options(kind, request)
    if kind.prepare is not None:
        for name in names:
            kind.prepare(session, name, Arguments(request.options), request.dry_run)


def run_all(session: Session, request: Request, tables: Sequence[Table]) -> list[JobRun]:
    """Run a kind of job on each table; a run for each, those whose last run failed first.

    Those whose last run is longest ago come next, so that runs over at most so many tables get
    round to all. An error of a table's run is in its ``JobRun``. Raises UNKNOWN_FUNCTION for an
    unknown kind, and SETTING_VALUE for arguments that it does not take, before any run begins.

    >>> import gateway
    >>> connection = gateway.connect("palimpsest://", autocommit=True)
    >>> _ = connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    >>> _ = connection.execute("INSERT INTO t VALUES (1)")
    >>> tables = list(connection.session.journal.state.catalog.tables())
    >>> [run] = run_all(connection.session, Request("verify", dry_run=True), tables)
    >>> run.table, run.failed
    ('main.t', False)
    """
    kind = kinds.find_kind(request.kind)
    _check_options(kind, request)
    if kind.concerns is not None and not request.named:
        known, given = committed_state(session.journal).catalog, Arguments(request.options)
        tables = [t for t in tables if kind.concerns(known, t, given)]
    note_interrupted(session.journal, session.journal.exclusive, {t.id for t in tables})
    last, began = last_states(session.journal, request.kind), last_runs(session.journal)
    never = datetime.min.replace(tzinfo=UTC)

    def place(table: Table) -> tuple[bool, datetime, str]:
        ran = began.get((request.kind, table.id), never)
        return not _is_unsuccessful(last, table), ran, str(table.name)

    ordered = sorted(tables, key=place)
    runs: list[JobRun] = []
    chosen: list[tuple[Table, int]] = []
    catalog = committed_state(session.journal).catalog
    for table in ordered:
        attempt = last[table.id][1] + 1 if _is_unsuccessful(last, table) else 1
        most = effective_policy(catalog, table).attempts or ATTEMPTS_MAX
        if not request.named and attempt > most:
            runs.append(_record_given_up(request.kind, table, attempt - 1))
        else:
            chosen.append((table, attempt))
    if request.units is not None and not request.named:
        chosen = chosen[: request.units]
    with ThreadPoolExecutor(max_workers=max(1, request.parallel)) as pool:
        calls = [pool.submit(run_one, session, kind, request, t, n) for t, n in chosen]
        runs += [call.result() for call in calls]
    return runs


def last_states(journal: OpenJournal, kind: str) -> dict[int, tuple[str, int]]:
    """State and attempt of the latest run of a kind, by table."""
    with journal.reading_session() as session:
        found = rows_of.last_runs(session)
    return {row[1]: (row[2], row[3]) for row in found if row[0] == kind}


def last_runs(journal: OpenJournal) -> dict[tuple[str, int], datetime]:
    """When the latest run of each kind on each table began."""
    with journal.reading_session() as session:
        return {(row[0], row[1]): row[4].astimezone(UTC) for row in rows_of.last_runs(session)}


def _is_unsuccessful(last: Mapping[int, tuple[str, int]], table: Table) -> bool:
    return table.id in last and last[table.id][0] in _UNSUCCESSFUL


def _record_given_up(kind: str, table: Table, attempts: int) -> JobRun:
    error = PalimpsestError(
        Code.JOB_FAILED,
        f"{kind} of {table.name} failed {attempts} times; only a run that names it tries again",
        advice=f"system.jobs says why; run it by name: palimpsest job {kind} {table.name}",
    )
    return JobRun("", kind, str(table.name), "GIVEN UP", attempts, error=error)


def _check_options(kind: JobKind, request: Request) -> None:
    unknown = set(request.options) - set(kind.options)
    if unknown:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"the job {kind.name} does not take {', '.join(sorted(unknown))}",
            advice="it takes " + (", ".join(kind.options) or "a table, and nothing else"),
        )
    if kind.check is not None:
        kind.check(Arguments(request.options))


def run_one(
    session: Session, kind: JobKind, request: Request, table: Table, attempt: int
) -> JobRun:
    """Run a kind on one table and record it; raises CANCELLED if it was stopped before."""
    session.cancellation.check()
    job_id, alone = uuid.uuid4().hex[:12], session.journal.exclusive
    with alone(owner_lock_name(job_id)):
        return _run_locked(session, kind, request, table, attempt, job_id, alone)


def _run_locked(
    session: Session,
    kind: JobKind,
    request: Request,
    table: Table,
    attempt: int,
    job_id: str,
    alone: ExclusiveLock,
) -> JobRun:
    journal = session.journal
    log: list[str] = []

    def add_line(line: str) -> None:
        if len(log) < _LOG_LINES_MAX:
            log.append(f"{to_datetime(journal.clock.now()):%H:%M:%S} {line}")
        request.log_line(line)

    def progress(step: str, done: int, total: int) -> None:
        session.cancellation.check()
        request.progress(step, done, total)

    _record_begin(journal, session, kind.name, request, table, attempt, job_id)
    context = JobContext(
        session,
        table,
        request.options,
        job_id,
        request.dry_run,
        lambda: _engine(session, table),
        progress,
        add_line,
        request.now,
        # Only one session of the store at a time can be interrupted.
        session.cancellation.watching if request.parallel == 1 else unwatched,
    )
    add_line(f"{kind.name} of {table.name}, attempt {attempt}")
    _LOG.info("%s of %s begins, attempt %d, %s", kind.name, table.name, attempt, request.cause)
    began = time.perf_counter()
    most = context.policy.concurrency
    try:
        with (
            nullcontext() if most is None else job_slot(alone, table.id, most),
            context.maintenance.server_jobs(workers_of(session.settings, session.engine)),
        ):
            report = replica_report(kind.name, table, job_id, context.given) or kind.run(context)
    except PalimpsestError as error:
        found = error
    except Exception as error:  # noqa: BLE001 - a job from elsewhere may raise anything.
        said = f"{type(error).__name__}: {error}"
        unknown = PalimpsestError(Code.JOB_FAILED, said, advice="its log is in system.jobs")
        found = coded(error) or unknown
        found.__cause__ = error
    else:
        add_line(report.why or report.state)
        state, taken = _STATES[report.state], time.perf_counter() - began
        run = JobRun(job_id, kind.name, str(table.name), state, attempt, report, seconds=taken)
        _record_end(session, run, log, request)
        log_run(run, "", logging.INFO)
        return run
    add_line(why := recorded_error(found, request.options))
    state = "CANCELLED" if found.code is Code.CANCELLED else "FAILED"
    taken = time.perf_counter() - began
    run = JobRun(job_id, kind.name, str(table.name), state, attempt, error=found, seconds=taken)
    _record_end(session, run, log, request)
    # Whoever asked for the run is told; nobody is by a schedule.
    log_run(run, why, logging.INFO if request.cause == "manual" else logging.WARNING)
    return run


def log_run(run: JobRun, why: str, level: int) -> None:
    """Log how a run has ended; ``why`` it failed is said without data."""
    report = run.report
    fields = {
        "job": run.id,
        "kind": run.kind,
        "table": run.table,
        "state": run.state,
        "attempt": run.attempt,
        "seconds": round(run.seconds or 0.0, 3),
        "rows_removed": None if report is None else report.removed.rows,
        "error_code": None if run.error is None else run.error.code.value.code,
    }
    said = why or ("" if report is None else report.why)
    _LOG.log(
        logging.INFO if run.error is not None and run.error.code is Code.JOB_BUSY else level,
        *("%s of %s: %s in %.3f s%s", run.kind, run.table, run.state.lower(), run.seconds or 0.0),
        f": {said}" if said else "",
        extra={"fields": fields},
    )


_AUDITED = frozenset({"retain", "restore"})
"""Kinds of jobs that change what the past shows, whose ends enter the audit log."""
_PRIVATE = frozenset({"where", "key"})
"""Options whose values may name a person, so that no record keeps them."""


def _recorded_option(name: str, value: Any) -> str:
    return "(not kept)" if name in _PRIVATE else shown_place(str(value))


def recorded_error(error: PalimpsestError, options: Mapping[str, Any]) -> str:
    """An error for the record: without its message where that may quote data, or who was named."""
    return error.code.value.title if _PRIVATE & options.keys() else error.recorded


def _engine(session: Session, table: Table) -> Engine:
    manifest = session.journal.state.tables[table.id].manifest
    return workers_of(session.settings, session.engine).files(
        sum(s.bytes for s in manifest.segments)
    )


def _record_begin(
    journal: OpenJournal,
    session: Session,
    kind: str,
    request: Request,
    table: Table,
    attempt: int,
    job_id: str,
) -> None:
    values = {
        "id": job_id,
        "kind": kind,
        "table_id": table.id,
        "table_name": str(table.name),
        "state": "RUNNING",
        "attempt": attempt,
        "dry_run": request.dry_run,
        "cause": request.cause,
        "user_name": session.recorded_user or system_user(),
        "options": json.dumps({k: _recorded_option(k, v) for k, v in request.options.items()}),
        "started_at": to_datetime(journal.clock.now()),
        "log": [],
    }
    _write_record(journal, lambda store: rows_of.add_job(store, values))


def _record_end(session: Session, run: JobRun, log: list[str], request: Request) -> None:
    journal = session.journal
    values: dict[str, Any] = {
        "state": run.state,
        "ended_at": to_datetime(journal.clock.now()),
        "log": log,
    }
    if run.report is not None:
        values |= run.report.numbers()
        values["report"] = json.dumps(run.report.to_json())
    if run.error is not None:
        values |= {
            "error_code": run.error.code.value.code,
            "error": recorded_error(run.error, request.options),
        }
    is_audited = run.kind in _AUDITED and not request.dry_run
    is_audited = is_audited and journal.capabilities.access_control

    def end(store: StoreSession) -> None:
        rows_of.end_job(store, run.id, values)
        if is_audited:
            removed = None if run.report is None else run.report.removed.rows
            detail = {"state": run.state, "rows_removed": removed, "cause": request.cause}
            by = session.recorded_user or system_user()
            secret_journal = cast("SecretJournal", journal)
            audit.record(secret_journal, store, by, f"job.{run.kind}", run.table, detail)

    _write_record(journal, end)


def _write_record(journal: OpenJournal, write: Callable[[StoreSession], object]) -> None:
    """Write to the record of runs; again if the connection was lost, and with it what was written.

    What a job has done does not depend on its record.
    """
    for left in reversed(range(_RECORD_TRIES)):
        try:
            with journal.exclusive_session() as store:
                write(store)
                store.commit()
            return
        except PalimpsestError as error:
            if error.code is not Code.STORE_LOST or not left:
                raise
