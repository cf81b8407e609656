"""Finds the data that an instance reads and fills, and what of it is missing. Pure.

What is there is asked of a callable, by dataset and moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import takewhile
from typing import Any

from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_checks import KnownEntities
from gateway.governance.expressions import instance_of, moment_of, parse_expression, text_of
from gateway.governance.planned_instances import INSTANCES_MAX
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass

IsThere = Callable[[str, datetime], bool]
WhyNot = Callable[[str], PalimpsestError | None]
"""Why data of a dataset cannot be looked at."""
MISSING_MAX = 20
"""How many missing inputs of an instance are named."""


@dataclass(frozen=True, slots=True)
class DataSpan:
    """The instances of a dataset from the first to the last; None where it has none then."""

    dataset: str
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class InstanceInputs:
    """What an instance reads, and what of it is not there, as people read it."""

    spans: tuple[DataSpan, ...]
    missing: tuple[str, ...]


def instance_inputs(
    process: Entity,
    known: KnownEntities,
    nominal: datetime,
    is_there: IsThere,
    why_not: WhyNot | None = None,
) -> InstanceInputs:
    """The inputs of an instance of a process, by the nominal time."""
    spans: list[DataSpan] = []
    missing: list[str] = []
    for use in process.fields.get("inputs", ()):
        span, lacking = _input(process, known, nominal, use, is_there)
        spans.append(span)
        why = why_not(span.dataset) if lacking and why_not is not None else None
        if why is not None:
            lacking[0] = (
                f"{lacking[0]}, which cannot be looked at ({why.code.value.code} {why.message})"
            )
        missing += lacking
    return InstanceInputs(tuple(spans), tuple(missing[:MISSING_MAX]))


def instance_outputs(process: Entity, known: KnownEntities, nominal: datetime) -> list[DataSpan]:
    """What an instance fills; what depends on data is left out until it is known."""
    found = []
    for use in process.fields.get("outputs", ()):
        expression = parse_expression(use["instance"])
        times = known[EntityKind.DATASET, use["dataset"]].nominal_times
        if not expression.depends_on_data:
            moment = instance_of(expression, nominal, times, lambda _: True, process.zone)
            found.append(DataSpan(use["dataset"], moment, moment))
    return found


def span_moments(known: KnownEntities, span: DataSpan) -> list[datetime]:
    """The instances of a dataset in a span."""
    if span.first is None or span.last is None:
        return []
    times, last = known[EntityKind.DATASET, span.dataset].nominal_times, span.last
    found = []
    for moment in takewhile(lambda m: m <= last, times.on_from(span.first)):
        found.append(moment)
        if len(found) == INSTANCES_MAX:
            break
    return found


def _input(
    process: Entity,
    known: KnownEntities,
    nominal: datetime,
    use: Mapping[str, Any],
    is_there: IsThere,
) -> tuple[DataSpan, list[str]]:
    name = use["dataset"]
    times = known[EntityKind.DATASET, name].nominal_times
    bounds: list[datetime | None] = []
    for text in (use["from"], use["to"]):
        expression = parse_expression(text)
        found = instance_of(expression, nominal, times, lambda m: is_there(name, m), process.zone)
        if found is None and expression.depends_on_data:
            return DataSpan(name, None, None), [f"{name} {text}"]
        bounds.append(found)
    first, last = bounds
    if last is None:
        return DataSpan(name, None, None), []  # All of them lie before the dataset begins.
    span = DataSpan(name, first or times.start, last)
    lacking = [
        f"{name}@{shown_moment(moment)}"
        for moment in span_moments(known, span)
        if not is_there(name, moment)
    ]
    return span, lacking


def process_values(
    process: Entity,
    instance: str,
    nominal: datetime,
    inputs: tuple[DataSpan, ...],
    outputs: list[DataSpan],
) -> dict[str, Any]:
    """The parameters of a process's statements, by name; see ``parameter_names``."""
    values: dict[str, Any] = {"nominal": nominal, "instance": instance}
    for span in inputs:
        name = parameter_name(span.dataset)
        values |= {f"{name}_from": span.first, f"{name}_to": span.last}
    for span in outputs:
        values[f"{parameter_name(span.dataset)}_instance"] = span.last
    for name, text in process.fields.get("parameters", {}).items():
        expression = parse_expression(text)
        if expression.name == "formatTime":
            values[name] = text_of(expression, nominal, process.zone)
        else:
            values[name] = moment_of(expression, nominal, process.zone)
    return values


def parameter_names(process: Entity) -> list[str]:
    """The parameters that a process's statements may use.

    ``nominal`` and ``instance``; ``<dataset>_from`` and ``<dataset>_to`` of inputs,
    ``<dataset>_instance`` of outputs, with ``_`` for ``-``; those that it declares.
    """
    fields = process.fields
    found = ["nominal", "instance"]
    for use in fields.get("inputs", ()):
        name = parameter_name(use["dataset"])
        found += [f"{name}_from", f"{name}_to"]
    found += [f"{parameter_name(use['dataset'])}_instance" for use in fields.get("outputs", ())]
    return [*found, *fields.get("parameters", {})]


def parameter_name(dataset: str) -> str:
    """A dataset's name as parameters have it."""
    return dataset.replace("-", "_")


def shown_moment(moment: datetime) -> str:
    """A moment as ids and messages have it.

    >>> from datetime import UTC
    >>> shown_moment(datetime(2013, 1, 2, 11, tzinfo=UTC))
    '2013-01-02T11:00Z'
    """
    return f"{moment:%Y-%m-%dT%H:%MZ}"


def instance_id(entity: str, nominal: datetime, life_cycle: str = "EXECUTION") -> str:
    """The id of an instance: what no other has.

    >>> from datetime import UTC
    >>> instance_id("daily", datetime(2013, 1, 2, tzinfo=UTC))
    'daily@2013-01-02T00:00Z'
    """
    moment = (
        f"{nominal:%Y-%m-%dT%H:%M:%S.%fZ}"
        if nominal.microsecond
        else (f"{nominal:%Y-%m-%dT%H:%M:%SZ}" if nominal.second else shown_moment(nominal))
    )
    more = "" if life_cycle == "EXECUTION" else f"/{life_cycle.lower()}"
    return f"{entity}@{moment}{more}"
