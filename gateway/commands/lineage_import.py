"""``palimpsest lineage import``: events of OpenLineage of other programs, into the catalog."""

from __future__ import annotations

import json
from typing import Any, TextIO

import click

from gateway.commands.connecting import (
    JSON_OPTION,
    Access,
    perform,
    upkeep_options,
)
from gateway.commands.failure import exit_on_error
from gateway.procedures.lineage_import import import_events
from gateway.wording import counted
from journal.model.errors import Code, PalimpsestError


@click.command("import")
@click.argument("events", type=click.File(encoding="utf-8"))
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help="Datasets of this namespace are the tables here of the same names; may be given again.",
)
@JSON_OPTION
@upkeep_options
def import_command(
    events: TextIO, namespaces: tuple[str, ...], as_json: bool, access: Access
) -> None:
    """Record the lineage of EVENTS, a file of run events of OpenLineage in JSON.

    The file has one event a line, or a list of events: what Spark's listener writes, for one. The
    command skips runs that have begun or failed, and records datasets of other namespaces as files.
    It records nothing twice, so you may import a file again.

    \b
    Examples:
      palimpsest lineage import spark-events.jsonl --namespace hive://lake:9083
      curl -s http://collector/events | palimpsest lineage import - --json
    """
    with exit_on_error(as_json=as_json):
        read = _events(events.read())
    done = perform(access, "lineage", as_json, import_events, read, namespaces)
    if as_json:
        click.echo(json.dumps({"events": len(read), "statements": done[0], "edges": done[1]}))
    else:
        click.echo(f"{counted(done[0], 'statement')} with {counted(done[1], 'edge')}")


def _events(text: str) -> list[dict[str, Any]]:
    """The events of a file: a JSON value, or one in each line."""
    try:
        if text.lstrip().startswith("["):
            return list(json.loads(text))
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except json.JSONDecodeError as error:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"the file is no JSON: {error}",
            advice="give one event a line, or a list of events",
        ) from None
