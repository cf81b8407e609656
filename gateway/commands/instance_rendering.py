"""How ``palimpsest instance`` writes instances, attempts and the data that they are about."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import click

from gateway.governance.planned_instances import DatasetUse, PlannedInstance
from gateway.governance.run_previews import RunPreview
from journal.records.instance_rows import AttemptRow


def attempt_object(one: AttemptRow) -> dict[str, Any]:
    """An attempt as JSON has it."""
    return {
        "instance": one.instance,
        "attempt": one.n,
        "step": one.step,
        "state": one.state,
        "started_at": one.started_at.isoformat(),
        "ended_at": None if one.ended_at is None else one.ended_at.isoformat(),
        "error_code": one.error_code,
        "error": one.error,
        "log": list(one.log),
        "metrics": None if one.metrics is None else json.loads(one.metrics),
    }


def write_uses(verb: str, uses: Sequence[DatasetUse]) -> None:
    """Write which instances of datasets are read or filled."""
    for use in uses:
        declared = " to ".join(use.expressions)
        if use.instances is None:
            click.echo(f"  {verb} {use.dataset}: {declared}, by what is there then")
        else:
            shown = _shown_span(use.instances)
            click.echo(f"  {verb} {use.dataset}: {shown} ({declared})")


def _shown_span(moments: Sequence[datetime]) -> str:
    if len(moments) < 3:
        return ", ".join(map(shown_minute, moments)) or "none"
    first, last = shown_minute(moments[0]), shown_minute(moments[-1])
    return f"{first} to {last}, {len(moments)} instances"


def planned_object(one: PlannedInstance) -> dict[str, Any]:
    """What an instance is about, as JSON has it."""
    return {
        "nominal": one.nominal.isoformat(),
        "inputs": _use_objects(one.inputs),
        "outputs": _use_objects(one.outputs),
    }


def write_preview(one: RunPreview) -> None:
    """Write what an instance would run: SQL that can be run as it is, the rest as comments."""
    click.echo(f"-- {one.id}, in the dialect {one.dialect}" if one.statements else f"-- {one.id}")
    for missing in one.missing:
        click.echo(f"-- waits for {missing}")
    for statement in one.statements:
        click.echo(f"{statement};")
    if one.words:
        click.echo(f"-- runs {shlex.join(one.words)}")
    if one.job is not None:
        click.echo(f"-- runs the job {one.job['kind']} of {', '.join(one.job['tables'])}")
    for dataset, statements in one.handlers.items():
        click.echo(f"-- for late data of {dataset}")
        for statement in statements:
            click.echo(f"{statement};")


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


def shown_minute(moment: datetime) -> str:
    """A moment as people read it."""
    return f"{moment:%Y-%m-%dT%H:%MZ}"
