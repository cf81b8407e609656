"""Rows about types and macros of users: for ``system`` and the functions of DuckDB. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from journal.model.named_definitions import ENUM, STRUCT, Macro, UserType
from journal.model.schema import CatalogSnapshot
from journal.sql.native_words import shown_text
from rewriter.definitions.descriptions import shown_type
from rewriter.definitions.macros import shown_form
from rewriter.definitions.user_types import labels_of

Row = tuple[Any, ...]


def type_rows(catalog: CatalogSnapshot) -> Iterator[Row]:
    """Schema, name, kind, what it stands for, values, and the constraints of each type."""
    for found in _types(catalog):
        checks = [f"CONSTRAINT {name} CHECK ({text})" for name, text in found.checks]
        yield (
            *(found.name.schema, found.name.name, found.kind, shown_type(found.type)),
            *(_labels(found), not found.not_null, found.default, checks, found.comment),
        )


def duckdb_type_rows(catalog: CatalogSnapshot) -> Iterator[Row]:
    """As DuckDB's ``duckdb_types()`` has them; its numbers of objects mean nothing here."""
    for found in _types(catalog):
        logical = {ENUM: "ENUM", STRUCT: "STRUCT"}.get(found.kind, shown_type(found.type))
        category = "COMPOSITE" if found.kind == STRUCT else None
        yield (
            *(catalog.database, None, found.name.schema, None, None, found.name.name, None),
            *(logical, category, found.comment, False, _labels(found)),
        )


def _types(catalog: CatalogSnapshot) -> list[UserType]:
    return sorted(catalog.user_types(), key=lambda found: found.name.key)


def _labels(found: UserType) -> list[str] | None:
    return labels_of(found.type) if found.kind == ENUM else None


def macro_rows(catalog: CatalogSnapshot) -> Iterator[Row]:
    """Schema, name, kind, how it is called, and what it stands for, of each form of a macro."""
    for found in _macros(catalog):
        for form in found.bodies:
            kind = "table" if found.is_table else "scalar"
            yield (
                *(found.name.schema, found.name.name, kind, shown_form(found, form)),
                *([name for name, _ in form.parameters], shown_text(form.body), found.comment),
            )


def duckdb_function_rows(catalog: CatalogSnapshot) -> Iterator[Row]:
    """As DuckDB's ``duckdb_functions()`` has macros; its other functions are not listed."""
    for found in _macros(catalog):
        for form in found.bodies:
            kind = "table_macro" if found.is_table else "macro"
            yield (
                *(catalog.database, found.name.schema, found.name.name, kind, None, None),
                *([name for name, _ in form.parameters], shown_text(form.body), False),
            )


def _macros(catalog: CatalogSnapshot) -> list[Macro]:
    every = (d for d in catalog.definitions.values() if isinstance(d, Macro))
    return sorted(every, key=lambda found: found.name.key)
