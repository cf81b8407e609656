"""``palimpsest instance``: which instances a process has, and which data each is about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import exit_on_error
from gateway.errors import mapping
from gateway.governance.entity_operations import process_instances
from gateway.governance.planned_instances import DatasetUse, PlannedInstance


class _Moment(click.ParamType[datetime]):
    """A moment as 2013-01-31T06:00Z; UTC without an offset."""

    name = "moment"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """The moment in UTC."""
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no moment; write 2013-01-31T06:00Z", param, ctx)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


@click.group("instance")
def command() -> None:
    """Show which instances a process has, and which data each of them is about.

    An instance is one run of a process for one moment of its schedule, its nominal time. Nothing
    runs them yet.

    \b
    Examples:
      palimpsest instance params daily-delays --start 2013-01-02T11:00Z
    """


@command.command("params")
@click.argument("process")
@click.option(
    "--start", type=_Moment(), required=True, metavar="TIME", help="The nominal time, or the first."
)
@click.option("--end", type=_Moment(), metavar="TIME", help="Also the instances up to this time.")
@JSON_OPTION
@upkeep_options
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
    with open_connection(access, "instance", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json), mapping():
            session = connection.client_session
            found = session.perform(process_instances, process, start, end)
    if as_json:
        click.echo(json.dumps([_instance_object(one) for one in found]))
        return
    for one in found:
        click.echo(_shown_moment(one.nominal))
        _write_uses("reads", one.inputs)
        _write_uses("fills", one.outputs)


def _write_uses(verb: str, uses: Sequence[DatasetUse]) -> None:
    for use in uses:
        declared = " to ".join(use.expressions)
        if use.instances is None:
            click.echo(f"  {verb} {use.dataset}: {declared}, by what is there then")
        else:
            shown = _shown_span(use.instances)
            click.echo(f"  {verb} {use.dataset}: {shown} ({declared})")


def _shown_span(moments: Sequence[datetime]) -> str:
    if len(moments) < 3:
        return ", ".join(map(_shown_moment, moments)) or "none"
    first, last = _shown_moment(moments[0]), _shown_moment(moments[-1])
    return f"{first} to {last}, {len(moments)} instances"


def _instance_object(one: PlannedInstance) -> dict[str, Any]:
    return {
        "nominal": one.nominal.isoformat(),
        "inputs": _use_objects(one.inputs),
        "outputs": _use_objects(one.outputs),
    }


def _use_objects(uses: Iterable[DatasetUse]) -> list[dict[str, Any]]:
    return [
        {
            "dataset": use.dataset,
            "expressions": list(use.expressions),
            "instances": None
            if use.instances is None
            else [moment.isoformat() for moment in use.instances],
        }
        for use in uses
    ]


def _shown_moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%MZ}"
