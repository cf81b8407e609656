r"""What ``\d`` and its relatives show: schemas, tables, views and one table's parts, as results."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gateway.dbapi.connection import Connection
from gateway.session.operations import Advance, operation
from gateway.session.typed_names import table_name
from gateway.shell.result import Row, ShownColumn, ShownResult
from gateway.wording import counted, size_text
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot, Relation, Table, TableName, View, fold
from journal.model.schema import Column as TableColumn
from journal.model.segment import known_size
from journal.sql.native_words import shown_text
from rewriter.definitions.descriptions import create_index
from rewriter.definitions.new_relations import kind_of_relation
from rewriter.reading.system import system_names

if TYPE_CHECKING:
    from gateway.session.session import Session


_ROLES = (
    "SELECT name, can_login, is_superuser, creates_roles, bypasses_policies, member_of"
    " FROM system.roles ORDER BY 1"
)
_PRIVILEGES = "SELECT * FROM system.privileges"
_TAGS = "SELECT * FROM system.tags"
_INDEXES = 'SELECT schema, name, "table", definition FROM system.indexes ORDER BY 1, 2'
_SEQUENCES = "SELECT schema, sequence, type, increment, owner FROM system.sequences ORDER BY 1, 2"
_MACROS = "SELECT schema, name, form, kind, body FROM system.macros ORDER BY 1, 2"
_TYPES = "SELECT schema, name, kind, type FROM system.types ORDER BY 1, 2"


def catalog_of(connection: Connection) -> CatalogSnapshot:
    """The catalog as the connection's next statement will see it."""
    return connection.client_session.catalog


def relations(connection: Connection, kind: str, pattern: str | None) -> ShownResult:
    r"""What is of a ``kind`` and matches: all (``\d``), table, view or materialized view."""
    found: list[Row] = []
    for relation in _sorted(catalog_of(connection).relations.values()):
        what = kind_of_relation(relation).lower()
        if kind != "all" and what != kind:
            continue
        if not _matches(relation.name, pattern):
            continue
        key = _key(relation) if isinstance(relation, Table) else None
        row = (relation.name.schema, relation.name.name, what, key, relation.comment)
        found.append(row)
    if pattern is not None and kind in {"all", "table"}:
        # Those of the gateway are listed where their schema is named.
        schema = pattern.partition(".")[0]
        named = [TableName(fold(schema), n) for n in system_names(schema)]
        found += [(n.schema, n.name, "system", None, None) for n in named if _matches(n, pattern)]
    columns = _texts("schema", "name", "kind", "key", "comment")
    if not any(row[4] for row in found):
        return _result(columns[:4], [row[:4] for row in found])
    return _result(columns, found)


def schemas(connection: Connection) -> ShownResult:
    r"""``\dn``."""
    catalog = catalog_of(connection)
    counts = {fold(s): 0 for s in catalog.schemas}
    for relation in catalog.relations.values():
        counts[fold(relation.name.schema)] = counts.get(fold(relation.name.schema), 0) + 1
    rows = [(name, counts[folded]) for folded, name in sorted(catalog.schemas.items())]
    return _result([*_texts("schema"), ShownColumn("tables and views", "BIGINT")], rows)


def roles(connection: Connection) -> ShownResult:
    r"""``\du``."""
    rows: list[Row] = []
    for name, *held, member_of in _all_rows(connection, _ROLES):
        said = zip(held, ("login", "superuser", "create role", "bypass policies"), strict=True)
        attributes = ", ".join(text for is_so, text in said if is_so)
        rows.append((name, attributes, ", ".join(member_of)))
    return _result(_texts("role", "attributes", "member of"), rows)


def privileges(connection: Connection, pattern: str | None) -> ShownResult:
    r"""``\dp``: the privileges on tables, views and sequences whose names match."""
    rows: list[Row] = []
    for kind, schema, name, column, grantee, what, *_ in _all_rows(connection, _PRIVILEGES):
        if name is not None and _matches(TableName(schema, name), pattern):
            rows.append((schema, name, kind, column or "", grantee, what))
    return _result(_texts("schema", "name", "kind", "column", "grantee", "privilege"), rows)


def indexes(connection: Connection, pattern: str | None) -> ShownResult:
    r"""``\di``: the indexes whose names match."""
    return _named(connection, _INDEXES, ("schema", "name", "table", "definition"), pattern)


def sequences(connection: Connection, pattern: str | None) -> ShownResult:
    r"""``\ds``: the sequences whose names match."""
    return _named(
        connection, _SEQUENCES, ("schema", "name", "type", "increment", "owned by"), pattern
    )


def macros(connection: Connection, pattern: str | None) -> ShownResult:
    r"""``\df``: the macros whose names match."""
    return _named(connection, _MACROS, ("schema", "name", "form", "kind", "definition"), pattern)


def types(connection: Connection, pattern: str | None) -> ShownResult:
    r"""``\dT``: the types whose names match."""
    return _named(connection, _TYPES, ("schema", "name", "kind", "type"), pattern)


def _named(
    connection: Connection, query: str, columns: Sequence[str], pattern: str | None
) -> ShownResult:
    """The rows of a query, whose first columns are schema and name, that match."""
    rows = [r for r in _all_rows(connection, query) if _matches(TableName(r[0], r[1]), pattern)]
    return _result(_texts(*columns), rows)


def _all_rows(connection: Connection, query: str) -> list[Row]:
    """The rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def find_relation(connection: Connection, name: str) -> Relation | None:
    """The table or view of a name as typed, in the session's schema unless it names one."""
    catalog = catalog_of(connection)
    return catalog.get(table_name(name, catalog, connection.client_session.settings.schema))


def system_columns(connection: Connection, name: str) -> ShownResult | None:
    """The columns of a relation of ``system`` or ``information_schema``; None for other names."""
    schema, _, bare = name.partition(".")
    if fold(bare) not in system_names(schema):
        return None
    with connection.cursor() as cursor:
        cursor.execute(f"DESCRIBE {fold(schema)}.{fold(bare)}")
        rows: list[Row] = [(row[0], row[1]) for row in cursor.fetchall()]
    return _result(_texts("column", "type"), rows)


def columns_of(relation: Relation) -> ShownResult:
    """The columns of a table or view."""
    if isinstance(relation, View):
        names = _texts("column")
        return _result(names, [(name,) for name in relation.columns])
    rows: list[Row] = []
    for column in relation.columns:
        null = "not null" if column.not_null else ""
        rows.append((column.name, column.type, null, _default(column), column.comment))
    columns = _texts("column", "type", "null", "default", "comment")
    used = [i for i in range(5) if i < 2 or any(row[i] for row in rows)]
    kept = [tuple(row[i] if row[i] is not None else "" for i in used) for row in rows]
    return _result([columns[i] for i in used], kept)


def facts_of(connection: Connection, relation: Relation) -> list[str]:
    """Facts about a table besides its columns, one line each."""
    if isinstance(relation, View):
        return [f"Defined as: {shown_text(relation.shown_query)}"]
    lines = [f"Primary key: {_key(relation)}"] if not relation.hidden_key else []
    names = {c.physical: c.name for c in relation.stored}
    for unique in relation.uniques:
        lines.append(f"Unique {unique.name}: {', '.join(names[c] for c in unique.columns)}")
    references = catalog_of(connection).references.get(relation.id, ())
    for reference in references:
        child, parent, key = reference.child, reference.parent, reference.key
        if child.id == relation.id:
            theirs = ", ".join(parent.by_physical(c).name for c in key.parent_columns)
            mine = ", ".join(names[c] for c in key.columns)
            what = " ".join([f"{mine} refers to {parent.name} ({theirs})", *key.options])
            lines.append(f"Foreign key {key.name}: {what}")
    for reference in references:
        child, parent, key = reference.child, reference.parent, reference.key
        if parent.id == relation.id:
            mine = ", ".join(child.by_physical(c).name for c in key.columns)
            what = " ".join([f"{key.name} of {child.name} ({mine})", *key.options])
            lines.append(f"Referred to by {what}")
    lines += list(_tag_lines(connection, relation.name))
    lines += [f"Check {check.name}: {shown_text(check.expression)}" for check in relation.checks]
    lines += [f"Index {i.name}: {create_index(relation, i)}" for i in relation.indexes]
    size = connection.client_session.perform(journal_size, relation.id)
    if size is not None:
        lines.append(
            f"Journal {relation.journal_name}: "
            f"{counted(size.head_rows, 'row')} in the head, "
            f"{size.sealed_rows:,} in {counted(size.segments, 'segment')} ({size_text(size.bytes)})"
        )
        if size.lag_ms is not None:
            lines.append(
                "Small commits are inlined: readers past the gateway lag by at most"
                f" {size.lag_ms / 1000:g} s"
            )
    return lines


def _tag_lines(connection: Connection, name: TableName) -> Iterator[str]:
    for schema, table, column, tag, kind, origin, *_ in _all_rows(connection, _TAGS):
        if TableName(schema, table) == name:
            place = "" if column is None else f" on {column}"
            yield f"Tag {tag}{place}" + (f", inherited from {origin}" if kind != "set" else "")


@dataclass(frozen=True, slots=True)
class JournalSize:
    """How large a journal is; ``bytes`` is None where that is not known."""

    head_rows: int
    sealed_rows: int
    segments: int
    bytes: int | None
    lag_ms: int | None


@operation
def journal_size(session: Session, _advance: Advance, table_id: int) -> JournalSize | None:
    """How large the journal of a table is; None where the store has none for it."""
    state = session.journal.state.tables.get(table_id)
    if state is None:
        return None
    segments, table = state.manifest.segments, session.journal.state.catalog.by_id(table_id)
    return JournalSize(
        state.head_counts.total,
        sum(s.counts.total for s in segments),
        len(segments),
        known_size(segments),
        None if table is None else session.journal.capabilities.lag_ms(table),
    )


def _default(column: TableColumn) -> str | None:
    if column.identity is not None:
        return "generated always" if column.identity.always else "generated"
    text = column.generated or column.default
    return None if text is None else shown_text(text)


def _key(table: Table) -> str | None:
    if table.hidden_key:
        return None
    return ", ".join(table.by_physical(k).name for k in table.key)


def _matches(name: TableName, pattern: str | None) -> bool:
    if not pattern:
        return True
    wanted = fold(pattern.replace('"', ""))
    shown = fold(str(name)) if "." in wanted else fold(name.name)
    return fnmatch.fnmatchcase(shown, wanted)


def _sorted(found: Iterable[Relation]) -> list[Relation]:
    return sorted(found, key=lambda r: r.name.key)


def _texts(*names: str) -> list[ShownColumn]:
    return [ShownColumn(name, "VARCHAR") for name in names]


def _result(columns: Sequence[ShownColumn], rows: Sequence[Row]) -> ShownResult:
    return ShownResult("SHOW", len(rows), tuple(columns), iter(rows))
