"""``palimpsest scheduler``: run jobs by policies' cron lines and by triggers."""

from __future__ import annotations

import json
import signal
import sys
import threading
from types import FrameType

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import STATEMENT, exit_on_error
from gateway.dbapi.connection import Connection
from gateway.errors import mapping
from gateway.jobs.runs import JobRun
from gateway.jobs.scheduler import CHECK_S, Scheduler


@click.command("scheduler")
@click.option("--once", is_flag=True, help="Run what is due now, then end.")
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
@JSON_OPTION
@upkeep_options
def command(once: bool, check_s: int, parallel: int, as_json: bool, access: Access) -> None:
    """Run jobs when they are due, until interrupted.

    A table's policy says when: SCHEDULE_COMPACT = '0 3 * * *' runs a compaction at three o'clock
    (UTC). Retention without such a line runs at once, then every 6 hours if it is under a day, else
    every 24. The scheduler also compacts tables that have become slow to read, and removes what
    jobs have replaced when its grace ends.

    One process opens an embedded warehouse: to serve it meanwhile, run the scheduler inside the
    program that does (docs/jobs.md). On a database or a Hive store several may run: each starts
    runs that no other has begun, and takes over from one that was killed.

    \b
    Examples:
      palimpsest scheduler
      palimpsest scheduler --once --json
      palimpsest scheduler -w palimpsest+postgresql://me@localhost:5432/company
    """
    with open_connection(access, "scheduler", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json), mapping():
            scheduler = _new_scheduler(connection, check_s, parallel, as_json)
            if once:
                runs = scheduler.once()
                if not runs:
                    click.echo(json.dumps({"due": 0}) if as_json else "Nothing is due.")
            else:
                runs = []
                _serve(scheduler)
    if any(run.failed for run in runs):
        sys.exit(STATEMENT)


def _new_scheduler(connection: Connection, check_s: int, parallel: int, as_json: bool) -> Scheduler:
    def report_run(run: JobRun) -> None:
        if as_json:
            click.echo(json.dumps(run.to_json()))
            return
        why = str(run.error) if run.error else run.report.why if run.report else ""
        click.echo(f"{run.kind} {run.table}: {run.state.lower()}{f': {why}' if why else ''}")

    return Scheduler(
        lambda: connection.session, parallel=parallel, check_s=check_s, on_run=report_run
    )


def _serve(scheduler: Scheduler) -> None:
    over = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        over.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    scheduler.start()
    click.echo("Running; interrupt to end.", err=True)
    over.wait()
    scheduler.stop()
