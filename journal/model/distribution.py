"""By which columns a journal's rows are distributed over machines, on stores with several.

The property ``distributed_by`` lists them, as "a, b"; without it they are the key, so that all row
versions of a key lie together. Stores on one machine take no notice. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table

PROPERTY = "distributed_by"
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|(\w+))\s*(?:,|$)')


def distribution_of(table: Table) -> tuple[str, ...]:
    """Physical names of the columns that rows are spread by."""
    text = dict(table.properties).get(PROPERTY)
    return _names(text) if text else table.key


def lying_by(table: Table, known: Iterable[str]) -> tuple[str, ...]:
    """By which columns rows lie that have the ``known`` ones only; none if it is by chance."""
    names = set(known)
    wanted = (distribution_of(table), table.key)
    return next((columns for columns in wanted if names.issuperset(columns)), ())


def column_list(columns: Iterable[str]) -> str:
    """Names as the property lists them."""
    return ", ".join('"' + name.replace('"', '""') + '"' for name in columns)


def shown_distribution(text: str, names: Mapping[str, str]) -> str:
    """The property as it is kept, with the columns' present ``names``, by physical ones."""
    return column_list(names.get(name, name) for name in _names(text))


def with_distribution(table: Table, before: Table | None = None) -> Table:
    """A new definition with its property checked and over physical columns.

    One that stands in the definition ``before`` is in that form already. Raises INVALID_DEFINITION.
    """
    known = dict(before.properties).get(PROPERTY) if before is not None else None
    text = dict(table.properties).get(PROPERTY)
    if text is None or text == known:
        return table
    columns: list[str] = []
    for name in _names(text):
        column = table.find(name)
        if column is None:
            raise _distribution_error(f"{table.name} has no column {name}")
        columns.append(column.physical)
    stored = column_list(dict.fromkeys(columns))
    properties = tuple((n, stored if n == PROPERTY else t) for n, t in table.properties)
    return replace(table, properties=properties)


def _names(text: str) -> tuple[str, ...]:
    names: list[str] = []
    place = 0
    while place < len(text):
        found = _NAME.match(text, place)
        if found is None:
            raise _distribution_error(f"{text!r} is not a list of columns")
        names.append(found[1].replace('""', '"') if found[1] else found[2])
        place = found.end()
    if not names:
        raise _distribution_error("it lists no column")
    return tuple(names)


def _distribution_error(message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.INVALID_DEFINITION,
        f"the distribution cannot be used: {message}",
        advice="list columns of the table, as distributed_by = 'customer'",
    )
