"""What a committed statement did to whole tables and views: created, dropped, emptied. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import CommittedLineage
from journal.model.plan import DropRelation, PutRelation
from journal.model.schema import CatalogSnapshot
from journal.transactions.transaction import StatementWrites

_OVERWRITES = "insert overwrite"


@dataclass(frozen=True, slots=True)
class ChangedDataset:
    """A table or view by its name in lower case, and its ``change`` as OpenLineage calls it.

    The change is ALTER, CREATE, DROP, OVERWRITE, RENAME or TRUNCATE; ``before`` is the old name.
    """

    name: str
    change: str
    before: str | None = None


def changed_datasets(
    written: StatementWrites, found: CommittedLineage, catalog: CatalogSnapshot
) -> tuple[ChangedDataset, ...]:
    """The tables and views that a statement has changed as a whole, each once."""
    changes = {one.name: one for one in _changes(written, found.tag, catalog)}
    whole = "TRUNCATE" if found.tag == "TRUNCATE" else None
    if found.text.lower().startswith(_OVERWRITES):
        whole = "OVERWRITE"
    if whole is not None:
        for table in (catalog.by_id(table_id) for table_id, _ in written.rows):
            if table is not None:
                changes[str(table.name).lower()] = ChangedDataset(str(table.name).lower(), whole)
    return tuple(changes.values())


def _changes(
    written: StatementWrites, tag: str, catalog: CatalogSnapshot
) -> Iterator[ChangedDataset]:
    for change in written.changes:
        if isinstance(change, DropRelation) and not catalog.is_own(change.name):
            yield ChangedDataset(str(change.name).lower(), "DROP")
        elif isinstance(change, PutRelation) and not catalog.is_own(change.relation.name):
            name, before = change.relation.name, change.instead_of
            if before is not None and before.key != name.key:
                yield ChangedDataset(str(name).lower(), "RENAME", str(before).lower())
            else:
                is_new = tag.startswith("CREATE")
                yield ChangedDataset(str(name).lower(), "CREATE" if is_new else "ALTER")
