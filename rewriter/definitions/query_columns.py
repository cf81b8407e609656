"""The columns of a table that is made of a query: their names, free ones, and types. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlglot import exp
from sqlglot.errors import SqlglotError

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, fold
from rewriter.definitions.column_types import type_text
from rewriter.definitions.definition import TableDraft
from rewriter.name_resolution import position_of


def add_query_columns(
    ast: exp.Create, draft: TableDraft, found: Collection[tuple[str, str]], *, numbers: bool
) -> None:
    """Add a query's columns, under the names that the statement gives to the first of them.

    ``numbers``: those of the query that have one name get a number. Raises DUPLICATE_COLUMN.
    """
    given = ast.this.expressions if isinstance(ast.this, exp.Schema) else []
    if any(not isinstance(node, exp.Identifier) for node in given) or len(given) > len(found):
        raise PalimpsestError(
            Code.NOT_SUPPORTED if len(given) <= len(found) else Code.COLUMN_COUNT,
            "CREATE TABLE AS takes names of columns only, and no more than the query has",
            advice="create the table first, then INSERT INTO it .. SELECT",
            position=position_of(ast.this),
        )
    taken = draft.column_names()
    for index, (name, kind) in enumerate(found):
        shown = given[index].name if index < len(given) else name
        if numbers and index >= len(given):
            shown = _free_name(name, taken)
        draft.check_new_column(shown, given[index] if index < len(given) else ast.this, taken)
        # A column of NULLs alone has no type of its own.
        spelled = kind.replace('"NULL"', "INTEGER")
        stored = type_text(_type_from(spelled, ast.this))
        draft.columns.append(Column(shown, draft.new_physical(shown), stored))


def _type_from(text: str, node: exp.Expr) -> exp.DataType:
    try:
        return exp.DataType.build(text, dialect="duckdb")
    except SqlglotError:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"columns of type {text} are not supported",
            advice="CAST to another type in the query",
            position=position_of(node),
        ) from None


def told_apart(names: Iterable[str], node: exp.Expr, *, numbers: bool) -> tuple[str, ...]:
    """Names of a view's columns, those that stood before with a number, as DuckDB makes them.

    Raises DUPLICATE_COLUMN, for the view's name at ``node``, where the dialect gives no numbers.
    """
    found: dict[str, str] = {}
    for name in names:
        free = _free_name(name, found)
        if free != name and not numbers:
            raise PalimpsestError(
                Code.DUPLICATE_COLUMN,
                f'column "{name}" is named twice',
                advice="write AS and another name behind it, or a list of names behind the view's",
                position=position_of(node),
            )
        found[fold(free)] = free
    return tuple(found.values())


def _free_name(name: str, taken: Collection[str]) -> str:
    found, number = name, 0
    while fold(found) in taken:
        number += 1
        found = f"{name}_{number}"
    return found
