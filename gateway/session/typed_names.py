"""Names of tables and columns as typed outside of SQL: ``t``, ``hr.t``, ``"my.hr"."t"``.

A part with dots, commas or quotes in it is quoted as in SQL. Pure; whether there is such a table is
not looked at.
"""

from __future__ import annotations

import re

from journal.model.schema import CatalogSnapshot, TableName
from rewriter.name_resolution import is_database

_PART = re.compile(r'"(?:[^"]|"")*"|[^.]+')
_ITEM = re.compile(r'\s*(?:"(?:[^"]|"")*"|[^,]+)')
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def table_name(text: str, catalog: CatalogSnapshot, schema: str) -> TableName:
    """What a name of a table means in a catalog: in ``schema``, unless it names one."""
    *before, name = [_unquote(part) for part in _PART.findall(text.strip())] or [""]
    if len(before) > 1 and is_database(before[0], catalog):
        before = before[1:]
    return TableName(".".join(before) or schema, name)


def column_names(text: str | None) -> tuple[str, ...]:
    """The names in a list of columns, separated by commas; none of no text."""
    return tuple(_unquote(item.strip()) for item in _ITEM.findall(text or "") if item.strip())


def _unquote(part: str) -> str:
    """A part of a name without its quotes."""
    return part[1:-1].replace('""', '"') if _QUOTED.fullmatch(part) else part
