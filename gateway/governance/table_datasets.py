"""Which datasets declare a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.governance.dataset_policies import stated_policy
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import entity_of, list_entities
from gateway.procedures.procedures import find_tables
from gateway.session.operations import Advance, operation
from journal.model.errors import PalimpsestError
from journal.model.schema import Table
from journal.records.entity_rows import EntityRow

if TYPE_CHECKING:
    from gateway.session.session import Session


@operation
def datasets_of_table(session: Session, _advance: Advance, table: str) -> list[EntityRow]:
    """The datasets that declare a table, all of them: of this store, or by that name of another."""
    rows = list_entities(session, _advance, EntityKind.DATASET)
    elsewhere = [row for row in rows if _declares_elsewhere(entity_of(row), table)]
    try:
        (found,) = find_tables(session, table)
    except PalimpsestError:
        if not elsewhere:
            raise
        return elsewhere
    return [row for row in rows if row in elsewhere or _declares(entity_of(row), found)]


def _declares_elsewhere(dataset: Entity, table: str) -> bool:
    fields = dataset.fields
    return "profile" in fields and fields.get("table", "").casefold() == table.casefold()


def _declares(dataset: Entity, table: Table) -> bool:
    fields = dataset.fields
    return "profile" not in fields and (
        fields.get("table") == str(table.name)
        or ("tables" in fields and stated_policy(dataset).covers(table.name))
    )
