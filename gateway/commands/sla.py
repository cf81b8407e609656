"""``palimpsest sla``: which instances are late, or may become so."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from gateway.commands.connecting import JSON_OPTION, Access, control_options, perform
from gateway.commands.failure import STATEMENT
from gateway.governance.entity import EntityKind
from gateway.governance.service_level_looks import service_levels
from gateway.governance.service_levels import LevelState, ServiceLevel


@click.command("sla")
@click.argument("kind", type=click.Choice(["process", "dataset"]), required=False, metavar="[KIND]")
@click.argument("name", required=False)
@click.option("--missed", "only_missed", is_flag=True, help="Only marks that have passed.")
@JSON_OPTION
@control_options
def command(
    kind: str | None, name: str | None, only_missed: bool, as_json: bool, access: Access
) -> None:
    """List the marks of service levels that are pending or missed, of all entities or one.

    A mark is pending from the nominal time of an instance on, and missed when its time has passed,
    as long as what it asks for is not there. The exit code is 1 if a mark is missed.

    \b
    Examples:
      palimpsest sla
      palimpsest sla process daily-delays --missed
    """
    wanted = None if kind is None else EntityKind(kind)
    found = perform(access, "sla", as_json, service_levels, wanted, name, only_missed=only_missed)
    if as_json:
        click.echo(json.dumps([_level_object(level) for level in found]))
    else:
        for level in found:
            click.echo(
                f"{level.state.lower()}: {level.kind} {level.entity} of"
                f" {level.nominal_time:%Y-%m-%dT%H:%MZ}, {level.mark} at"
                f" {level.due_at:%Y-%m-%dT%H:%MZ}"
            )
    if any(level.state is LevelState.MISSED for level in found):
        sys.exit(STATEMENT)


def _level_object(level: ServiceLevel) -> dict[str, Any]:
    return {
        "kind": level.kind,
        "entity": level.entity,
        "nominal_time": level.nominal_time.isoformat(),
        "mark": level.mark.value,
        "due_at": level.due_at.isoformat(),
        "state": level.state.value,
    }
