"""``palimpsest scheduler``: run jobs when cron lines of policies or triggers call for them."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from types import FrameType
from typing import Any

import click

from gateway.activity.log_settings import LogSettings
from gateway.commands.connecting import (
    JSON_OPTION,
    Access,
    connect,
    control_options,
    open_connection,
)
from gateway.commands.failure import STATEMENT, exit_on_error
from gateway.commands.log_options import begin_log
from gateway.commands.moments import MomentParam
from gateway.commands.notification_settings import notification_options, sending_notifications
from gateway.dbapi.connection import Connection
from gateway.governance.process_runner import InstanceRun
from gateway.governance.process_scheduler import ProcessScheduler, log_instance, run_processes
from gateway.governance.safe_mode import begin_safe_mode
from gateway.jobs.runs import JobRun, log_run
from gateway.jobs.scheduler import CHECK_S, Scheduler, run_due
from gateway.session.client_session import ClientSession
from gateway.sharing.remote_session import RemoteSession


@click.command("scheduler")
@click.option("--once", is_flag=True, help="Run what is due now, then end.")
@click.option(
    "--at",
    type=MomentParam(),
    metavar="TIME",
    help="With --once: run the processes that are due at TIME, and no jobs.",
)
@click.option(
    "--check",
    "check_s",
    type=click.IntRange(1, 3600),
    default=CHECK_S,
    show_default=True,
    metavar="SECONDS",
    help="How often the scheduler reads policies and triggers.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="How many jobs to run at once.",
)
@click.option(
    "--safe-mode",
    "begins_safe",
    is_flag=True,
    help="Begin safe mode, which lasts until palimpsest safe-mode off.",
)
@notification_options
@JSON_OPTION
@control_options
def command(
    once: bool,
    at: datetime | None,
    check_s: int,
    parallel: int,
    begins_safe: bool,
    as_json: bool,
    access: Access,
    **others: Any,
) -> None:
    """Run jobs and declared processes when they are due, until interrupted.

    A table's policy says when: SCHEDULE_COMPACT = '0 3 * * *' runs a compaction at three o'clock
    (UTC). Retention without such a line runs at once, then every 6 hours if it is under a day, else
    every 24. The scheduler also compacts tables that have become slow to read, and removes what
    jobs have replaced when its grace ends.

    Instances of scheduled processes run when their nominal time has come and their inputs are
    there; `palimpsest entity schedule` schedules a process, `palimpsest instance` shows its
    instances. --once --at TIME runs those that are due at another time, to try a schedule.

    If another program has an embedded warehouse open, the scheduler works through that program.
    Several schedulers may run on one store: each starts runs that no other has begun, and takes
    over from one that was killed. What the scheduler plans and does is in its log, with the time;
    with --json each run is a line on standard output, too.

    \b
    Examples:
      palimpsest scheduler
      palimpsest scheduler --once --json
      palimpsest scheduler --once --at 2013-01-05T12:00Z
      palimpsest scheduler -w palimpsest+postgresql://me@localhost:5432/company
    """
    if at is not None and not once:
        raise click.UsageError("--at needs --once")
    if not once:
        begin_log(LogSettings(), "info")
    with open_connection(access, "scheduler", as_json=as_json) as connection:
        told = partial(_session_of_sender, access)
        with exit_on_error(as_json=as_json), sending_notifications(told, others):
            session = connection.client_session
            runs: list[JobRun] = []
            if begins_safe:
                session.perform(begin_safe_mode, "begun with the scheduler")
            instances: list[InstanceRun] = []
            if once:
                runs = [] if at is not None else session.perform(run_due, None, parallel)
                for run in runs:
                    _write_run(run, as_json=as_json)
                instances = session.perform(run_processes, parallel, at)
                for instance in instances:
                    _write_instance(instance, as_json=as_json)
                if not runs and not instances:
                    click.echo(json.dumps({"due": 0}) if as_json else "Nothing is due.")
            elif isinstance(session, RemoteSession):
                _ask_owner(session, check_s, parallel, as_json)
            else:
                _run_here(connection, check_s, parallel, as_json=as_json)
    if any(run.failed for run in runs) or any(run.failed for run in instances):
        sys.exit(STATEMENT)


@contextmanager
def _session_of_sender(access: Access) -> Iterator[ClientSession]:
    """A session beside that of the scheduler."""
    with connect(access, "scheduler") as connection:
        yield connection.client_session


def _write_instance(run: InstanceRun, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(run.to_json()))
        return
    why = f": {run.error}" if run.error else ""
    click.echo(f"{run.id}: {run.state.lower()}{why}")


def _tell_instance(run: InstanceRun, *, as_json: bool) -> None:
    """Write an attempt for scripts; the log tells people, with the time."""
    if as_json:
        _write_instance(run, as_json=True)
        sys.stdout.flush()


def _run_here(connection: Connection, check_s: int, parallel: int, *, as_json: bool) -> None:
    """Run jobs and processes in this process, which has the store open."""
    with ProcessScheduler(
        lambda: connection.session,
        parallel=parallel,
        on_run=lambda run: _tell_instance(run, as_json=as_json),
    ) as processes:
        _serve(
            Scheduler(
                lambda: connection.session,
                parallel=parallel,
                check_s=check_s,
                on_run=lambda run: _tell_run(run, as_json=as_json),
                beside=processes.pump,
            )
        )


def _write_run(run: JobRun, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(run.to_json()))
        return
    why = str(run.error) if run.error else run.report.why if run.report else ""
    click.echo(f"{run.kind} {run.table}: {run.state.lower()}{f': {why}' if why else ''}")


def _tell_run(run: JobRun, *, as_json: bool) -> None:
    """Write a run for scripts; the log tells people, with the time."""
    if as_json:
        _write_run(run, as_json=True)
        sys.stdout.flush()


def _ask_owner(session: RemoteSession, check_s: int, parallel: int, as_json: bool) -> None:
    """Run jobs through the process that has the warehouse open."""
    over, since = _until_interrupted(), datetime.now(UTC)
    while True:
        began = datetime.now(UTC)
        for run in session.perform(run_due, since, parallel):
            # The process that has the warehouse open has logged it there.
            if run.error is None:
                log_run(run, "", logging.INFO)
            else:
                log_run(run, run.error.code.value.title, logging.WARNING)
            _tell_run(run, as_json=as_json)
        for instance in session.perform(run_processes, parallel):
            log_instance(instance)
            _tell_instance(instance, as_json=as_json)
        since = began
        if over.wait(check_s):
            return


def _serve(scheduler: Scheduler) -> None:
    over = _until_interrupted()
    scheduler.start()
    over.wait()
    scheduler.stop()


def _until_interrupted() -> threading.Event:
    over = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        over.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    click.echo("Running; interrupt to end.", err=True)
    return over
