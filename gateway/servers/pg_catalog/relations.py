"""The relations of ``pg_catalog`` with their columns, and its built-in types.

Vectors of numbers are lists of unsigned numbers here, and no other columns are.

``columns.tsv`` and ``types.tsv`` hold what PostgreSQL 15 says of itself in ``pg_attribute`` and
``pg_type``, with the types of columns as DuckDB names them.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_TYPE_COLUMNS = (
    "oid", "typname", "typlen", "typbyval", "typtype", "typcategory", "typispreferred", "typdelim",
    "typelem", "typarray", "typalign", "typstorage", "typinput", "typreceive", "shown",
)  # fmt: skip


@cache
def relation_columns() -> dict[str, dict[str, str]]:
    """The types of the columns of each relation, by name."""
    found: dict[str, dict[str, str]] = {}
    for line in _lines("columns.tsv"):
        name, columns = line.split("\t")
        found[name] = dict(column.split(":") for column in columns.split(" "))
    return found


@cache
def builtin_types() -> tuple[dict[str, str], ...]:
    """The built-in types: columns of ``pg_type``, and ``shown``, what ``format_type`` gives."""
    return tuple(
        dict(zip(_TYPE_COLUMNS, line.split("\t"), strict=True)) for line in _lines("types.tsv")
    )


@cache
def derived_statements() -> tuple[str, ...]:
    """What fills relations that PostgreSQL derives from others, in the engine's SQL."""
    return _statements("derived.sql")


@cache
def derived_relations() -> frozenset[str]:
    """The relations that these statements add to or change."""
    heads = re.compile(r"^(?:INSERT INTO|UPDATE) pgc\.(\w+)", re.MULTILINE)
    return frozenset(name for part in derived_statements() for name in heads.findall(part))


@cache
def view_statements() -> tuple[str, ...]:
    """What makes views for functions, and information_schema, in the engine's SQL."""
    return (*_statements("views.sql"), *_statements("information_schema.sql"))


def _statements(name: str) -> tuple[str, ...]:
    parts = "\n".join(_lines(name)).split(";")
    return tuple(part for part in parts if part.strip())


def _lines(name: str) -> list[str]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return text.splitlines()
