"""``palimpsest instance``: instances of processes, where they stand, and what to do with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import click

from gateway.commands.connecting import JSON_OPTION, Access, control_options, perform
from gateway.commands.instance_rendering import (
    attempt_object,
    planned_object,
    shown_minute,
    write_preview,
    write_uses,
)
from gateway.commands.moments import MomentParam
from gateway.governance import instance_operations
from gateway.governance.entity_operations import process_instances
from gateway.governance.instance_operations import instance_objects
from gateway.governance.instance_states import InstanceEvent, InstanceState
from gateway.governance.run_previews import preview_object, preview_runs
from journal.records.instance_rows import ORDERS, InstanceFilter, InstanceRow

_PROCESS = click.argument("process")
_NOMINAL = click.option(
    "--start", type=MomentParam(), required=True, metavar="TIME", help="The nominal time."
)
_END = click.option(
    "--end", type=MomentParam(), metavar="TIME", help="Also the instances up to this time."
)


def _span_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Which instances a command is about: one by its nominal time, or a span of them."""
    first = click.option(
        "--start",
        type=MomentParam(),
        required=True,
        metavar="TIME",
        help="The nominal time, or the first.",
    )
    return _PROCESS(first(_END(JSON_OPTION(control_options(function)))))


def _filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Filter, order and page of a listing."""
    options = (
        click.option(
            "--state", "states", multiple=True, help="Only in this state; may be repeated.",
            type=click.Choice([s.value for s in InstanceState], case_sensitive=False),
        ),
        click.option("--start", type=MomentParam(), metavar="TIME", help="From this time on."),
        click.option("--end", type=MomentParam(), metavar="TIME", help="Up to this time."),
        click.option("--life-cycle", metavar="WORD", help="Only of this life cycle: EXECUTION."),
        click.option("--order-by", type=click.Choice(ORDERS), default="nominal", show_default=True,
                     help="The column to sort by."),
        click.option("--descending", is_flag=True, help="The last first."),
        click.option("--offset", type=click.IntRange(0), default=0, help="How many to skip."),
        click.option("--limit", type=click.IntRange(1, 100_000), default=1_000, show_default=True,
                     help="How many to list."),
        JSON_OPTION,
        control_options,
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


@click.group("instance")
def command() -> None:
    """Show the instances of processes, and suspend, resume, kill or rerun them.

    An instance is one run of a process for one moment of its schedule, its nominal time.
    `palimpsest scheduler` runs those of scheduled processes. Times are UTC unless they have an
    offset. A command that does not fit the state of an
    instance changes nothing.

    \b
    Examples:
      palimpsest instance status daily-delays --start 2013-01-02T11:00Z
      palimpsest instance list daily-delays --state FAILED
      palimpsest instance rerun daily-delays --start 2013-01-02T11:00Z
    """


@command.command("status")
@_span_options
def status(
    process: str, start: datetime, end: datetime | None, as_json: bool, access: Access
) -> None:
    """Show the states of instances of PROCESS, and what they wait for, also before they exist.

    \b
    Examples:
      palimpsest instance status daily-delays --start 2013-01-02T11:00Z
      palimpsest instance status daily-delays --start 2013-01-02 --end 2013-01-31 --json
    """
    found = perform(
        access, "instance", as_json, instance_operations.instance_status, process, start, end
    )
    if as_json:
        shown = [
            {
                "nominal": one.nominal.isoformat(),
                "state": one.state,
                "instance": None if one.row is None else instance_objects([one.row])[0],
            }
            for one in found
        ]
        click.echo(json.dumps(shown))
        return
    for one in found:
        if one.row is None:
            click.echo(f"{shown_minute(one.nominal)}: {one.state.lower()}")
        else:
            _write_rows([one.row], as_json=False)


@command.command("running")
@click.argument("process", required=False)
@_filter_options
def running(process: str | None, as_json: bool, access: Access, **wanted: Any) -> None:
    """List the instances that run now, of PROCESS or of all processes.

    \b
    Examples:
      palimpsest instance running
      palimpsest instance running daily-delays --json
    """
    wanted["states"] = (InstanceState.RUNNING.value,)
    _list(process, None, as_json, access, wanted)


@command.command("list")
@_PROCESS
@_filter_options
def list_command(process: str, as_json: bool, access: Access, **wanted: Any) -> None:
    """List the existing instances of PROCESS.

    \b
    Examples:
      palimpsest instance list daily-delays
      palimpsest instance list daily-delays --state FAILED --order-by ended_at --descending --json
    """
    _list(process, None, as_json, access, wanted)


@command.command("search")
@click.argument("text")
@click.option("--process", metavar="PATTERN", help="Only of processes like this: daily%.")
@_filter_options
def search(text: str, process: str | None, as_json: bool, access: Access, **wanted: Any) -> None:
    """List the instances of all processes with TEXT in their id, their error or its code.

    \b
    Examples:
      palimpsest instance search PAL-622
      palimpsest instance search @2013-01-02 --state FAILED --limit 20
    """
    _list(process, text, as_json, access, wanted)


@command.command("summary")
@click.argument("process", required=False)
@_filter_options
def summary(process: str | None, as_json: bool, access: Access, **wanted: Any) -> None:
    """Count the instances in each state, of PROCESS or of each process.

    With --start and --end it also counts nominal times without an instance, as UNSCHEDULED.

    \b
    Examples:
      palimpsest instance summary
      palimpsest instance summary daily-delays --start 2013-01-01 --end 2013-01-31 --json
    """
    wanted_filter = _filter(process, None, wanted)
    found = perform(
        access, "instance", as_json, instance_operations.summarize_instances, wanted_filter
    )
    if as_json:
        click.echo(json.dumps(found))
        return
    for entity, counts in sorted(found.items()):
        shown = ", ".join(f"{number} {state.lower()}" for state, number in sorted(counts.items()))
        click.echo(f"{entity}: {shown}")


@command.command("logs")
@_PROCESS
@_NOMINAL
@click.option("--attempt", type=click.IntRange(1), help="Only this attempt.")
@JSON_OPTION
@control_options
def logs(process: str, start: datetime, attempt: int | None, as_json: bool, access: Access) -> None:
    """Show the attempts of an instance of PROCESS with their logs.

    \b
    Examples:
      palimpsest instance logs daily-delays --start 2013-01-02T11:00Z
      palimpsest instance logs daily-delays --start 2013-01-02T11:00Z --attempt 2 --json
    """
    found = perform(
        access, "instance", as_json, instance_operations.instance_attempts, process, start
    )
    attempts = [one for one in found if attempt in (None, one.n)]
    if as_json:
        click.echo(json.dumps([attempt_object(one) for one in attempts]))
        return
    for one in attempts:
        click.echo(f"attempt {one.n}, {one.step}: {one.state.lower()}")
        for line in one.log:
            click.echo(f"  {line}")
        if one.error is not None:
            click.echo(f"  {one.error_code} {one.error}")


@command.command("rerun")
@_span_options
@click.option(
    "--force", is_flag=True, help="Run a job again on all tables, not only on those that failed."
)
def rerun(
    process: str,
    start: datetime,
    end: datetime | None,
    force: bool,
    as_json: bool,
    access: Access,
) -> None:
    """Rerun instances of PROCESS that have ended; they wait for their inputs first.

    \b
    Examples:
      palimpsest instance rerun daily-delays --start 2013-01-02T11:00Z
      palimpsest instance rerun daily-delays --start 2013-01-02 --end 2013-01-31 --force
    """
    _change(InstanceEvent.RERUN, process, start, end, as_json, access, force=force)


def _changing(event: InstanceEvent, summary: str) -> click.Command:
    """The command of an event that happens to one instance, or to those of a span."""
    name = event.value.lower()
    example = f"palimpsest instance {name} daily-delays --start 2013-01-02T11:00Z"

    @click.command(name, help=f"{summary}\n\n\b\nExamples:\n  {example}")
    @_span_options
    def change(
        process: str, start: datetime, end: datetime | None, as_json: bool, access: Access
    ) -> None:
        _change(event, process, start, end, as_json, access)

    return change


_STOPPED = "that have not ended; running ones stop, and commit nothing."
for _event, _summary in (
    (InstanceEvent.SUSPEND, f"Suspend instances of PROCESS {_STOPPED}"),
    (
        InstanceEvent.RESUME,
        "Resume suspended instances of PROCESS; they wait for their inputs first.",
    ),
    (InstanceEvent.KILL, f"Kill instances of PROCESS {_STOPPED}"),
):
    command.add_command(_changing(_event, _summary))


@command.command("triage")
@_PROCESS
@_NOMINAL
@JSON_OPTION
@control_options
def triage(process: str, start: datetime, as_json: bool, access: Access) -> None:
    """Show why an instance of PROCESS did not succeed: what should have filled its inputs.

    \b
    Examples:
      palimpsest instance triage daily-delays --start 2013-01-02T11:00Z
    """
    found = perform(
        access, "instance", as_json, instance_operations.triage_instance, process, start
    )
    if as_json:
        shown = [
            {"depth": one.depth, "id": one.id, "state": one.state, "reason": one.reason}
            for one in found
        ]
        click.echo(json.dumps(shown))
        return
    for one in found:
        click.echo(f"{'  ' * one.depth}{one.id}: {one.state.lower()}, {one.reason}")
    if not found:
        click.echo("It has succeeded.")


@command.command("dependency")
@_PROCESS
@_NOMINAL
@JSON_OPTION
@control_options
def dependency(process: str, start: datetime, as_json: bool, access: Access) -> None:
    """Show which instances fill what an instance of PROCESS reads, and which read what it fills.

    \b
    Examples:
      palimpsest instance dependency daily-delays --start 2013-01-02T11:00Z
    """
    found = perform(
        access, "instance", as_json, instance_operations.instance_dependencies, process, start
    )
    if as_json:
        shown = {
            "producers": instance_objects(found.producers),
            "consumers": instance_objects(found.consumers),
        }
        click.echo(json.dumps(shown))
        return
    for title, rows in (("has its data from", found.producers), ("is read by", found.consumers)):
        click.echo(f"{title}: {', '.join(row.id for row in rows) or 'nothing'}")


def _filter(process: str | None, text: str | None, wanted: dict[str, Any]) -> InstanceFilter:
    return InstanceFilter(
        entity=process,
        life_cycle=wanted["life_cycle"],
        states=tuple(state.upper() for state in wanted["states"]),
        since=wanted["start"],
        until=wanted["end"],
        text=text,
        order=wanted["order_by"],
        descending=wanted["descending"],
        offset=wanted["offset"],
        limit=wanted["limit"],
    )


def _list(
    process: str | None, text: str | None, as_json: bool, access: Access, wanted: dict[str, Any]
) -> None:
    found = perform(
        access,
        "instance",
        as_json,
        instance_operations.find_instances,
        _filter(process, text, wanted),
    )
    _write_rows(found, as_json)


def _write_rows(rows: Sequence[InstanceRow], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(instance_objects(rows)))
        return
    for row in rows:
        waits = f", waits for {', '.join(row.missing)}" if row.missing else ""
        why = f", {row.error_code or ''} {row.error}".rstrip() if row.error else ""
        tries = "" if row.fence < 2 else f", attempt {row.fence}"
        where = "" if row.profile is None else f" in {row.profile}"
        click.echo(f"{row.id}: {row.state.lower()}{where}{tries}{waits}{why}")


def _change(
    event: InstanceEvent,
    process: str,
    start: datetime,
    end: datetime | None,
    as_json: bool,
    access: Access,
    *,
    force: bool = False,
) -> None:
    changes = perform(
        access,
        "instance",
        as_json,
        instance_operations.change_instances,
        event,
        process,
        start,
        end,
        force=force,
    )
    if as_json:
        shown = [
            {
                "id": one.id,
                "nominal": one.nominal.isoformat(),
                "before": one.before,
                "after": one.after,
            }
            for one in changes
        ]
        click.echo(json.dumps(shown))
        return
    for one in changes:
        was = f"still {one.after}" if one.before == one.after else f"{one.before} to {one.after}"
        click.echo(f"{one.id}: {was.lower()}")


@command.command("params")
@_span_options
def params(
    process: str, start: datetime, end: datetime | None, as_json: bool, access: Access
) -> None:
    """Show which data the instances of PROCESS read and fill.

    --start alone names one instance, with --end a span of time. Both must lie within the time of
    the process; they are UTC unless they have an offset.

    \b
    Examples:
      palimpsest instance params daily-delays --start 2013-01-02T11:00Z
      palimpsest instance params daily-delays --start 2013-01-02 --end 2013-01-31 --json
    """
    found = perform(access, "instance", as_json, process_instances, process, start, end)
    if as_json:
        click.echo(json.dumps([planned_object(one) for one in found]))
        return
    for one in found:
        click.echo(shown_minute(one.nominal))
        write_uses("reads", one.inputs)
        write_uses("fills", one.outputs)


@command.command("preview")
@_span_options
def preview(
    process: str, start: datetime, end: datetime | None, as_json: bool, access: Access
) -> None:
    """Show what the instances of PROCESS would run, and run nothing.

    Statements have the values of their parameters in their place; palimpsest preview shows what
    they do to the store. --start alone names one instance, with --end a span of time.

    \b
    Examples:
      palimpsest instance preview daily-delays --start 2013-01-02T11:00Z
      palimpsest instance preview daily-delays --start 2013-01-02 --end 2013-01-31 --json
    """
    found = perform(access, "instance", as_json, preview_runs, process, start, end)
    if as_json:
        click.echo(json.dumps([preview_object(one) for one in found]))
        return
    for one in found:
        write_preview(one)
