"""Puts few rows that a query reads into the query itself, as values in a WITH clause.

A temporary table for them would be two statements, entries in the server's catalog and a commit
that takes them out again. Knows the text of a query and its values; sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from journal.model.lazy_dataclass import dataclass
from journal.sql.relations import ident
from journal.stores.postgres.arrow import array_text, interval_text
from journal.stores.postgres.dialect.text import Text, rendered
from journal.stores.postgres.dialect.types import sql_type

FEW_ROWS_MAX = 200
"""More rows are sent once, into a temporary table whose size the server then knows."""
INSTANT = "(TIMESTAMPTZ '1970-01-01 00:00:00+00' + {} * INTERVAL '1 microsecond')"
"""How a query makes the moment of a version of its number, a BIGINT."""
_PLAIN_TYPES = frozenset({"text", "bigint"})
"""Types whose values are text or whole numbers in Python."""
_WITH = "WITH "
_RECURSIVE = "WITH RECURSIVE "


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """A column of a relation of few rows: its values, and how a query makes its type of them.

    They are sent as an array of ``parameter_type``; ``output_format`` is SQL in which ``{}`` stands
    for one of them.
    """

    name: str
    parameter_type: str
    output_format: str
    values: list[Any]

    @property
    def sent(self) -> str | list[Any]:
        """The values as they are sent: the library takes longer to write an array than we do."""
        plain = self.parameter_type in _PLAIN_TYPES
        return array_text(self.values) if plain else self.values

    def output(self, place: str) -> str:
        """The column as an output of a query, of values in column ``place``."""
        return f"{self.output_format.format(place)} AS {quoted_name(self.name)}"


def columns_of_arrow(rows: pa.Table) -> list[ColumnValues]:
    """The columns of Arrow rows as values."""
    shown: list[ColumnValues] = []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        kind, values = sql_type(field.type), column.to_pylist()
        if pa.types.is_interval(field.type):
            spans = [None if v is None else interval_text(v) for v in values]
            shown.append(ColumnValues(field.name, "text", "{}::interval", spans))
        elif kind.endswith("[]"):
            # An array of arrays would have to be rectangular, so each goes as its own text.
            texts = [None if v is None else array_text(v) for v in values]
            shown.append(ColumnValues(field.name, "text", f"{{}}::{kind}", texts))
        else:
            shown.append(ColumnValues(field.name, kind, "{}", values))
    return shown


class FewRows:
    """The relations of few rows that a transaction is shown, by name."""

    def __init__(self) -> None:
        self._shown: dict[str, Sequence[ColumnValues]] = {}

    def clear(self) -> None:
        """Forget all of them."""
        self._shown.clear()

    def show(self, name: str, columns: Sequence[ColumnValues]) -> None:
        """Let queries read columns of values as relation ``name``."""
        self._shown[quoted_name(name)] = columns

    def hide(self, name: str) -> bool:
        """Forget a relation; False if there is none of that name."""
        return self._shown.pop(quoted_name(name), None) is not None

    def given_with(self, text: Text, values: list[Any]) -> tuple[str, list[Any]]:
        """The text of a query and its values, with those of the rows that it reads."""
        named = [(name, columns) for name, columns in self._shown.items() if name in text.sql]
        if not named:
            return text.sql, values
        clauses: list[str] = []
        for name, columns in named:
            clauses.append(f"{name} AS MATERIALIZED ({query_of_values(columns, len(values))})")
            values = [*values, *(column.sent for column in columns)]
        return _with_clauses(text, ", ".join(clauses)), values


@lru_cache(maxsize=4096)
def quoted_name(name: str) -> str:
    """A name as it is, as text for the server."""
    return str(rendered(ident(name)).sql)


def query_of_values(columns: Sequence[ColumnValues], before: int = 0) -> str:
    """A query of columns of values, whose parameters stand behind so many others."""
    places = [f"c{i}" for i in range(len(columns))]
    given = ", ".join(f"${before + i}::{c.parameter_type}[]" for i, c in enumerate(columns, 1))
    outputs = ", ".join(c.output(place) for c, place in zip(columns, places, strict=True))
    return f"SELECT {outputs} FROM unnest({given}) AS u({', '.join(places)})"  # noqa: S608


def _with_clauses(text: Text, clauses: str) -> str:
    """A text that begins with clauses of WITH, before those it has."""
    before, query = text.sql[: text.start], text.sql[text.start :]
    for word in (_RECURSIVE, _WITH):
        if query.startswith(word):
            return f"{before}{word}{clauses}, {query[len(word) :]}"
    return f"{before}{_WITH}{clauses} {query}"
