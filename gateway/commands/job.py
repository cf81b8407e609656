"""``palimpsest job``: run a job on one table, some or all, and report what it did."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from gateway.commands.connecting import (
    ENGINE_OPTION,
    JSON_OPTION,
    MASTER_OPTION,
    Access,
    open_connection,
    set_workers,
    upkeep_options,
)
from gateway.commands.failure import STATEMENT, exit_on_error
from gateway.commands.progress import show_progress
from gateway.jobs.runs import JobRun, run_named
from gateway.wording import counted
from journal.records.report import JobReport


@click.command("job")
@click.argument("kind")
@click.argument("tables", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every table; failed ones first.")
@click.option(
    "--dry-run", is_flag=True, help="Report exactly what the run would do, and do nothing."
)
@click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument of the job, as in CALL.",
)
@click.option("--backup", metavar="NAME", help="restore: which backup; default: last known good.")
@click.option("--where", metavar="CONDITION", help="restore: only these rows.")
@click.option("--key", metavar="VALUE,..", help="restore: only the row of this key.")
@click.option("--name", metavar="NAME", help="backup: its name.")
@click.option("--expires", metavar="DURATION", help="backup: how long to keep it: '30 days'.")
@click.option(
    "--to", metavar="FOLDER|URL", help="backup, replicate: where to copy it: /mnt/b, s3://vault/b."
)
@click.option(
    "--from",
    metavar="FOLDER|URL",
    help="restore: the copy that holds backup.json, of any warehouse.",
)
@click.option(
    "--create",
    is_flag=True,
    flag_value="true",
    default=None,
    help="restore --from: make the table as the copy defines it, if there is none.",
)
@click.option(
    "--retain", metavar="DURATION", help="vacuum: keep what jobs retired within this time."
)
@click.option("--now", metavar="TIME", help="retain: apply the policy as of this moment.")
@click.option(
    "--parallel",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="How many tables to work on at once.",
)
@click.option("--units", type=click.IntRange(min=1), help="With --all: at most this many tables.")
@ENGINE_OPTION
@MASTER_OPTION
@JSON_OPTION
@upkeep_options
def command(
    kind: str,
    tables: tuple[str, ...],
    everything: bool,
    dry_run: bool,
    options: tuple[str, ...],
    parallel: int,
    units: int | None,
    engine: str | None,
    master: str | None,
    as_json: bool,
    access: Access,
    **named: str | None,
) -> None:
    """Run a job of KIND on TABLES.

    Kinds are compact, purge, access, retain, backup, restore, replicate, verify, vacuum and
    those that installed packages add. Every run is a row in system.jobs. A table that fails
    does not stop the others; the exit code is then 1.

    \b
    Examples:
      palimpsest job retain flights --dry-run
      palimpsest job retain --all --json
      palimpsest job backup hr.depts --name before-migration --expires '30 days'
      palimpsest job backup --all --name june --to /mnt/other-disk
      palimpsest job restore hr.depts --backup before-migration --key 42
      palimpsest job vacuum --all --retain '7 days'
    """
    if bool(tables) == everything:
        raise click.UsageError("name tables, or give --all")
    if units is not None and not everything:
        raise click.UsageError(
            "--units limits a run over all tables: give --all with it, or leave it out"
        )
    given = _option_values(options)
    for name, value in named.items():
        if value is not None and given.setdefault(name, value) != value:
            raise click.UsageError(f"{name} is given twice, and differs")
    with (
        open_connection(access, "job", as_json=as_json) as connection,
        exit_on_error(as_json=as_json),
    ):
        set_workers(connection, engine, master)
        with show_progress(f"{kind}", quiet=as_json) as advance:
            runs = connection.client_session.perform_watched(
                lambda _step, done, total: advance(done / max(total, 1)),
                run_named,
                kind,
                given,
                tables,
                dry_run=dry_run,
                parallel=parallel,
                units=units,
            )
    write_runs(runs, as_json=as_json)
    if any(run.failed for run in runs):
        sys.exit(STATEMENT)


def _option_values(options: Sequence[str]) -> dict[str, str]:
    pairs = [option.partition("=") for option in options]
    wrong = next((o for o, (name, equals, _) in zip(options, pairs, strict=True)
                  if not name or not equals), None)  # fmt: skip
    if wrong is not None:
        raise click.UsageError(f"--option takes NAME=VALUE, not {wrong}")
    return {name: value for name, _, value in pairs}


def write_runs(runs: Sequence[JobRun], *, as_json: bool) -> None:
    """Write what became of runs."""
    if as_json:
        click.echo(json.dumps([run.to_json() for run in runs]))
        return
    for run in runs:
        if run.error is not None:
            click.echo(f"{run.kind} {run.table}: {run.state}: {run.error}", err=True)
        elif run.report is not None:
            click.echo(f"{run.kind} {run.table}: {run.state.lower()}{_counts_text(run)}")


def _counts_text(run: JobRun) -> str:
    report = run.report
    assert report is not None
    parts: list[str] = [report.why] if report.why else []
    parts += _amount_texts(report)
    details = report.details
    parts += [f"{n} {details[n]}" for n in ("backup", "trash") if details.get(n)]
    if details.get("place"):
        parts.append(f"copied to {details['place']}")
    told = f": {', '.join(parts)}" if parts else ""
    left_out = details.get("not_in_copy")
    if left_out:
        told += f". The copy holds no {' or '.join(left_out)}: make those of {run.table} again"
    return told


def _amount_texts(report: JobReport) -> list[str]:
    """Texts of the amounts read, written and removed; "about" marks estimates."""
    found, numbers = [], report.numbers()
    for volume in ("read", "written", "removed"):
        rows, size = numbers[f"rows_{volume}"], numbers[f"bytes_{volume}"]
        if not rows:
            continue
        about = "about " if f"{volume}.bytes" in report.inexact else ""
        told = "" if size is None else f" ({about}{size:,} bytes)"
        found.append(f"{counted(rows, 'row')} {volume}{told}")
    return found
