"""Checks a declaration against the store: statements, conditions, cut-offs, jobs.

It is checked before an entity goes on record, so that no instance fails for what was wrong from the
start. Nothing is changed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.governance.dataset_availability import check_condition
from gateway.governance.dataset_policies import stated_policy
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_checks import KnownEntities
from gateway.governance.late_data import cut_off
from gateway.governance.process_rules import process_rules, store_profile
from gateway.governance.process_statements import check_statements
from gateway.jobs.kind_names import kind_names
from gateway.procedures.procedures import find_tables
from journal.model.duration import Duration
from journal.model.effective_policy import effective_policy
from journal.model.errors import Code, PalimpsestError
from journal.model.policy import Policy
from journal.model.schema import CatalogSnapshot, Table
from journal.model.table_name import TableName
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from gateway.session.session import Session


def check_declared(session: Session, entity: Entity) -> None:
    """Raise ENTITY for what the store cannot do of an entity."""
    if entity.kind is EntityKind.DATASET:
        check_condition(session, entity)
        _check_cut_off(session, entity)
    elif entity.kind is EntityKind.PROCESS:
        _check_control_store(session, entity)
        fields, limits = entity.fields, session.settings.limits
        dialect = fields.get("dialect", "duckdb")
        late = fields.get("late_data", {}).get("inputs", ())
        texts = [fields.get("sql"), *(use.get("sql") for use in late)]
        for text in filter(None, texts):
            check_statements(entity, text, dialect, limits)
        if "job" in fields:
            _check_job(session, entity)


def check_late_data(entity: Entity, known: KnownEntities, catalog: CatalogSnapshot) -> None:
    """Raise ENTITY for late data that nobody would look for: a dataset without a cut-off.

    ``catalog`` is the store's, ``known`` are datasets that may not be part of it yet.
    """
    if entity.kind is not EntityKind.PROCESS:
        return
    late = process_rules(entity).late
    for name in () if late is None else late.handlers:
        dataset = known.get((EntityKind.DATASET, name))
        if dataset is None:
            continue
        if cut_off(dataset, _policy_for(dataset, catalog)) is None:
            raise _entity_error(
                entity,
                f"late_data: {dataset} has no cut-off, so that nothing would be looked for",
                "give it late_arrival"
                + ("" if "profile" in dataset.fields else ", or its table the policy LATE_ARRIVAL"),
            )


def _policy_for(dataset: Entity, catalog: CatalogSnapshot) -> Policy | None:
    """The policy that counts for a dataset's table once the dataset is on record."""
    if "profile" in dataset.fields:
        return None
    schema, _, name = dataset.fields["table"].rpartition(".")
    table = catalog.get(TableName(schema, name))
    if not isinstance(table, Table):
        return None
    return effective_policy(catalog.with_policy(stated_policy(dataset)), table)


def _check_cut_off(session: Session, dataset: Entity) -> None:
    fields = dataset.fields
    if "late_arrival" not in fields or "profile" in fields:
        return
    (table,) = find_tables(session, fields["table"])
    policy = _policy_for(dataset, committed_state(session.journal).catalog)
    retention = None if policy is None else policy.retention
    late = Duration.parse(fields["late_arrival"])
    if retention is not None and late.longest >= retention.shortest:
        raise _entity_error(
            dataset,
            f"late_arrival: {late} is not shorter than the retention of {table.name}, {retention}",
            "rows would go before they can be late; shorten it, or keep rows longer",
        )


def _check_control_store(session: Session, process: Entity) -> None:
    named = session.settings.control_store
    if named is not None:
        raise _entity_error(
            process,
            f"the control store is {named}, and processes of this store are in no listing of it",
            "declare it there, with a profile of this store: palimpsest entity submit, or SQL and"
            " HTTP over a connection to the control store",
        )


def _check_job(session: Session, entity: Entity) -> None:
    job = entity.fields["job"]
    if job["kind"] not in kind_names():
        raise _entity_error(
            entity, f"job.kind: there is no job {job['kind']}", "use " + ", ".join(kind_names())
        )
    if store_profile(entity) is not None:
        return  # Tables of another store are looked at there, when it runs.
    for name in job["tables"]:
        find_tables(session, name)


def _entity_error(entity: Entity, message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.ENTITY, f"{entity}: {message}", advice=advice)
