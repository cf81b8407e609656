"""Changes tables and types that were declared with a type that changes. Pure."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import PutDefinition, UserType
from journal.model.plan import Change, PutRelation, Step
from journal.model.schema import CatalogSnapshot, Column, Table, TableName
from journal.sql import dialects
from rewriter.context import RewriteContext
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.layouts import changed_layout
from rewriter.definitions.user_types import (
    declared_type,
    enum_text,
    expanded_text,
    find_type,
    quoted_name,
    types_over,
    uses_of,
)
from rewriter.name_resolution import position_of


def changed_enum(found: UserType, labels: list[str], context: RewriteContext) -> list[Step]:
    """Steps that give an enum, and all that was declared with it, further values."""
    made = replace(found, type=enum_text(labels))
    steps, catalog, tables = changed_types(found, made, context)
    for table in tables:
        columns = tuple(
            _with_type(c, _expanded(c.declared, context, catalog)) if c.declared is not None else c
            for c in table.columns
        )
        put = with_expressions(replace(table, columns=columns), found.type, made.type)
        if changed_layout(table, put):
            put = replace(put, layout=context.new_table_id)
        steps.append(Change(PutRelation(put)))
    return steps


def changed_types(
    found: UserType, made: UserType, context: RewriteContext
) -> tuple[list[Step], CatalogSnapshot, list[Table]]:
    """Steps for a type that stands for something else now, and for the types declared with it.

    Also the catalog after these, and the tables with columns of one of them.
    """
    catalog = context.catalog.with_definition(made)
    steps: list[Step] = [Change(PutDefinition(made))]
    changed, left = {found.name.key}, types_over([found.name], context)
    while left:
        over = left.pop()
        if over.name.key in changed:
            continue
        changed.add(over.name.key)
        text = _expanded(over.declared or over.type, context, catalog)
        catalog = catalog.with_definition(replace(over, type=text))
        steps.append(Change(PutDefinition(replace(over, type=text))))
        left += types_over([over.name], context)
    names = [TableName(*key) for key in changed]
    tables = {use.table.id: use.table for use in uses_of(names, context)}
    return steps, catalog, list(tables.values())


def _with_type(stored: Column, kind: str) -> Column:
    """A column whose values have a type that holds all they had before."""
    if kind == stored.type:
        return stored
    earlier = tuple(k for k in stored.earlier_types if k != kind)
    return replace(stored, type=kind, earlier_types=(*earlier, stored.type))


def with_expressions(
    table: Table, old: str, new: str, label: tuple[str, str] | None = None
) -> Table:
    """A table whose defaults, checks, generated values and indexes cast to the enum as it is now.

    Else they would compare values of two enums, which the store does as texts. ``label``: one of
    its values, and what that is called now.
    """
    columns_of_it = {c.physical for c in table.columns if c.type == new}

    def changed(text: str | None, *, is_value: bool = False) -> str | None:
        if text is None or (old not in text and label is None):
            return text
        holder = exp.Paren(this=dialects.stored(text))
        for node in list(holder.find_all(exp.DataType)):
            if node.sql(dialect="duckdb") == old:
                node.replace(exp.DataType.build(new, dialect="duckdb"))
        for literal in list(holder.find_all(exp.Literal)) if label is not None else ():
            beside = literal.parent
            is_one = isinstance(beside, exp.Cast) and beside.to.sql(dialect="duckdb") == new
            is_one = is_one or (beside is holder and is_value)
            is_one = is_one or _stands_beside(literal, columns_of_it)
            if label is not None and is_one and literal.is_string and literal.name == label[0]:
                literal.replace(exp.Literal.string(label[1]))
        return canonical_text(holder.this)

    columns = [
        replace(
            c,
            default=changed(c.default, is_value=c.physical in columns_of_it),
            generated=changed(c.generated),
        )
        for c in table.columns
    ]
    checks = [replace(c, expression=changed(c.expression) or "") for c in table.checks]
    indexes = [
        replace(
            index,
            terms=tuple(replace(t, text=changed(t.text) or "") for t in index.terms),
            predicate=changed(index.predicate),
        )
        for index in table.indexes
    ]
    return replace(table, columns=tuple(columns), checks=tuple(checks), indexes=tuple(indexes))


def _stands_beside(node: exp.Expr, columns: set[str]) -> bool:
    """True for what is compared with one of some columns."""
    if not isinstance(node.parent, exp.Binary | exp.In | exp.Between):
        return False
    beside = node.parent.iter_expressions()
    return any(isinstance(n, exp.Column) and n.name in columns for n in beside)


def _expanded(declared: str, context: RewriteContext, catalog: CatalogSnapshot) -> str:
    return expanded_text(declared_type(declared), replace(context, catalog=catalog))[0]


def renamed_type(old: UserType, new: UserType, context: RewriteContext) -> list[Step]:
    """Steps that let a type have another name wherever it was declared."""
    steps: list[Step] = [Change(PutDefinition(new, old))]
    for over in types_over([old.name], context):
        declared = _with_name(over.declared or "", old, new, context)
        steps.append(Change(PutDefinition(replace(over, declared=declared))))
    for table in {use.table.id: use.table for use in uses_of([old.name], context)}.values():
        columns = tuple(
            replace(c, declared=_with_name(c.declared, old, new, context)) if c.declared else c
            for c in table.columns
        )
        steps.append(Change(PutRelation(replace(table, columns=columns))))
    return steps


def _with_name(declared: str, old: UserType, new: UserType, context: RewriteContext) -> str:
    kind = exp.Paren(this=declared_type(declared))
    for node in kind.find_all(exp.DataType):
        found = find_type(node, context) if node.this is exp.DType.USERDEFINED else None
        if found is not None:
            same = found.name.key == old.name.key
            node.set("kind", quoted_name(new.name if same else found.name))
    return str(kind.this.sql(dialect="duckdb"))


def without_types(gone: list[UserType], context: RewriteContext) -> list[Step]:
    """Steps that let what was declared with types keep what these stood for."""
    names = [found.name for found in gone]
    keys = {name.key for name in names}
    steps: list[Step] = [
        Change(PutDefinition(replace(over, declared=None)))
        for over in types_over(names, context)
        if over.name.key not in keys
    ]
    tables: dict[int, Table] = {}
    for use in uses_of(names, context):
        known = tables.get(use.table.id, use.table)
        columns = tuple(
            replace(c, declared=None) if c.physical == use.column.physical else c
            for c in known.columns
        )
        tables[use.table.id] = replace(known, columns=columns)
    return [*steps, *(Change(PutRelation(table)) for table in tables.values())]


def without_columns(names: list[TableName], context: RewriteContext) -> list[Step]:
    """Steps that drop the columns declared with types; raises for types declared with them."""
    over = types_over(names, context)
    if over:
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"type {over[0].name} was declared with it",
            advice="drop that type first",
        )
    changes: dict[int, Alteration] = {}
    for use in uses_of(names, context):
        change = changes.setdefault(
            use.table.id, Alteration.of(use.table, context.capabilities.column_name)
        )
        node = exp.Drop(kind="COLUMN", cascade=True)
        change.drop_column(use.column.name, node)
    steps: list[Step] = []
    for table_id, change in changes.items():
        made = change.draft.table(table_id)
        properties = tuple(change.properties.items())
        layout = context.new_table_id
        put = replace(made, comment=change.table.comment, properties=properties, layout=layout)
        steps.append(Change(PutRelation(put)))
    return steps


def check_type_unused(names: list[TableName], context: RewriteContext, node: exp.Expr) -> None:
    """Raise DEPENDENT_OBJECTS if columns or types were declared with types."""
    for use in uses_of(names, context):
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f'column "{use.column.name}" of {use.table.name} has the type {use.column.declared}',
            advice="change the column's type first, or use CASCADE, which drops the column",
            position=position_of(node),
        )
    for over in types_over(names, context):
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f"type {over.name} was declared with it",
            advice="drop that type first",
            position=position_of(node),
        )
