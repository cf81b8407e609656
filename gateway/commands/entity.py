"""``palimpsest entity``: declare profiles, datasets and processes, and show what was declared."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from gateway import errors
from gateway.commands.connecting import (
    JSON_OPTION,
    Access,
    control_options,
    open_connection,
    perform,
)
from gateway.commands.entity_lineage import lineage
from gateway.commands.failure import STATEMENT, error_object, exit_on_error
from gateway.governance import entity_operations
from gateway.governance.declarations import read_declarations, write_declaration
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import EntityResult
from gateway.governance.entity_scheduling import (
    EntityStatus,
    entity_status,
    resume_entities,
    schedule_entities,
    suspend_entities,
    touch_entities,
)
from gateway.governance.entity_schema import read_entity
from gateway.governance.scheduled_submissions import submit_and_schedule
from gateway.governance.table_datasets import datasets_of_table
from journal.records.entity_rows import EntityRow

_KIND = click.argument(
    "kind", type=click.Choice([k.value for k in EntityKind]), metavar="KIND"
)  # fmt: skip
_NAME = click.argument("name")
_NAMES = click.argument("names", nargs=-1, required=True)
ScheduleChange = Callable[..., list[EntityResult]]
"""An operation on entities, named by kind and name."""
_FILES = click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)


@click.group("entity")
def command() -> None:
    """Declare profiles, datasets and processes, with what they depend on.

    A file of YAML has a document for each. The warehouse keeps every version. A scheduled process
    runs while `palimpsest scheduler` or a server with --scheduler runs.

    \b
    Examples:
      palimpsest entity validate flights.yaml
      palimpsest entity submit flights.yaml
      palimpsest entity list
      palimpsest entity dependency dataset flights
    """


@command.command("validate")
@_FILES
@JSON_OPTION
@control_options
def validate(files: tuple[Path, ...], as_json: bool, access: Access) -> None:
    """Check the declarations in FILES against schema and warehouse; change nothing.

    \b
    Examples:
      palimpsest entity validate flights.yaml
      palimpsest entity validate *.yaml --json
    """
    _change(entity_operations.validate_entities, files, as_json, access)


@command.command("submit")
@_FILES
@click.option("--schedule", is_flag=True, help="Also schedule the datasets and processes.")
@JSON_OPTION
@control_options
def submit(files: tuple[Path, ...], schedule: bool, as_json: bool, access: Access) -> None:
    """Record the entities of FILES; a repeat changes nothing.

    Each has its own result. If some fail, the exit code is 1, and a repeat changes only these.
    With --schedule all of them are submitted and scheduled, or none.

    \b
    Examples:
      palimpsest entity submit flights.yaml
      palimpsest entity submit profiles.yaml datasets.yaml processes.yaml --json
      palimpsest entity submit flights.yaml --schedule
    """
    _change(entity_operations.submit_entities, files, as_json, access, schedules=schedule)


@command.command("update")
@_FILES
@JSON_OPTION
@control_options
def update(files: tuple[Path, ...], as_json: bool, access: Access) -> None:
    """Replace the definitions of the entities in FILES from now on; the old ones stay readable.

    Name and start cannot change, and what refers to an entity must remain valid.

    \b
    Examples:
      palimpsest entity update flights.yaml
    """
    _change(entity_operations.update_entities, files, as_json, access)


@command.command("delete")
@_KIND
@_NAME
@JSON_OPTION
@control_options
def delete(kind: str, name: str, as_json: bool, access: Access) -> None:
    """Delete the entity of this KIND and NAME, unless others refer to it.

    \b
    Examples:
      palimpsest entity delete process daily-delays
    """
    found = perform(
        access, "entity", as_json, entity_operations.delete_entity, EntityKind(kind), name
    )
    _write_results([found], as_json)


def _scheduling(name: str, operation: ScheduleChange, summary: str) -> click.Command:
    """The command of an operation that changes what becomes of entities from now on."""
    example = f"palimpsest entity {name} process daily-delays"

    @click.command(name, help=f"{summary}\n\n\b\nExamples:\n  {example}")
    @_KIND
    @_NAMES
    @JSON_OPTION
    @control_options
    def change(kind: str, names: tuple[str, ...], as_json: bool, access: Access) -> None:
        keys = [(EntityKind(kind), one) for one in names]
        results = perform(access, "entity", as_json, operation, keys)
        _write_results(results, as_json)
        if any(result.error is not None for result in results):
            sys.exit(STATEMENT)

    return change


_SCHEDULE = """\
Schedule the entities of this KIND and these NAMES; a repeat changes nothing.

A process whose start has passed gets an instance for each nominal time since, unless its catch_up
says LAST or NONE. `palimpsest scheduler` runs them."""
for _name, _operation, _summary in (
    (
        "schedule",
        schedule_entities,
        _SCHEDULE,
    ),
    (
        "suspend",
        suspend_entities,
        "Suspend scheduled entities, and their instances that have not ended.",
    ),
    (
        "resume",
        resume_entities,
        "Resume suspended entities; catch_up says which missed instances they get.",
    ),
    (
        "touch",
        touch_entities,
        "Begin a new version of entities with the definition they have, checked again.",
    ),
):
    command.add_command(_scheduling(_name, _operation, _summary))


@command.command("status")
@click.argument("kind", required=False, type=click.Choice([k.value for k in EntityKind]))
@click.argument("name", required=False)
@JSON_OPTION
@control_options
def status(kind: str | None, name: str | None, as_json: bool, access: Access) -> None:
    """Show whether entities are SUBMITTED, SCHEDULED or SUSPENDED, and which instance is next.

    \b
    Examples:
      palimpsest entity status
      palimpsest entity status process daily-delays --json
    """
    wanted = None if kind is None else EntityKind(kind)
    found = perform(access, "entity", as_json, entity_status, wanted, name)
    if as_json:
        click.echo(json.dumps([_status_object(one) for one in found]))
        return
    for one in found:
        coming = "" if one.next_at is None else f", next {one.next_at:%Y-%m-%dT%H:%MZ}"
        click.echo(f"{one.kind} {one.name}: {one.state.lower()}, version {one.version}{coming}")


def _status_object(one: EntityStatus) -> dict[str, Any]:
    return {
        "kind": one.kind.value,
        "name": one.name,
        "version": one.version,
        "state": one.state,
        "next_at": None if one.next_at is None else one.next_at.isoformat(),
        "changed_at": one.changed_at.isoformat(),
    }


@command.command("list")
@click.option("--kind", type=click.Choice([k.value for k in EntityKind]), help="Only this kind.")
@JSON_OPTION
@control_options
def list_command(kind: str | None, as_json: bool, access: Access) -> None:
    """List the entities: kind, name, version, who declared it and when.

    \b
    Examples:
      palimpsest entity list
      palimpsest entity list --kind dataset --json
    """
    wanted = None if kind is None else EntityKind(kind)
    rows = perform(access, "entity", as_json, entity_operations.list_entities, wanted)
    _write_versions(rows, as_json)


@command.command("definition")
@_KIND
@_NAME
@JSON_OPTION
@control_options
def definition(kind: str, name: str, as_json: bool, access: Access) -> None:
    """Write the current definition, as YAML that you can submit again, or as JSON.

    \b
    Examples:
      palimpsest entity definition dataset flights > flights.yaml
    """
    with (
        open_connection(access, "entity", as_json=as_json) as connection,
        exit_on_error(as_json=as_json),
    ):
        rows = connection.client_session.perform(
            entity_operations.entity_history, EntityKind(kind), name
        )
        if rows[-1].ended_at is not None:
            raise entity_operations.unknown_entity(EntityKind(kind), name)
    fields = {"kind": kind, "name": name, **json.loads(rows[-1].definition)}
    if as_json:
        click.echo(json.dumps(fields, ensure_ascii=False))
        return
    with exit_on_error():
        click.echo(write_declaration(fields), nl=False)


@command.command("history")
@_KIND
@_NAME
@JSON_OPTION
@control_options
def history(kind: str, name: str, as_json: bool, access: Access) -> None:
    """List every version of an entity, also of a deleted one, with its definition as JSON.

    \b
    Examples:
      palimpsest entity history dataset flights
      palimpsest entity history dataset flights --json
    """
    rows = perform(
        access, "entity", as_json, entity_operations.entity_history, EntityKind(kind), name
    )
    _write_versions(rows, as_json, shows_definition=True)


@command.command("dependency")
@_KIND
@_NAME
@JSON_OPTION
@control_options
def dependency(kind: str, name: str, as_json: bool, access: Access) -> None:
    """List what an entity depends on, and what depends on it, also through others.

    \b
    Examples:
      palimpsest entity dependency dataset flights
    """
    depends_on, dependents = perform(
        access, "entity", as_json, entity_operations.entity_dependencies, EntityKind(kind), name
    )
    if as_json:
        shown = {"depends_on": list(map(str, depends_on)), "dependents": list(map(str, dependents))}
        click.echo(json.dumps(shown))
        return
    for title, found in (("depends on", depends_on), ("is needed by", dependents)):
        click.echo(f"{title}: {', '.join(map(str, found)) or 'nothing'}")


@command.command("lookup")
@click.argument("table")
@JSON_OPTION
@control_options
def lookup(table: str, as_json: bool, access: Access) -> None:
    """List the datasets that declare TABLE.

    \b
    Examples:
      palimpsest entity lookup flights
    """
    rows = perform(access, "entity", as_json, datasets_of_table, table)
    _write_versions(rows, as_json)


command.add_command(lineage)


def _change(
    operation: Callable[..., list[EntityResult]],
    files: Sequence[Path],
    as_json: bool,
    access: Access,
    *,
    schedules: bool = False,
) -> None:
    with exit_on_error(as_json=as_json):
        entities = [entity for file in files for entity in _read_file(file)]
    results = perform(
        access, "entity", as_json, submit_and_schedule if schedules else operation, entities
    )
    finish_change(results, as_json)


def finish_change(results: Sequence[EntityResult], as_json: bool) -> None:
    """Write what became of each entity at last, and leave with 1 if one of them failed."""
    results = list({(result.kind, result.name): result for result in results}.values())
    _write_results(results, as_json)
    if any(result.error is not None for result in results):
        sys.exit(STATEMENT)


def _read_file(file: Path) -> list[Entity]:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is not a text in UTF-8: {error}") from error
    return [read_entity(one) for one in read_declarations(text, str(file))]


def _write_results(results: Sequence[EntityResult], as_json: bool) -> None:
    failed = sum(result.error is not None for result in results)
    if as_json:
        state = "SUCCEEDED" if not failed else "FAILED" if failed == len(results) else "PARTIAL"
        click.echo(json.dumps({"state": state, "results": list(map(_result_object, results))}))
        return
    for result in results:
        version = "" if result.version is None else f", version {result.version}"
        click.echo(f"{result.kind} {result.name}: {result.outcome.lower()}{version}")
        if result.error is not None:
            click.echo(f"  {result.error.code.value.code} {result.error.message}", err=True)
            click.echo(f"  {result.error.advice}", err=True)


def _result_object(result: EntityResult) -> dict[str, Any]:
    error = result.error
    return {
        "kind": result.kind.value,
        "name": result.name,
        "outcome": result.outcome,
        "version": result.version,
        "state": result.state,
        "error": None if error is None else error_object(errors.mapped(error)),
    }


def _write_versions(
    rows: Sequence[EntityRow], as_json: bool, *, shows_definition: bool = False
) -> None:
    if as_json:
        click.echo(json.dumps([_version_object(row) for row in rows], ensure_ascii=False))
        return
    for row in rows:
        ended = "" if row.ended_at is None else f", until {row.ended_at:%Y-%m-%dT%H:%M:%SZ}"
        since = f"{row.began_at:%Y-%m-%dT%H:%M:%SZ}"
        click.echo(
            f"{row.kind} {row.name}: version {row.version} by {row.user_name}, since {since}{ended}"
        )
        if shows_definition:
            click.echo(f"  {row.definition}")


def _version_object(row: EntityRow) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "name": row.name,
        "version": row.version,
        "definition": json.loads(row.definition),
        "user": row.user_name,
        "began_at": row.began_at.isoformat(),
        "ended_at": None if row.ended_at is None else row.ended_at.isoformat(),
    }
