"""Runs one attempt of an instance: its statements, its job, or its Spark application.

    sql    in one transaction, whose commit ends the instance: exactly once
    job    a kind of ours over some tables; a repeat takes those that failed
    spark  spark-submit, at least once, told the id of the instance

How an attempt that failed goes on, the retry rule of the process says. Which instances run, and
when, the scheduler decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gateway.governance.events import EventName, EventStatus, record_event
from gateway.governance.instance_commits import InstanceCommit
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.instance_transitions import Settled, changed_instance
from gateway.governance.process_inputs import process_values
from gateway.governance.process_rules import process_rules
from gateway.governance.process_sessions import process_session
from gateway.governance.process_statements import run_statements
from gateway.governance.process_stores import ProcessStores
from gateway.governance.runs_elsewhere import RunElsewhere
from gateway.governance.settling import settle
from gateway.governance.spark_applications import run_application
from gateway.governance.started_instance import StartedInstance
from gateway.jobs.runs import JobRun, recorded_error, run_named
from gateway.session.operations import no_progress
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import coded
from journal.model.lazy_dataclass import dataclass
from journal.records import instance_rows

if TYPE_CHECKING:
    from gateway.session.session import Session

_NO_FAILURE = frozenset({"KILLED", "SUSPENDED", "TIMED_OUT", "SUCCEEDED"})
LOG_LINES_MAX = 1_000
UNSETTLED_DELAY = timedelta(minutes=1)
"""When an attempt is made again of which it is not known whether it has committed elsewhere."""


@dataclass(frozen=True, slots=True)
class InstanceRun:
    """What became of one attempt of an instance."""

    id: str
    entity: str
    nominal: datetime
    state: str
    attempt: int
    seconds: float
    error: PalimpsestError | None = None
    log: tuple[str, ...] = field(default_factory=tuple)

    @property
    def failed(self) -> bool:
        """True if the attempt ended with an error."""
        return self.error is not None

    def to_json(self) -> dict[str, Any]:
        """The run as the commands write it with ``--json``."""
        error = self.error
        return {
            "instance": self.id,
            "process": self.entity,
            "nominal": self.nominal.isoformat(),
            "state": self.state,
            "attempt": self.attempt,
            "seconds": round(self.seconds, 3),
            "error": None
            if error is None
            else {"code": error.code.value.code, "message": error.message},
        }


class ProcessRunner:
    """Runs attempts with a session of the store; ``now`` tells the time.

    ``watch`` is given what stops the attempt from another thread, before it begins; ``stores`` are
    those in which processes with a profile run.
    """

    def __init__(
        self,
        session: Session,
        now: Callable[[], datetime],
        watch: Callable[[str, Callable[[], None]], None],
        stores: ProcessStores,
    ) -> None:
        self._session = session
        self._stores = stores
        self._now = now
        self._watch = watch

    def run(self, started: StartedInstance) -> InstanceRun:
        """Run an attempt to its end, and record how it ended; raises no error of the process."""
        log: list[str] = []
        error: PalimpsestError | None = None
        try:
            self._run_step(started, log)
        except PalimpsestError as found:
            error = found
        except Exception as found:  # noqa: BLE001 - what a process runs may raise anything.
            said = f"{type(found).__name__}: {found}"
            advice = "its log is in system.attempts"
            error = coded(found) or PalimpsestError(Code.JOB_FAILED, said, advice=advice)
        if error is not None:
            log.append(recorded_error(error, {}))
            self._end_failed(started, error, log)
        with self._session.journal.reading_session() as records:
            after = instance_rows.load_instance(records, started.row.id)
        took = (self._now() - started.attempt.started_at).total_seconds()
        row = started.row
        state = row.state if after is None else after.state
        is_over = after is None or after.fence != row.fence or after.state in _NO_FAILURE
        return InstanceRun(
            *(row.id, row.entity, row.nominal, state, row.fence, took),
            None if is_over else error,
            tuple(log),
        )

    def _run_step(self, started: StartedInstance, log: list[str]) -> None:
        fields, row = started.process.fields, started.row

        def add_line(line: str) -> None:
            if len(log) < LOG_LINES_MAX:
                log.append(f"{self._now():%H:%M:%S} {line}")

        add_line(f"{row.id}, attempt {row.fence}, version {row.version} of {started.process}")
        commit = InstanceCommit(
            self._session,
            (row, started.attempt),
            started.tables,
            started.check_at,
            self._now,
            log,
        )
        values = process_values(
            started.process, row.id, row.nominal, started.inputs, list(started.outputs)
        )
        if started.attempt.step in {"sql", "late"} and row.profile is not None:
            where = (self._stores, self._now, add_line, log, self._stopper(row.id))
            if not RunElsewhere(self._session, *where).run(started, self._text(started), values):
                self._conclude(started, commit, {"rows": 0}, InstanceEvent.SUCCEED)
        elif started.attempt.step in {"sql", "late"}:
            self._run_sql(started, commit, values, add_line)
        elif started.attempt.step == "job":
            self._run_job(started, commit, fields["job"], add_line)
        else:
            run_application(fields["spark"], row.id, values, add_line, self._stopper(row.id))
            self._conclude(started, commit, {}, InstanceEvent.SUCCEED)

    def _stopper(self, instance: str) -> Callable[[Callable[[], None]], None]:
        return lambda stop: self._watch(instance, stop)

    def _run_sql(
        self,
        started: StartedInstance,
        commit: InstanceCommit,
        values: dict[str, Any],
        add_line: Callable[[str], None],
    ) -> None:
        text = self._text(started)
        with process_session(self._session, started.process) as own:
            self._watch(started.row.id, own.cancel)
            changed = run_statements(own, text, values, commit.alongside, add_line)
        add_line(f"{changed} rows were changed")
        with self._session.journal.reading_session() as records:
            after = instance_rows.load_instance(records, started.row.id)
        if after is not None and (after.state, after.fence) == ("RUNNING", started.row.fence):
            # Nothing was written, so that nothing was committed.
            self._conclude(started, commit, {"rows": 0}, InstanceEvent.SUCCEED)

    def _text(self, started: StartedInstance) -> str:
        fields = started.process.fields
        if started.attempt.step == "sql":
            return str(fields["sql"])
        late = process_rules(started.process).late
        assert late is not None
        handlers = [late.handlers.get(name) for name in started.late]
        return "; ".join(text for text in handlers if text)

    def _run_job(
        self,
        started: StartedInstance,
        commit: InstanceCommit,
        job: dict[str, Any],
        add_line: Callable[[str], None],
    ) -> None:
        before = json.loads(started.row.produced or "{}").get("tables", {})
        done = {
            table: state
            for table, state in before.items()
            if state != "FAILED" and not started.row.forced
        }
        tables = [table for table in job["tables"] if table not in done]
        failed: list[PalimpsestError] = []
        for table in tables:
            run = self._run_on(started, job, table)
            add_line(f"{run.kind} of {run.table}: {run.state}")
            done[table] = "FAILED" if run.failed else run.state
            if run.error is not None:
                failed.append(run.error)
        if failed and len(failed) == len(job["tables"]):
            raise failed[0]
        if failed and self._tries_again(started):
            self._keep_tables(started, done)
            raise failed[0]
        event = InstanceEvent.SUCCEED_PARTLY if failed else InstanceEvent.SUCCEED
        self._conclude(started, commit, {"tables": done}, event)

    def _run_on(self, started: StartedInstance, job: dict[str, Any], table: str) -> JobRun:
        """Run the job on one table, in the store of the process's profile if it has one."""
        given = (job["kind"], job.get("options", {}), [table])
        if started.row.profile is None:
            (run,) = run_named(self._session, no_progress, *given)
            return run
        with self._stores.session(started.row.profile) as store:
            self._watch(started.row.id, store.cancel)
            (run,) = store.perform(run_named, *given)
            return run

    def _tries_again(self, started: StartedInstance) -> bool:
        rule = process_rules(started.process).retry
        return rule.next_try(started.row.tries, self._now()) is not None

    def _keep_tables(self, started: StartedInstance, done: dict[str, str]) -> None:
        """Note which tables are done, so that the next try takes the others."""
        with self._session.journal.exclusive_session() as records:
            row = started.row
            kept = replace(row, produced=json.dumps({"tables": done}), forced=False)
            if instance_rows.change_instance(records, row, kept):
                records.commit()

    def _conclude(
        self,
        started: StartedInstance,
        commit: InstanceCommit,
        produced: dict[str, Any],
        event: InstanceEvent,
    ) -> None:
        """End an attempt whose effects are committed, or need no commit of ours."""
        state = self._session.journal.state
        versions = {
            name: state.tables[table].last_version
            for name, table in started.tables.items()
            if table in state.tables
        } | started.versions
        with self._session.journal.exclusive_session() as records:
            commit.end(records, versions, produced, event)
            records.commit()

    def _settle_failed(
        self, started: StartedInstance, error: PalimpsestError, log: list[str]
    ) -> Settled | None:
        """What is known of a failed attempt in another store; None: it has succeeded after all."""
        row, settled = started.row, dict[str, int]()
        if not row.unsettled:
            return settled
        if error.code is Code.PROCESS_STORE:  # It never began there.
            return settled if started.was_unsettled else {row.id: row.fence}
        try:
            return None if settle(self._session, self._stores, row, settled) else settled
        except PalimpsestError as found:
            log.append(recorded_error(found, {}))
            return settled

    def _end_failed(self, started: StartedInstance, error: PalimpsestError, log: list[str]) -> None:
        """Record that an attempt failed, and whether it is tried again."""
        now, rule = self._now(), process_rules(started.process).retry
        row = started.row
        settled = self._settle_failed(started, error, log)
        if settled is None:
            return
        with self._session.journal.exclusive_session() as records:
            current = instance_rows.load_instance(records, row.id)
            if current is None or (current.state, current.fence) != (row.state, row.fence):
                # It was stopped from outside, and its row has its end already.
                instance_rows.keep_log(records, row.id, row.fence, log)
                records.commit()
                return
            again = None if error.code is Code.CANCELLED else rule.next_try(row.tries, now)
            if current.unsettled and (row.id not in settled or error.code is Code.INSTANCE_FENCED):
                # It may have committed: only a look at its fence can end it.
                again = now + UNSETTLED_DELAY
            code, said = error.code.value.code, recorded_error(error, {})
            attempt = replace(
                started.attempt,
                state="FAILED",
                ended_at=now,
                error_code=code,
                error=said,
                log=tuple(log),
            )
            instance_rows.end_attempt(records, attempt)
            changed_instance(
                *(records, current),
                InstanceEvent.FAIL if again is None else InstanceEvent.RETRY,
                now,
                settled=settled,
                not_before=again,
                unsettled=current.unsettled and row.id not in settled,
                error_code=code,
                error=said,
            )
            took = (now - started.attempt.started_at).total_seconds()
            data = {"code": code, "error": said, "attempt": row.fence}
            names = [(EventName.INSTANCE_RUN, EventStatus.FAILED)]
            if again is not None:
                names.append((EventName.INSTANCE_RETRY, EventStatus.SUCCEEDED))
                data |= {"next_try": again.isoformat()}
            elif rule.attempts:
                names.append((EventName.INSTANCE_RETRIES_EXHAUSTED, EventStatus.FAILED))
            for name, status in names:
                record_event(
                    *(self._session, records, name, row.kind, row.entity),
                    nominal=row.nominal,
                    status=status,
                    duration_s=took,
                    data=data,
                )
            records.commit()
