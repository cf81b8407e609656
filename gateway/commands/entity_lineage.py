"""``palimpsest entity lineage``: what an entity has to do with others, as lines or as a graph."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import click

from gateway.commands.connecting import JSON_OPTION, Access, control_options, perform
from gateway.commands.moments import MomentParam
from gateway.governance.entity import EntityKind
from gateway.governance.entity_lineage import EntityEdge, entity_lineage


@click.command("lineage")
@click.argument("kind", type=click.Choice([k.value for k in EntityKind]), metavar="KIND")
@click.argument("name")
@click.option(
    "--start",
    type=MomentParam(),
    metavar="TIME",
    help="Also instances from this nominal time on, and jobs that began since.",
)
@click.option("--end", type=MomentParam(), metavar="TIME", help="Those up to this time.")
@click.option("--dot", is_flag=True, help="Write a graph that Graphviz draws.")
@JSON_OPTION
@control_options
def lineage(
    kind: str,
    name: str,
    start: datetime | None,
    end: datetime | None,
    dot: bool,
    as_json: bool,
    access: Access,
) -> None:
    """Show whose an entity is, where its data lies, where it comes from and goes to, and what ran.

    Entities that it refers to, or that refer to it, are shown with it. With --start come instances,
    the data that each read and filled, and jobs that compacted, purged, restored or evicted rows.

    \b
    Examples:
      palimpsest entity lineage dataset flights
      palimpsest entity lineage process daily-delays --start 2013-01-02 --end 2013-01-03
      palimpsest entity lineage dataset flights --dot > flights.dot
    """
    if dot and as_json:
        raise click.UsageError("give --json or --dot, not both")
    if end is not None and start is None:
        raise click.UsageError("--end needs --start")
    found = perform(access, "entity", as_json, entity_lineage, EntityKind(kind), name, start, end)
    if as_json:
        click.echo(json.dumps([edge_object(edge) for edge in found], ensure_ascii=False))
    elif dot:
        click.echo("\n".join(_dot_lines(found)))
    else:
        for edge in found:
            detail = "" if edge.detail is None else f" ({edge.detail})"
            click.echo(f"{edge.source} {edge.relation} {edge.target}{detail}")


def edge_object(edge: EntityEdge) -> dict[str, Any]:
    """An edge for programs."""
    at = None if edge.at is None else edge.at.isoformat()
    return {**edge._asdict(), "relation": edge.relation.name, "at": at}


def _dot_lines(edges: Iterable[EntityEdge]) -> Iterable[str]:
    yield "digraph entities {"
    yield '  rankdir=LR; node [shape=box, fontname="sans-serif"];'
    for edge in edges:
        label = _dot_text(edge.relation)
        yield f"  {_dot_text(edge.source)} -> {_dot_text(edge.target)} [label={label}];"
    yield "}"


def _dot_text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
