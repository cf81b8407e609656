"""What a transaction does to the sequences of a catalog."""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Sequence, TableName


@dataclass(frozen=True, slots=True)
class PutSequence:
    """Catalog change: add a sequence, or let it stand for the one of an earlier name."""

    sequence: Sequence
    instead_of: TableName | None = None


@dataclass(frozen=True, slots=True)
class DropSequence:
    """Catalog change: a sequence disappears."""

    name: TableName
