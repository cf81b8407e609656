"""Keeps what adoption would lose of a table: owner, indexes, types of texts.

They are kept as properties, so that the table gets them back when it leaves. The gateway has one
type of text and one of JSON: a column of another one is read as that, and a CHECK watches over the
length of a text meanwhile; to others the current view shows jsonb as jsonb. Reads the server's own
catalog in the session it is given; changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Check, Table, fold
from journal.stores.postgres.adopt.survey import FoundTable
from journal.stores.postgres.store import PostgresSession

_OWNER, _INDEXES, _TEXTS = "taken_owner", "taken_indexes", "taken_texts"
_NOT_KEPT = "taken_not_kept"
_LENGTH = re.compile(r"character(?: varying)?\((\d+)\)$")
_JSONB = 3802
_TEXT_TYPES = {1042, 1043, 1014, 1015, _JSONB}
"""Of ``character`` and ``character varying``, of arrays of them, and of JSON kept apart."""
_FOUND = (
    "SELECT i.relname, substr(x.def, position(' USING ' IN x.def) + 1), ARRAY(SELECT DISTINCT"
    " a.attname::text FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid"
    " AND a.attnum = d.refobjsubid WHERE d.classid = 'pg_class'::regclass AND d.objid = i.oid"
    " AND d.refclassid = 'pg_class'::regclass AND d.refobjid = x.indrelid AND d.refobjsubid > 0)"
    " FROM (SELECT *, pg_get_indexdef(indexrelid) AS def FROM pg_index) x"
    " JOIN pg_class i ON i.oid = x.indexrelid"
    " WHERE x.indrelid = ?::bigint AND NOT x.indisunique AND x.indisvalid ORDER BY i.relname"
)


_WITHOUT = (
    "SELECT CASE WHEN c.relkind = 'p' THEN 'PARTITION BY ' || pg_get_partkeydef(c.oid) END,"
    " 'WITH (' || array_to_string(c.reloptions, ', ') || ')',"
    " CASE WHEN c.relreplident <> 'd' THEN 'its REPLICA IDENTITY' END,"
    " 'TABLESPACE ' || t.spcname FROM pg_class c"
    " LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace WHERE c.oid = ?::bigint"
)
_WITHOUT_EACH = (
    "SELECT 'DEFERRABLE of ' || conname FROM pg_constraint"
    " WHERE conrelid = ?::bigint AND condeferrable AND contype IN ('p', 'u')"
    " UNION ALL SELECT 'statistics ' || stxname FROM pg_statistic_ext WHERE stxrelid = ?::bigint"
)


@dataclass(frozen=True, slots=True)
class AdoptedIndex:
    """An index that is not unique: its name, what follows the table in its DDL, its columns."""

    name: str
    body: str
    columns: tuple[str, ...]

    def fits(self, columns: Collection[str]) -> bool:
        """True if a table of these columns can have it."""
        return set(self.columns) <= set(columns)


def indexes_in(session: PostgresSession, oid: int) -> list[AdoptedIndex]:
    """The indexes of a table that are neither unique nor a key's."""
    return [
        AdoptedIndex(name, body, tuple(names)) for name, body, names in session.text(_FOUND, [oid])
    ]


def not_kept_in(session: PostgresSession, oid: int) -> list[str]:
    """What a table loses when it is adopted, and does not get back, in words."""
    (found,) = session.text(_WITHOUT, [oid])
    each = session.text(_WITHOUT_EACH, [oid, oid])
    return [said for said in (*found, *(said for (said,) in each)) if said is not None]


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of texts: its type before, and the CHECK that watches over its length, if one."""

    column: str
    type: str
    check: str | None = None


def texts_in(found: FoundTable, name: str) -> list[TextColumn]:
    """The columns of a table whose texts are of a type that the gateway does not have."""
    texts: list[TextColumn] = []
    taken = {fold(c.name) for c in found.constraints}
    for column in found.columns:
        if column.oid not in _TEXT_TYPES:
            continue
        check = None
        if _LENGTH.match(column.spelt):
            base = check = fold(f"{name}_{column.name}_length")
            number = 1
            while check in taken:
                check, number = f"{base}{number}", number + 1
        texts.append(TextColumn(fold(column.name), column.spelt, check))
    return texts


def length_checks(texts: Iterable[TextColumn]) -> tuple[Check, ...]:
    """What keeps texts as short as their types did."""
    checks = []
    for text in texts:
        length = _LENGTH.match(text.type)
        if length is not None and text.check is not None:
            measured = exp.Length(this=exp.column(text.column, quoted=True))
            limit = exp.LTE(this=measured, expression=exp.Literal.number(length[1]))
            checks.append(Check(text.check, limit.sql(dialect="duckdb")))
    return tuple(checks)


def remembered(
    owner: str,
    indexes: Iterable[AdoptedIndex],
    texts: Iterable[TextColumn],
    not_kept: Sequence[str],
) -> tuple[tuple[str, str], ...]:
    """Properties that keep what is not part of a definition."""
    lists = {
        _INDEXES: [[i.name, i.body, *i.columns] for i in indexes],
        _TEXTS: [[t.column, t.type, t.check] for t in texts],
        _NOT_KEPT: list(not_kept),
    }
    return ((_OWNER, owner), *((name, json.dumps(found)) for name, found in lists.items() if found))


def texts_before(table: Table) -> list[TextColumn]:
    """The columns of texts an adopted table had of other types."""
    return [TextColumn(*found) for found in json.loads(dict(table.properties).get(_TEXTS, "[]"))]


def shown_as_before(table: Table) -> set[str]:
    """The columns that others see in the type they had, as their operators are of that type."""
    return {
        text.column
        for text in texts_before(table)
        if text.type == "jsonb" and not table.by_physical(text.column).earlier_types
    }


def owner_before(table: Table) -> str | None:
    """Who owned an adopted table; None for one that was not adopted."""
    return dict(table.properties).get(_OWNER)


def indexes_before(table: Table) -> list[AdoptedIndex]:
    """The indexes an adopted table had."""
    found = json.loads(dict(table.properties).get(_INDEXES, "[]"))
    return [AdoptedIndex(name, body, tuple(columns)) for name, body, *columns in found]


def not_kept_from_before(table: Table) -> list[str]:
    """What an adopted table had and does not get back, in words."""
    return list(json.loads(dict(table.properties).get(_NOT_KEPT, "[]")))


def same_columns(table: Table) -> set[str]:
    """The columns of a table that are called as they were when it was made."""
    return {c.physical for c in table.columns if fold(c.name) == fold(c.physical)}
