"""Tables described for people and tools: DESCRIBE's rows, constraints, the CREATE TABLE they had.

Reads definitions and nothing else. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from journal.model.schema import CatalogSnapshot, Column, Identity, Index, Reference, Table, View
from journal.sql import dialects
from journal.sql.native_words import shown_text
from journal.sql.relations import collated, ident
from journal.sql.sql import expression
from journal.sql.unique_keys import index_parameters
from rewriter.definitions.generated_values import present_value
from rewriter.definitions.shown_properties import comment_option, with_options

Constraint = tuple[str, str, Sequence[str]]
_WORD = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|DECIMAL\([^)]*\)|[A-Za-z_][A-Za-z_0-9]*""")
"""A name, a label of an enum, or a DECIMAL with its digits."""
_SHOWN = {
    "INT": "INTEGER",
    "TEXT": "VARCHAR",
    "REAL": "FLOAT",
    "BOOL": "BOOLEAN",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
    "TIMETZ": "TIME WITH TIME ZONE",
    "VARBINARY": "BLOB",
    "INT128": "HUGEINT",
    "UINT128": "UHUGEINT",
}


def shown_type(kind: str) -> str:
    """A type under the name the embedded store gives it in results."""
    return _WORD.sub(lambda m: _shown_word(m[0]), kind)


def _shown_word(word: str) -> str:
    if not word.startswith("DECIMAL("):
        return _SHOWN.get(word, word)
    digits, _, scale = word[8:-1].partition(",")
    return f"DECIMAL({digits.strip()},{scale.strip() or 0})"


def constraint_rows(table: Table) -> Iterator[Constraint]:
    """Kind, name and logical columns of each constraint."""
    names = {c.physical: c.name for c in table.columns}
    if not table.hidden_key:
        yield "PRIMARY KEY", key_name(table), [names[p] for p in table.key]
    for unique in table.uniques:
        kind = "PRIMARY KEY" if unique.primary else "UNIQUE"
        yield kind, unique.name, [names[p] for p in unique.columns]
    for check in table.checks:
        yield "CHECK", check.name, []
    for key in table.foreign_keys:
        yield "FOREIGN KEY", key.name, [names[p] for p in key.columns]


def referred_constraint(reference: Reference) -> Constraint | None:
    """What makes the columns unique that a foreign key refers to; None: a unique index does."""
    parent = reference.parent
    wanted = {parent.by_physical(p).name for p in reference.key.parent_columns}
    unique = (c for c in constraint_rows(parent) if c[0] in {"PRIMARY KEY", "UNIQUE"})
    return next((c for c in unique if set(c[2]) == wanted), None)


def key_name(table: Table) -> str:
    """The name of the primary key."""
    return table.key_name or f"{table.name.name}_pkey"


def referenced_default(found: Table | View, column: Column) -> str | None:
    """The default as SQL text; a generated number shows as the next value of its column."""
    if column.identity is not None and isinstance(found, Table):
        return f"nextval('{found.name.name}_{column.name}_seq')"
    return None if column.default is None else shown_text(column.default)


def describe_rows(table: Table) -> list[tuple[str | None, ...]]:
    """Name, type, null, key, default and extra of each column, as DESCRIBE shows them."""
    primary = {p for u in table.uniques if u.primary for p in u.columns} | set(table.key)
    unique = {u.columns[0] for u in table.uniques if len(u.columns) == 1}
    rows: list[tuple[str | None, ...]] = []
    for column in table.columns:
        in_key = column.physical in primary
        key = "PRI" if in_key else "UNI" if column.physical in unique else None
        null = "NO" if in_key or column.not_null else "YES"
        extra = "auto_increment" if column.identity is not None else None
        default = None if column.default is None else shown_text(column.default)
        rows.append((column.name, shown_type(column.type), null, key, default, extra))
    return rows


def generation_text(table: Table, column: Column) -> str | None:
    """The expression of a generated column over the columns' present names; None for others."""
    value = present_value(table, column)
    if value is None:
        return None
    for used in value.find_all(exp.Column):
        used.this.set("quoted", not used.name.isidentifier())
    return str(value.sql(dialect="duckdb"))


def create_table(table: Table, catalog: CatalogSnapshot, *, temporary: bool = False) -> str:
    """The CREATE TABLE that makes a table like this one, in the canonical dialect.

    ``catalog`` tells what its foreign keys refer to.
    """
    names = {c.physical: c.name for c in table.columns}
    parts: list[exp.Expr] = [_column(table, c) for c in table.columns]
    for kind, name, columns in constraint_rows(table):
        if kind in {"PRIMARY KEY", "UNIQUE"}:
            identifiers = [ident(c) for c in columns]
            body: exp.Expr = exp.UniqueColumnConstraint(this=exp.Schema(expressions=identifiers))
            if kind == "PRIMARY KEY":
                body = exp.PrimaryKey(expressions=identifiers)
            shown = kind == "PRIMARY KEY" and table.key_name is None and not table.hidden_key
            parts.append(body if shown else exp.Constraint(this=ident(name), expressions=[body]))
    for check in table.checks:
        condition = dialects.stored(check.expression)
        for used in condition.find_all(exp.Column):
            used.set("this", ident(names.get(used.name, used.name)))
        parts.append(
            exp.Constraint(
                this=ident(check.name), expressions=[exp.CheckColumnConstraint(this=condition)]
            )
        )
    for reference in catalog.references.get(table.id, ()):
        if reference.child.id == table.id:
            parts.append(_foreign_key(reference))
    target = exp.Table(this=ident(table.name.name), db=ident(table.name.schema))
    schema = exp.Schema(this=target, expressions=parts)
    made = with_options(schema, table)
    return _create_statement(made, "TABLE", None, temporary=temporary)


def create_index(table: Table, index: Index) -> str:
    """The CREATE INDEX that makes an index of a table, in the canonical dialect."""
    names = {c.physical: c.name for c in table.columns}
    params = index_parameters(index, lambda name: exp.column(_readable(names[name])), index.method)
    target = exp.Table(this=_readable(table.name.name), db=_readable(table.name.schema))
    node = exp.Index(this=_readable(index.name), table=target, params=params)
    created = exp.Create(this=node, kind="INDEX", unique=index.unique)
    return str(created.sql(dialect="duckdb", normalize_functions="lower"))


def _readable(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=not name.isidentifier() or name != name.lower())


def _create_statement(
    target: exp.Expr, kind: str, query: exp.Expr | None, *, temporary: bool
) -> str:
    created = exp.Create(this=target, kind=kind, expression=query)
    if temporary:
        created.set("properties", exp.Properties(expressions=[exp.TemporaryProperty()]))
    return created.sql(dialect="duckdb", pretty=True)


def create_view(view: View, *, temporary: bool = False) -> str:
    """The CREATE VIEW that makes this view."""
    target: exp.Expr = exp.Table(this=ident(view.name.name), db=ident(view.name.schema))
    if view.columns:
        target = exp.Schema(this=target, expressions=[ident(c) for c in view.columns])
    query = dialects.stored(view.shown_query)
    return _create_statement(target, "VIEW", query, temporary=temporary)


def create_materialized(table: Table) -> str:
    """The CREATE MATERIALIZED VIEW that makes this one."""
    assert table.materialized is not None
    name = exp.Table(this=ident(table.name.name), db=ident(table.name.schema))
    target = exp.Schema(this=name, expressions=[ident(c.name) for c in table.columns])
    query = dialects.stored(table.materialized.shown_query)
    return _create_statement(target, "MATERIALIZED VIEW", query, temporary=False)


def _foreign_key(reference: Reference) -> exp.Constraint:
    child, parent, key = reference.child, reference.parent, reference.key
    named = exp.Table(this=ident(parent.name.name), db=ident(parent.name.schema))
    theirs = [ident(parent.by_physical(p).name) for p in key.parent_columns]
    schema = exp.Schema(this=named, expressions=theirs)
    target = exp.Reference(this=schema, options=key.options)
    mine = [ident(child.by_physical(p).name) for p in key.columns]
    body = exp.ForeignKey(expressions=mine, reference=target)
    return exp.Constraint(this=ident(key.name), expressions=[body])


def _column(table: Table, column: Column) -> exp.ColumnDef:
    found: list[exp.Expr] = []
    made = generation_text(table, column)
    if made is not None:
        value = exp.paren(expression(made))
        found.append(exp.ComputedColumnConstraint(this=value))
    if column.collation is not None:
        order = collated(exp.Null(), column).args["expression"]
        found.append(exp.CollateColumnConstraint(this=order))
    if column.identity is not None:
        found.append(_identity(column.identity))
    elif column.not_null:
        found.append(exp.NotNullColumnConstraint())
    if column.default is not None:
        default = dialects.stored(column.default)
        found.append(exp.DefaultColumnConstraint(this=default))
    if column.comment is not None:
        found.append(comment_option(column.comment))
    wrapped = [exp.ColumnConstraint(kind=c) for c in found]
    kind = exp.DataType.build(column.type, dialect="duckdb", udt=True)
    return exp.ColumnDef(this=ident(column.name), kind=kind, constraints=wrapped)


def _identity(identity: Identity) -> exp.Expr:
    return exp.GeneratedAsIdentityColumnConstraint(
        this=identity.always,
        start=exp.Literal.number(identity.start),
        increment=exp.Literal.number(identity.increment),
    )
