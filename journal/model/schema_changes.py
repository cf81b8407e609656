"""What a transaction does to the schemas of a catalog, and to its database."""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PutSchema:
    """Catalog change: a new schema, or what is said of one."""

    schema: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class DropSchema:
    """Catalog change: a schema disappears."""

    schema: str


@dataclass(frozen=True, slots=True)
class PutDatabaseComment:
    """Catalog change: what is said of the database, None for nothing any more."""

    comment: str | None
