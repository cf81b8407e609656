"""The plain table of a logical one: its clauses, and what it cannot express.

NOT NULL, defaults, generated numbers, keys, constraints, comments: each is an action of ALTER TABLE
or a statement of its own, which nothing of the gateway's must be left in. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.model.foreign_key import ForeignKey
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import CatalogSnapshot, Column, Identity, Index, Table, fold
from journal.sql import dialects
from journal.sql.relations import ident
from journal.sql.unique_keys import index_parameters
from journal.stores.postgres.adopt.original_definition import (
    TextColumn,
    indexes_before,
    not_kept_from_before,
    same_columns,
    texts_before,
)
from journal.stores.postgres.dialect.text import quoted_text, rendered

_WHOLE_NUMBERS = {"SMALLINT", "INT", "INTEGER", "BIGINT"}
NextNumber = Callable[[Column, Identity], int]
"""The number that a column is given next."""


@dataclass(frozen=True, slots=True)
class TableClause:
    """A statement that gives a plain table something, which ``what`` names."""

    what: str
    sql: str


@dataclass(frozen=True, slots=True)
class Lost:
    """What a plain table cannot have, in words."""

    said: str

    def __str__(self) -> str:
        return f"not kept: {self.said}"


def quote_folded(name: str) -> str:
    """A name as PostgreSQL's text has it: folded."""
    return str(rendered(ident(name)).sql)


@dataclass(frozen=True, slots=True)
class PlainTable:
    """A logical table that is to be plain: as whose ``place``, and its rows lying ``by`` columns.

    ``by`` is empty where rows lie nowhere in particular.
    """

    table: Table
    by: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Its name in SQL."""
        return ".".join(
            quote_folded(part) for part in (self.table.name.schema, self.table.name.name)
        )


def clauses(
    plain: PlainTable, catalog: CatalogSnapshot, number: NextNumber
) -> Iterator[TableClause | Lost]:
    """What makes a table of a logical table's rows like it, in order."""
    table = plain.table
    texts = {t.column: t for t in texts_before(table)}
    watched = {t.check for t in texts.values()}
    yield from _texts(plain, texts)
    for column in table.columns:
        if column.not_null:
            yield _altered(plain, f"NOT NULL of {column.name}", column, "SET NOT NULL")
        yield from _values(plain, column, number)
    if not table.hidden_key:
        yield _key(plain, "the primary key", table.key_name, "PRIMARY KEY", table.key)
    for unique in table.uniques:
        kind = "PRIMARY KEY" if unique.primary and table.hidden_key else "UNIQUE"
        what = f'constraint "{unique.name}"'
        yield _key(plain, what, unique.name, kind, unique.columns)
    for index in table.indexes:
        yield _index(plain, index)
    for check in table.checks:
        if check.name in watched:
            continue
        start = f"ALTER TABLE {plain.place} ADD CONSTRAINT {quote_folded(check.name)} CHECK"
        found = _named(table, check.expression)
        yield _expression(f'constraint "{check.name}"', found, start, exp.Paren(this=found))
    for key in table.foreign_keys:
        yield _reference(plain, key, catalog)
    yield from _comments(plain)
    yield from _indexes(plain)
    yield from map(Lost, not_kept_from_before(table))


def lost_to_view(table: Table) -> Iterator[Lost]:
    """What a table promised that the view which takes its place again does not."""
    names = [c.name for c in table.uniques]
    names += [c.name for c in table.checks] + [c.name for c in table.foreign_keys]
    for what in [
        *(f'constraint "{n}"' for n in names),
        *(f"index {i.name}" for i in table.indexes),
    ]:
        yield Lost(f"{what}, since {table.name} is a view again")


def _texts(plain: PlainTable, texts: Mapping[str, TextColumn]) -> Iterator[TableClause]:
    """Types of texts as they were, unless their length has been given up, or their type."""
    checks = {check.name for check in plain.table.checks}
    for column in plain.table.columns:
        text = texts.get(column.physical)
        if text is None or column.earlier_types or not {text.check} <= {None, *checks}:
            continue
        action = f"TYPE {text.type}"
        yield _altered(plain, f"the type {text.type} of {column.name}", column, action)


def _altered(plain: PlainTable, what: str, column: Column, action: str) -> TableClause:
    start = f"ALTER TABLE {plain.place} ALTER COLUMN {quote_folded(column.name)}"
    return TableClause(what, f"{start} {action}")


def _values(plain: PlainTable, column: Column, number: NextNumber) -> Iterator[TableClause | Lost]:
    """Where the values of a column come from that an INSERT leaves out."""
    what = f"numbers for column {column.name}"
    if column.generated is not None:
        yield Lost(f"column {column.name} is computed no more; it has the values it had")
    elif column.identity is not None and column.type not in _WHOLE_NUMBERS:
        yield Lost(f"{what}, whose type is {column.type}")
    elif column.identity is not None:
        how = "ALWAYS" if column.identity.always else "BY DEFAULT"
        start = number(column, column.identity)
        limits = f"START WITH {start} INCREMENT BY {column.identity.increment}"
        yield _altered(plain, what, column, f"ADD GENERATED {how} AS IDENTITY ({limits})")
    elif column.default is not None:
        found = _named(plain.table, column.default)
        begin = _altered(plain, "", column, "SET DEFAULT").sql
        yield _expression(f"the default of column {column.name}", found, begin, found)


def _key(
    plain: PlainTable, what: str, name: str | None, kind: str, columns: tuple[str, ...]
) -> TableClause | Lost:
    """A constraint that no segment could watch over where rows are spread by other columns."""
    if not set(plain.by) <= set(columns):
        return Lost(f"{what}, since its rows are spread by other columns")
    named = "" if name is None else f"CONSTRAINT {quote_folded(name)} "
    listed = _list(plain.table, columns)
    return TableClause(what, f"ALTER TABLE {plain.place} ADD {named}{kind} ({listed})")


def _index(plain: PlainTable, index: Index) -> TableClause | Lost:
    """CREATE INDEX; a unique one can be watched over where its rows are spread by its columns."""
    what = f"index {index.name}"
    if index.unique and not set(plain.by) <= {t.text for t in index.terms if t.is_column}:
        return Lost(f"{what}, since its rows are spread by other columns")
    kind = "UNIQUE INDEX" if index.unique else "INDEX"
    start = f"CREATE {kind} {quote_folded(index.name)} ON {plain.place}"
    names = {c.physical: c.name for c in plain.table.columns}
    found = index_parameters(index, lambda name: exp.Column(this=ident(names[name])))
    return _expression(what, found, start, found)


def _list(table: Table, columns: tuple[str, ...]) -> str:
    return ", ".join(quote_folded(table.by_physical(c).name) for c in columns)


def _named(table: Table, expression: str) -> exp.Expr:
    """An expression over physical columns, over the names that clients see."""
    names = {fold(c.physical): c.name for c in table.columns}
    holder = exp.Paren(this=dialects.stored(expression))
    for node in list(holder.find_all(exp.Column)):
        node.replace(exp.Column(this=ident(names.get(fold(node.name), node.name))))
    found = holder.this
    assert isinstance(found, exp.Expr)
    return found.pop()


def _expression(what: str, found: exp.Expr, start: str, written: exp.Expr) -> TableClause | Lost:
    """A clause that ends in an expression, unless only the gateway can compute it."""
    try:
        text = rendered(written).sql
    except PalimpsestError as error:
        return Lost(f"{what}: {error.message}: {_unquoted_text(found)}")
    if f'"{STORE_SCHEMA}"' in text:
        return Lost(f"{what}, which calls functions of the gateway: {_unquoted_text(found)}")
    return TableClause(what, f"{start} {text}")


def _unquoted_text(found: exp.Expr) -> str:
    shown = found.copy()
    for name in shown.find_all(exp.Identifier):
        name.set("quoted", False)
    return str(shown.sql(dialect="postgres"))


def _reference(plain: PlainTable, key: ForeignKey, catalog: CatalogSnapshot) -> TableClause | Lost:
    table, what = plain.table, f'constraint "{key.name}"'
    parent = table if key.parent == table.id else catalog.by_id(key.parent)
    assert parent is not None, "a foreign key has a parent"
    sql = (
        f"ALTER TABLE {plain.place} ADD CONSTRAINT {quote_folded(key.name)}"
        f" FOREIGN KEY ({_list(table, key.columns)})"
        f" REFERENCES {PlainTable(parent).place} ({_list(parent, key.parent_columns)})"
    )
    sql = " ".join([sql, *key.options])
    if parent is table:
        return TableClause(what, sql)
    why = f"since {parent.name} is a view while it is in the gateway's care"
    return Lost(f"{what}, {why}; afterwards: {sql}")


def _comments(plain: PlainTable) -> Iterator[TableClause]:
    table = plain.table
    if table.comment is not None:
        yield TableClause(
            "its comment", f"COMMENT ON TABLE {plain.place} IS {quoted_text(table.comment)}"
        )
    for column in table.columns:
        if column.comment is not None:
            place = f"{plain.place}.{quote_folded(column.name)}"
            sql = f"COMMENT ON COLUMN {place} IS {quoted_text(column.comment)}"
            yield TableClause(f"the comment of {column.name}", sql)


def _indexes(plain: PlainTable) -> Iterator[TableClause | Lost]:
    for index in indexes_before(plain.table):
        if index.fits(same_columns(plain.table)):
            sql = f"CREATE INDEX {quote_folded(index.name)} ON {plain.place} {index.body}"
            yield TableClause(f"index {index.name}", sql)
        else:
            yield Lost(f"index {index.name}, whose columns have changed: {index.body}")
