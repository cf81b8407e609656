"""``palimpsest template``: entities by templates with parameters."""

from __future__ import annotations

import json
from typing import Any

import click

from gateway.commands.connecting import JSON_OPTION, Access, control_options, perform
from gateway.commands.entity import finish_change
from gateway.commands.failure import exit_on_error
from gateway.governance import entity_operations
from gateway.governance.declarations import write_declaration
from gateway.governance.entity import Entity
from gateway.governance.entity_templates import (
    EntityTemplate,
    find_template,
    instantiate,
    list_templates,
)
from gateway.governance.scheduled_submissions import submit_and_schedule

_NAME = click.argument("name", metavar="TEMPLATE")
_VALUES = click.option(
    "-p",
    "--parameter",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="The value of a parameter; several may be given.",
)


@click.group("template")
def command() -> None:
    """Make entities from templates with parameters.

    Templates come with Palimpsest, or stand in files of your own; `describe` shows how one is
    written. What a template makes are entities like any other, to be updated or deleted as such.

    \b
    Examples:
      palimpsest template list
      palimpsest template describe mirror
      palimpsest template instantiate nightly-compaction -p tables='sales.*'
    """


@command.command("list")
@JSON_OPTION
def show_list(as_json: bool) -> None:
    """List the templates that come with Palimpsest.

    \b
    Examples:
      palimpsest template list --json
    """
    with exit_on_error(as_json=as_json):
        found = list_templates()
    if as_json:
        click.echo(json.dumps([_object(one) for one in found]))
        return
    for one in found:
        click.echo(f"{one.name:26}{one.description}")


@command.command("describe")
@_NAME
@JSON_OPTION
def describe(name: str, as_json: bool) -> None:
    """Show the parameters of a TEMPLATE, by its name or its file, and how it is written.

    \b
    Examples:
      palimpsest template describe retention-by-regulation
    """
    with exit_on_error(as_json=as_json):
        found = find_template(name)
    if as_json:
        click.echo(json.dumps({**_object(found), "text": found.text}))
        return
    click.echo(f"{found.name}: {found.description}\n")
    for one in found.parameters:
        needed = "required" if one.default is None else f"{one.default} if it is left out"
        click.echo(f"  {one.name:14}{one.description} ({needed})")
    click.echo(f"\n{found.text.rstrip()}")


@command.command("validate")
@_NAME
@_VALUES
@JSON_OPTION
@control_options
def validate(name: str, given: tuple[str, ...], as_json: bool, access: Access) -> None:
    """Check the entities that a TEMPLATE makes against schema and warehouse; change nothing.

    \b
    Examples:
      palimpsest template validate nightly-compaction -p tables='sales.*'
    """
    entities = _entities(name, given, as_json)
    results = perform(access, "template", as_json, entity_operations.validate_entities, entities)
    finish_change(results, as_json)


@command.command("instantiate")
@_NAME
@_VALUES
@click.option("--print", "prints", is_flag=True, help="Write the declarations, and change nothing.")
@JSON_OPTION
@control_options
def make(name: str, given: tuple[str, ...], prints: bool, as_json: bool, access: Access) -> None:
    """Record the entities that a TEMPLATE makes from parameters: all or none.

    The command schedules entities that have instances. A repeat with the same parameters changes
    nothing.

    \b
    Examples:
      palimpsest template instantiate mirror -p url=palimpsest:////mnt/copy -p tables='sales.*'
      palimpsest template instantiate ./ours.yaml -p tables=hr.people --print
    """
    entities = _entities(name, given, as_json)
    if prints:
        shown = [{"kind": e.kind.value, "name": e.name, **e.fields} for e in entities]
        with exit_on_error(as_json=as_json):
            click.echo(
                json.dumps(shown) if as_json else "---\n".join(map(write_declaration, shown))
            )
        return
    results = perform(access, "template", as_json, submit_and_schedule, entities)
    finish_change(results, as_json)


def _entities(name: str, given: tuple[str, ...], as_json: bool) -> list[Entity]:
    values: dict[str, str] = {}
    for text in given:
        parameter, sign, value = text.partition("=")
        if not sign or parameter in values:
            raise click.UsageError(f"-p {text}: write NAME=VALUE, each name once")
        values[parameter] = value
    with exit_on_error(as_json=as_json):
        return instantiate(find_template(name), values)


def _object(template: EntityTemplate) -> dict[str, Any]:
    return {
        "template": template.name,
        "description": template.description,
        "parameters": [
            {
                "name": one.name,
                "description": one.description,
                "type": "list" if one.is_list else "text",
                "default": one.default,
            }
            for one in template.parameters
        ],
    }
