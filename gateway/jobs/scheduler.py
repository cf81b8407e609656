"""The scheduler: runs jobs by the policies' cron lines and by triggers, as long as it is running.

It keeps no schedule of its own. Every minute it reads the policies again, so that a change of one
takes effect by itself, and looks whether a trigger asks for anything. Runs of one kind on one table
never overlap; one that comes late is run once. A failure is a row in ``system.jobs`` and is tried
again with the next run, as often as the policy allows. It works inside the process that owns the
warehouse, or any that is connected to a server: the command ``palimpsest scheduler``, or a program
that holds a connection. Of several schedulers on one store each run is had by one: whoever is alone
with the kind and the table looks at the record of runs first.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gateway.governance.scheduled_submissions import undo_interrupted
from gateway.governance.service_level_looks import note_service_levels
from gateway.jobs import kind_names
from gateway.jobs.runs import JobRun, Request, last_runs, run_all
from gateway.jobs.schedule import DueJob, JobSchedule, LastRuns, scheduled_jobs, triggered_jobs
from gateway.privacy_desk.callbacks import send_callbacks
from gateway.privacy_desk.exports import remove_expired_exports
from gateway.privacy_desk.scheduled_runs import run_scheduled
from gateway.session.operations import Advance, Operation, no_progress, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.schema import CatalogSnapshot, Table
from journal.model.version import to_datetime
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from gateway.session.session import Session

_LOG = logging.getLogger("palimpsest.scheduler")
CHECK_S = 60
_NAME_MAX = 64
"""How long the name of a lease may be."""
_LOOKS: tuple[Operation[..., object], ...] = (
    *(undo_interrupted, note_service_levels, remove_expired_exports, run_scheduled),
    send_callbacks,
)
"""What is due besides jobs."""
Sessions = Callable[[], "Session"]
OnRun = Callable[[JobRun], None]


@operation
def run_due(
    session: Session, _advance: Advance, since: datetime | None, parallel: int
) -> list[JobRun]:
    """Run what is due, once; see ``Scheduler.once``."""
    return Scheduler(lambda: session, parallel=parallel).once(since)


class Scheduler:
    """Runs jobs when policies and triggers call for them, inside the calling process.

    ``sessions`` returns a session of the store that the scheduler may use; ``parallel`` is how many
    jobs run at once, ``check_s`` how many seconds pass between two reads of the policies.
    ``beside`` is called as often, in a thread of its own.

    >>> import gateway
    >>> connection = gateway.connect("palimpsest://", autocommit=True)
    >>> Scheduler(lambda: connection.session).once()
    []
    """

    def __init__(
        self,
        sessions: Sessions,
        *,
        parallel: int = 1,
        check_s: int = CHECK_S,
        on_run: OnRun = lambda _run: None,
        beside: Callable[[], None] | None = None,
    ) -> None:
        self._sessions = sessions
        self._journal = sessions().journal
        self._alone = self._journal.exclusive
        self._parallel = parallel
        self._check_s = check_s
        self._on_run = on_run
        self._beside = beside
        self._known: dict[str, JobSchedule] = {}
        self._lock = threading.Lock()
        self._scheduler: Any = None

    def once(self, since: datetime | None = None) -> list[JobRun]:
        """Run what is due now: retention, and what triggers ask for.

        Cron lines count if they came due after ``since``; without it they are left out.
        """
        now = self._now()
        runs: list[JobRun] = []
        for entry in scheduled_jobs(self._catalog(), self._last_runs(), now):
            has_come = since is not None and entry.comes_due(since, now)
            if has_come or (entry.first is not None and entry.first <= now):
                runs += self._run_scheduled(entry)
        self._look_after_records()
        return runs + self._run_triggered()

    def start(self) -> None:
        """Start running jobs in the background.

        Raises DRIVER_MISSING if the package apscheduler is not installed.
        """
        try:
            from apscheduler.executors.pool import ThreadPoolExecutor
            from apscheduler.schedulers.background import BackgroundScheduler
        except ImportError as error:
            raise PalimpsestError(
                Code.DRIVER_MISSING,
                "a scheduler that keeps running needs the package apscheduler",
                advice="pip install 'palimpsest-gateway[jobs]', or run it with --once",
            ) from error

        defaults = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        pools = {"default": ThreadPoolExecutor(self._parallel), "beside": ThreadPoolExecutor(1)}
        self._scheduler = BackgroundScheduler(executors=pools, job_defaults=defaults, timezone=UTC)
        self.refresh()
        self._scheduler.add_job(
            self._tick,
            "interval",
            seconds=self._check_s,
            id="tick",
            next_run_time=datetime.now(UTC),
        )
        if self._beside is not None:
            self._scheduler.add_job(
                *(self._beside, "interval"),
                seconds=self._check_s,
                id="beside",
                executor="beside",
                next_run_time=datetime.now(UTC),
            )
        self._scheduler.start()
        _LOG.info("the scheduler begins; it reads policies every %d s", self._check_s)

    def stop(self) -> None:
        """Stop; waits until the current runs have ended."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=True)
            self._scheduler = None
            _LOG.info("the scheduler has ended")

    def entries(self) -> list[JobSchedule]:
        """The jobs that the scheduler will run, as of its last read of the policies."""
        with self._lock:
            return list(self._known.values())

    def refresh(self) -> None:
        """Make the schedule what the policies say now."""
        wanted = {e.key: e for e in scheduled_jobs(self._catalog(), self._last_runs(), self._now())}
        with self._lock:
            for key in self._known.keys() - wanted.keys():
                self._scheduler.remove_job(key)
                _LOG.info("%s is not scheduled any more", self._known[key])
                del self._known[key]
            for key in wanted.keys() - self._known.keys():
                if self._add(key, wanted[key]):
                    self._known[key] = wanted[key]
                    _LOG.info("%s", wanted[key])

    def _add(self, key: str, entry: JobSchedule) -> bool:
        from apscheduler.triggers.interval import IntervalTrigger

        from gateway.jobs.cron import CronLine

        if entry.cron is None:
            assert entry.every is not None
            trigger = IntervalTrigger(seconds=entry.every.total_seconds(), timezone=UTC)
            first = entry.first
            self._scheduler.add_job(
                self._run_scheduled, trigger, [entry], id=key, next_run_time=first
            )
            return True
        try:
            trigger = CronLine(entry.cron)
        except PalimpsestError as error:
            _LOG.warning("%s of %s is not scheduled: %s", entry.kind, entry.table, error)
            return False
        self._scheduler.add_job(self._run_scheduled, trigger, [entry], id=key)
        return True

    def _tick(self) -> None:
        try:
            with failures():
                self.refresh()
                self._run_triggered()
        except PalimpsestError as error:
            _LOG.warning("the scheduler could not read the policies: %s", error)
        self._look_after_records()

    def _look_after_records(self) -> None:
        """Do what is due besides jobs; one that fails holds up neither the others nor jobs."""
        for look in _LOOKS:
            try:
                with failures():
                    look(self._sessions(), no_progress)
            except PalimpsestError as error:
                _LOG.warning("%s failed: %s", look.__name__, error)

    def _run_triggered(self) -> list[JobRun]:
        runs: list[JobRun] = []
        for due in self._triggered_jobs():
            _LOG.info("%s of %s is due: %s", due.kind, due.table.name, due.why)
            runs += self._run(
                *(due.kind, due.table.id, "trigger", due.options),
                lambda kind, table: any(
                    (d.kind, d.table.id) == (kind, table.id) for d in self._triggered_jobs()
                ),
            )
        return runs

    def _triggered_jobs(self) -> list[DueJob]:
        found = triggered_jobs(self._sessions(), self._last_runs())
        return [due for due in found if due.kind in kind_names.kind_names()]

    def _run_scheduled(self, entry: JobSchedule) -> list[JobRun]:
        return self._run(
            *(entry.kind, entry.table_id, "schedule", {}),
            lambda _kind, _table: entry.is_due(self._last_runs(), self._now()),
        )

    def _run(
        self,
        kind: str,
        table_id: int,
        cause: str,
        options: Mapping[str, Any],
        is_due: Callable[[str, Table], bool],
    ) -> list[JobRun]:
        """Run a kind on a table, unless another scheduler is at it, or it is not due any more."""
        try:
            with failures(), self._alone(f"job:{table_id}:{kind}"[:_NAME_MAX]) as is_mine:
                table = self._tables().get(table_id)
                if not is_mine or table is None or not is_due(kind, table):
                    return []
                return self._run_now(kind, table, cause, options)
        except PalimpsestError as error:
            _LOG.warning("%s of table %s did not run: %s", kind, table_id, error)
            return [JobRun("", kind, str(table_id), "FAILED", 0, error=error)]

    def _run_now(
        self, kind: str, table: Table, cause: str, options: Mapping[str, Any]
    ) -> list[JobRun]:
        request = Request(kind, options, cause=cause, named=False)
        runs = run_all(self._sessions(), request, [table])
        for run in runs:
            self._on_run(run)
        return runs

    def _catalog(self) -> CatalogSnapshot:
        return committed_state(self._journal).catalog

    def _tables(self) -> dict[int, Table]:
        return {t.id: t for t in self._catalog().tables()}

    def _last_runs(self) -> LastRuns:
        return last_runs(self._journal)

    def _now(self) -> datetime:
        return to_datetime(self._journal.clock.now())
