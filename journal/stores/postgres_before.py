"""What an adopted table was before, apart from its definition: its owner, its indexes.

The gateway has no use for them, but they are kept as properties, so that the table gets them back
when it leaves. Reads the server's own catalog in the session it is given; changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from journal.schema import Table, fold
from journal.stores.postgres import PostgresSession

_OWNER, _INDEXES = "taken_owner", "taken_indexes"
_FOUND = (
    "SELECT i.relname, substr(x.def, position(' USING ' IN x.def) + 1), ARRAY(SELECT DISTINCT"
    " a.attname::text FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid"
    " AND a.attnum = d.refobjsubid WHERE d.classid = 'pg_class'::regclass AND d.objid = i.oid"
    " AND d.refclassid = 'pg_class'::regclass AND d.refobjid = x.indrelid AND d.refobjsubid > 0)"
    " FROM (SELECT *, pg_get_indexdef(indexrelid) AS def FROM pg_index) x"
    " JOIN pg_class i ON i.oid = x.indexrelid"
    " WHERE x.indrelid = ?::bigint AND NOT x.indisunique AND x.indisvalid ORDER BY i.relname"
)


@dataclass(frozen=True, slots=True)
class Index:
    """An index that is not unique: its name, what follows the table in its DDL, its columns."""

    name: str
    body: str
    columns: tuple[str, ...]

    def fits(self, columns: Collection[str]) -> bool:
        """True if a table of these columns can have it."""
        return set(self.columns) <= set(columns)


def indexes_in(session: PostgresSession, oid: int) -> list[Index]:
    """The indexes of a table that are neither unique nor a key's."""
    return [Index(name, body, tuple(names)) for name, body, names in session.text(_FOUND, [oid])]


def remembered(owner: str, indexes: Iterable[Index]) -> tuple[tuple[str, str], ...]:
    """Properties that keep what is not part of a definition."""
    found = [[i.name, i.body, *i.columns] for i in indexes]
    return ((_OWNER, owner), *([(_INDEXES, json.dumps(found))] if found else []))


def owner_before(table: Table) -> str | None:
    """Who owned an adopted table; None for one that was not adopted."""
    return dict(table.properties).get(_OWNER)


def indexes_before(table: Table) -> list[Index]:
    """The indexes an adopted table had."""
    found = json.loads(dict(table.properties).get(_INDEXES, "[]"))
    return [Index(name, body, tuple(columns)) for name, body, *columns in found]


def same_columns(table: Table) -> set[str]:
    """The columns of a table that are called as they were when it was made."""
    return {c.physical for c in table.columns if fold(c.name) == fold(c.physical)}
