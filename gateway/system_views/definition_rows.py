"""Rows about types of users: for ``system.types`` and ``duckdb_types()``. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from journal.model.named_definitions import ENUM, STRUCT, UserType
from journal.model.schema import CatalogSnapshot
from rewriter.definitions.descriptions import shown_type
from rewriter.definitions.user_types import labels_of

Row = tuple[Any, ...]


def type_rows(catalog: CatalogSnapshot) -> Iterator[Row]:
    """Schema, name, kind, what it stands for, values, and the constraints of each type."""
    for found in _types(catalog):
        checks = [f"CONSTRAINT {name} CHECK ({text})" for name, text in found.checks]
        yield (
            *(found.name.schema, found.name.name, found.kind, shown_type(found.type)),
            *(_labels(found), not found.not_null, found.default, checks),
        )


def duckdb_type_rows(catalog: CatalogSnapshot) -> Iterator[Row]:
    """As DuckDB's ``duckdb_types()`` has them; its numbers of objects mean nothing here."""
    for found in _types(catalog):
        logical = {ENUM: "ENUM", STRUCT: "STRUCT"}.get(found.kind, shown_type(found.type))
        category = "COMPOSITE" if found.kind == STRUCT else None
        yield (
            *(catalog.database, None, found.name.schema, None, None, found.name.name, None),
            *(logical, category, None, False, _labels(found)),
        )


def _types(catalog: CatalogSnapshot) -> list[UserType]:
    return sorted(catalog.user_types(), key=lambda found: found.name.key)


def _labels(found: UserType) -> list[str] | None:
    return labels_of(found.type) if found.kind == ENUM else None
