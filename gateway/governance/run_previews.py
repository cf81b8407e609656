"""What instances of a process would run: statements with values, a job, or a command.

Nothing runs, and nothing is recorded. Data that decides over ``latest`` and ``future`` is asked as
the scheduler would ask it now; ``palimpsest preview`` shows what a statement does to the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gateway.governance.dataset_availability import DatasetAvailability
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import readable_entity
from gateway.governance.planned_instances import planned_instances
from gateway.governance.process_inputs import (
    instance_id,
    instance_inputs,
    instance_outputs,
    process_values,
)
from gateway.governance.process_rules import process_rules
from gateway.governance.process_stores import ProcessStores
from gateway.governance.spark_applications import application_words
from gateway.session.operations import Advance, operation
from journal.model.lazy_dataclass import dataclass
from rewriter.dialect_semantics import DIALECTS
from rewriter.limits import Limits
from rewriter.syntax.parameters import with_values
from rewriter.syntax.parsing import parse

if TYPE_CHECKING:
    from gateway.session.session import Session


@dataclass(frozen=True, slots=True)
class RunPreview:
    """What one instance would run.

    ``statements`` are those of ``sql`` in the dialect of the process, ``handlers`` those for late
    data by dataset; ``words`` are a Spark application's command, ``job`` is a kind and its tables.
    ``missing`` is data that the instance would wait for.
    """

    id: str
    nominal: datetime
    dialect: str
    statements: tuple[str, ...]
    handlers: dict[str, tuple[str, ...]]
    words: tuple[str, ...]
    job: dict[str, Any] | None
    missing: tuple[str, ...]


def preview_object(one: RunPreview) -> dict[str, Any]:
    """What an instance would run, as JSON has it."""
    return {
        "id": one.id,
        "nominal": one.nominal.isoformat(),
        "dialect": one.dialect,
        "statements": list(one.statements),
        "late_data": {name: list(statements) for name, statements in one.handlers.items()},
        "command": list(one.words),
        "job": one.job,
        "missing": list(one.missing),
    }


@operation
def preview_runs(
    session: Session, _advance: Advance, name: str, start: datetime, end: datetime | None
) -> list[RunPreview]:
    """What the instances of a process would run; the moments are those of ``planned_instances``."""
    process, known = readable_entity(session, (EntityKind.PROCESS, name))
    found = []
    with ProcessStores(session) as stores:
        there = DatasetAvailability(session, known, {}, stores)
        for one in planned_instances(process, known, start, end):
            inputs = instance_inputs(process, known, one.nominal, there.is_there, there.why_not)
            outputs = instance_outputs(process, known, one.nominal)
            row = instance_id(name, one.nominal)
            values = process_values(process, row, one.nominal, inputs.spans, outputs)
            found.append(_preview(process, values, inputs.missing, session.settings.limits))
    return found


def _preview(
    process: Entity, values: Mapping[str, Any], missing: tuple[str, ...], limits: Limits
) -> RunPreview:
    fields = process.fields
    dialect = fields.get("dialect", "duckdb")
    shown = {name: _literal(value, dialect) for name, value in values.items()}

    def statements(text: str | None) -> tuple[str, ...]:
        parsed = parse(text, dialect, limits) if text else ()
        return tuple(with_values(one.text.strip(), dialect, shown) for one in parsed)

    late = process_rules(process).late
    handlers = {} if late is None else late.handlers
    told = {dataset: statements(text) for dataset, text in handlers.items() if text}
    spark = fields.get("spark")
    words = () if spark is None else tuple(application_words(spark, values, "spark-submit"))
    return RunPreview(
        *(values["instance"], values["nominal"], dialect, statements(fields.get("sql"))),
        *(told, words, fields.get("job"), missing),
    )


def _literal(value: Any, dialect: str) -> str:
    """A value of a parameter as SQL; a moment keeps its place in time whatever the zone is."""
    if isinstance(value, datetime):
        text = exp.Literal.string(value.astimezone(UTC).isoformat(sep=" "))
        return exp.cast(text, exp.DType.TIMESTAMPTZ).sql(DIALECTS[dialect])
    return (exp.null() if value is None else exp.convert(value)).sql(DIALECTS[dialect])
