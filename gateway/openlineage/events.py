"""A statement and what it wrote as a run event of OpenLineage; needs the extra ``openlineage``.

What decides about all rows of a table stands once, in ``dataset`` of its column lineage; the
sources of a column stand in its field. What cannot be told is an extraction error of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import urlsplit

from openlineage.client import event_v2 as openlineage
from openlineage.client import facet_v2 as facets
from openlineage.client.generated.base import DatasetFacet, RunFacet
from openlineage.client.serde import Serde

from gateway.lineage.changed_datasets import ChangedDataset
from gateway.version import VERSION
from journal.model.lazy_dataclass import dataclass
from rewriter.lineage.sources import WHOLE, ColumnSource
from rewriter.lineage.targets import ColumnTarget, row_sources, targets_by_table

PRODUCER = f"urn:palimpsest-gateway:{VERSION}"


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A statement as a run of a job: ``job`` names it, ``run_id`` is a UUID, ``at`` has a zone.

    ``unknown`` says why nothing could be told about what it writes, if so. A run that took place
    has ``started``, the ``version`` that it wrote, and says what went wrong in ``error``, and which
    tables and views it has ``changed`` as a whole.
    """

    namespace: str
    job: str
    run_id: str
    at: datetime
    text: str
    dialect: str
    targets: Sequence[ColumnTarget] = ()
    unknown: str | None = None
    started: datetime | None = None
    version: int | None = None
    error: str | None = None
    changed: Sequence[ChangedDataset] = ()


def run_event(
    run: TracedRun, state: openlineage.RunState = openlineage.RunState.COMPLETE
) -> openlineage.RunEvent:
    """An event of a statement, with its inputs, outputs and column lineage."""
    written = {**{one.name: () for one in run.changed}, **targets_by_table(run.targets)}
    read = {source.table for target in run.targets for source in target.sources}
    sql = facets.sql_job.SQLJobFacet(query=run.text, dialect=run.dialect, producer=PRODUCER)
    kind = facets.job_type_job.JobTypeJobFacet(
        processingType="BATCH", integration="PALIMPSEST", jobType="QUERY", producer=PRODUCER
    )
    is_start = state is openlineage.RunState.START
    return openlineage.RunEvent(
        eventType=state,
        eventTime=(run.started if is_start and run.started else run.at).isoformat(),
        producer=PRODUCER,
        run=openlineage.Run(run.run_id, _run_facets(run)),
        job=openlineage.Job(run.namespace, run.job, {"sql": sql, "jobType": kind}),
        inputs=[openlineage.InputDataset(*_dataset(run.namespace, t)) for t in sorted(read)],
        outputs=[_output(run, table, made, is_start) for table, made in written.items()],
    )


def event_json(event: openlineage.RunEvent) -> str:
    """An event in one line of JSON."""
    return Serde.to_json(event)


def _run_facets(run: TracedRun) -> dict[str, RunFacet]:
    """When it ran, what went wrong, and what could not be told: errors of the extraction."""
    found: dict[str, RunFacet] = {}
    if run.started is not None:
        found["nominalTime"] = facets.nominal_time_run.NominalTimeRunFacet(
            nominalStartTime=run.started.isoformat(),
            nominalEndTime=run.at.isoformat(),
            producer=PRODUCER,
        )
    if run.error is not None:
        found["errorMessage"] = facets.error_message_run.ErrorMessageRunFacet(
            message=run.error, programmingLanguage="SQL", producer=PRODUCER
        )
    errors = [(run.job, run.unknown)] if run.unknown is not None else []
    errors += [(f"{t.table}.{t.column}", t.unknown) for t in run.targets if t.unknown is not None]
    if not errors:
        return found
    extraction = facets.extraction_error_run
    facet = extraction.ExtractionErrorRunFacet(
        totalTasks=max(len(run.targets), 1),
        failedTasks=len(errors),
        errors=[extraction.Error(errorMessage=why, task=task) for task, why in errors],
        producer=PRODUCER,
    )
    return {**found, "extractionError": facet}


def _output(
    run: TracedRun, table: str, targets: Sequence[ColumnTarget], is_start: bool
) -> openlineage.OutputDataset:
    namespace = run.namespace
    lineage = facets.column_lineage_dataset
    shared = row_sources(targets)
    columns = {t.column: [s for s in t.sources if s not in shared] for t in targets}
    whole = [*shared, *columns.pop(WHOLE, [])]
    described: dict[str, DatasetFacet] = {}
    if targets:
        described["columnLineage"] = lineage.ColumnLineageDatasetFacet(
            fields={c: lineage.Fields(_input_fields(namespace, s)) for c, s in columns.items()},
            dataset=_input_fields(namespace, whole),
            producer=PRODUCER,
        )
    if columns:
        schema = facets.schema_dataset
        fields = [schema.SchemaDatasetFacetFields(name=name) for name in columns]
        described["schema"] = schema.SchemaDatasetFacet(fields=fields, producer=PRODUCER)
    if run.version is not None and not is_start:
        described["version"] = facets.dataset_version_dataset.DatasetVersionDatasetFacet(
            datasetVersion=str(run.version), producer=PRODUCER
        )
    changes = () if is_start else (one for one in run.changed if one.name == table)
    for one in changes:
        described["lifecycleStateChange"] = _lifecycle(one, namespace)
    return openlineage.OutputDataset(*_dataset(namespace, table), facets=described)


def _lifecycle(changed: ChangedDataset, namespace: str) -> DatasetFacet:
    lifecycle = facets.lifecycle_state_change_dataset
    before = None
    if changed.before is not None:
        before = lifecycle.PreviousIdentifier(name=changed.before, namespace=namespace)
    return lifecycle.LifecycleStateChangeDatasetFacet(
        lifecycleStateChange=lifecycle.LifecycleStateChange(changed.change),
        previousIdentifier=before,
        producer=PRODUCER,
    )


def _input_fields(
    namespace: str, sources: Iterable[ColumnSource]
) -> list[facets.column_lineage_dataset.InputField]:
    """The sources of a column, each once with all the ways in which it counts."""
    lineage = facets.column_lineage_dataset
    found: dict[tuple[str, str], list[ColumnSource]] = {}
    for source in sorted(sources):
        found.setdefault((source.table, source.column), []).append(source)
    return [
        lineage.InputField(
            *_dataset(namespace, table),
            field=column,
            transformations=[
                lineage.Transformation(type=s.kind, subtype=s.subtype, masking=s.masking)
                for s in ways
            ],
        )
        for (table, column), ways in found.items()
    ]


def _dataset(namespace: str, name: str) -> tuple[str, str]:
    """The namespace and name of a table or a file; a file's are its store and its path."""
    place = urlsplit(name)
    if place.scheme and place.netloc:
        return f"{place.scheme}://{place.netloc}", place.path.lstrip("/") or "/"
    return ("file", name) if "/" in name else (namespace, name)
