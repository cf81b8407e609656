"""Lists the instances of a process in a span of time, and the data each uses. Pure.

An instance is known by its process and its nominal time, whether or not it has run.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_checks import KnownEntities
from gateway.governance.expressions import instance_of, parse_expression
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

INSTANCES_MAX = 10_000
"""How many instances of a process, or of a dataset for one input, are shown at once."""


@dataclass(frozen=True, slots=True)
class DatasetUse:
    """The instances of a dataset that a run reads or fills, the first first.

    ``instances`` is None where it depends on the data that is there when the run begins;
    ``expressions`` are what was declared.
    """

    dataset: str
    expressions: tuple[str, ...]
    instances: tuple[datetime, ...] | None


@dataclass(frozen=True, slots=True)
class PlannedInstance:
    """One instance of a process: what it is for, reads and fills."""

    nominal: datetime
    inputs: tuple[DatasetUse, ...]
    outputs: tuple[DatasetUse, ...]


def planned_instances(
    process: Entity, known: KnownEntities, start: datetime, end: datetime | None = None
) -> list[PlannedInstance]:
    """The instance with the nominal time ``start``, or those from ``start`` up to ``end``.

    Raises SETTING_VALUE for a start alone that is no nominal time, for an end before the
    start, for moments outside of the process's time, and for more than ``INSTANCES_MAX`` instances.
    """
    times = process.nominal_times
    last = start if end is None else end
    over = times.end
    if last < start:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{_shown_moment(last)}, the end, is before {_shown_moment(start)}, the start",
            advice="give the earlier time as the start",
        )
    if start < times.start or (over is not None and last >= over):
        shown = "without end" if over is None else f"before {_shown_moment(over)}"
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{_shown_moment(start)} to {_shown_moment(last)} does not lie within the time of"
            f" {process}",
            advice=f"it begins at {_shown_moment(times.start)}, {shown}",
        )
    if end is None and start not in times:
        before = times.at_or_before(start)
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{process} has no instance at {_shown_moment(start)}",
            advice="give an end as well, or the instance before it: "
            + ("none" if before is None else _shown_moment(before)),
        )
    found: list[PlannedInstance] = []
    for nominal in takewhile(lambda moment: moment <= last, times.on_from(start)):
        if len(found) == INSTANCES_MAX:
            raise too_many_instances(
                f"{process} has more than {INSTANCES_MAX:,} instances in that time"
            )
        found.append(_planned_instance(process, known, nominal))
    return found


def _planned_instance(process: Entity, known: KnownEntities, nominal: datetime) -> PlannedInstance:
    fields = process.fields
    inputs = [
        _dataset_use(process, known, nominal, use, ("from", "to"))
        for use in fields.get("inputs", ())
    ]
    outputs = [
        _dataset_use(process, known, nominal, use, ("instance", "instance"))
        for use in fields.get("outputs", ())
    ]
    return PlannedInstance(nominal, tuple(inputs), tuple(outputs))


def _dataset_use(
    process: Entity,
    known: KnownEntities,
    nominal: datetime,
    use: Mapping[str, Any],
    bounds: tuple[str, str],
) -> DatasetUse:
    name, texts = use["dataset"], tuple(dict.fromkeys(use[bound] for bound in bounds))
    expressions = [parse_expression(use[bound]) for bound in bounds]
    if any(expression.depends_on_data for expression in expressions):
        return DatasetUse(name, texts, None)
    times = known[EntityKind.DATASET, name].nominal_times
    first, last = (
        instance_of(expression, nominal, times, lambda _: True, process.zone)
        for expression in expressions
    )
    if last is None:
        return DatasetUse(name, texts, ())  # All of them lie before the dataset begins.
    found: list[datetime] = []
    for moment in takewhile(lambda m: m <= last, times.on_from(first or times.start)):
        if len(found) == INSTANCES_MAX:
            raise too_many_instances(
                f"{process} asks for more than {INSTANCES_MAX:,} instances of {name}"
            )
        found.append(moment)
    return DatasetUse(name, texts, tuple(found))


def too_many_instances(message: str) -> PalimpsestError:
    """The error for more instances than are shown at once."""
    return PalimpsestError(Code.SETTING_VALUE, message, advice="choose a shorter time")


def _shown_moment(moment: datetime) -> str:
    # strftime writes years before 1000 with fewer digits.
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
