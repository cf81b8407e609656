"""ALTER TYPE .. RENAME VALUE: rows are written anew, with what the value is called now.

The past shows what it was called then. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.identity.descriptor import with_descriptors
from journal.model.distribution import with_distribution
from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import UserType
from journal.model.partitioning import with_partitioning
from journal.model.plan import Change, PutRelation, StatementKind, StatementPlan, Step
from journal.model.schema import Column, View
from journal.sql import dialects
from journal.sql.sql import cast
from rewriter.context import RewriteContext
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.dependent_views import with_texts
from rewriter.definitions.type_changes import changed_types, with_expressions
from rewriter.definitions.user_types import DECLARED, enum_text, find_type, uses_of
from rewriter.name_resolution import position_of
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.altered_rows import STAGE, altering_steps


def rename_value(
    found: UserType,
    labels: list[str],
    label: tuple[str, str],
    node: exp.Table,
    context: RewriteContext,
) -> StatementPlan:
    """The plan that gives a value of an enum, which has ``labels`` then, another name.

    Raises NOT_SUPPORTED for a value in lists, in types made of the enum, and in primary keys.
    """
    made = replace(found, type=enum_text(labels))
    steps, _, tables = changed_types(found, made, context)
    reads = Reads(context)
    for number, table in enumerate(tables):
        change = Alteration.of(table, context.capabilities.column_name)
        for use in uses_of([found.name], context):
            if use.table.id == table.id:
                _rename_in(change, use.column, made, found, label, node)
        new = replace(
            change.draft.table(table.id),
            comment=table.comment,
            properties=tuple(change.properties.items()),
            layout=context.new_table_id,
        )
        new = with_expressions(new, found.type, made.type, label)
        new = with_partitioning(with_descriptors(new, table), table)
        new = with_distribution(new, table)
        steps += altering_steps(reads, change, table, new, f"{STAGE}_{number}")
    steps += _renamed_in_views(found, label, context)
    plan = reads.plan(StatementKind.DDL, steps, None, "ALTER TYPE")
    return replace(plan, writes=frozenset(table.name for table in tables))


def _rename_in(
    change: Alteration,
    stored: Column,
    made: UserType,
    found: UserType,
    label: tuple[str, str],
    node: exp.Table,
) -> None:
    """Give a column the enum as it is now, and its rows the value's new name."""
    if stored.type != found.type:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f'a value of {found.name} cannot be renamed: column "{stored.name}" of'
            f" {change.table.name} holds it within {stored.type}",
            advice="ADD the new VALUE, UPDATE the rows, and leave the old one unused",
            position=position_of(node),
        )
    if stored.physical in change.draft.key:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f'a value of {found.name} cannot be renamed: column "{stored.name}" of'
            f" {change.table.name} is in the primary key",
            advice="ADD the new VALUE, UPDATE the rows, and leave the old one unused",
            position=position_of(node),
        )
    kind = exp.DataType.build(made.type, dialect="duckdb")
    kind.meta[DECLARED] = stored.declared
    text = cast(exp.column(stored.name, quoted=True), "VARCHAR")
    is_old = exp.EQ(this=text, expression=exp.Literal.string(label[0]))
    branch = exp.If(this=is_old, true=exp.Literal.string(label[1]))
    change.change_type(stored.name, kind, exp.Case(ifs=[branch], default=text.copy()), node)


def _renamed_in_views(
    found: UserType, label: tuple[str, str], context: RewriteContext
) -> list[Step]:
    """Steps for the views that cast the value to the enum."""
    steps: list[Step] = []
    for view in list(context.catalog.relations.values()):
        if not isinstance(view, View) or label[0] not in view.query:
            continue
        changed = with_texts(view, lambda text: _renamed(text, found, label, context))
        if changed != view:
            steps.append(Change(PutRelation(changed)))
    return steps


def _renamed(text: str, found: UserType, label: tuple[str, str], context: RewriteContext) -> str:
    """A query with the value's new name in the place of the old one; the same without it."""
    holder = exp.Paren(this=dialects.stored(text))
    casts = [c for c in holder.find_all(exp.Cast) if _is_of(c.to, found, context)]
    changed = [c for c in casts if isinstance(c.this, exp.Literal) and c.this.name == label[0]]
    for one in changed:
        one.set("this", exp.Literal.string(label[1]))
    return canonical_text(holder.this) if changed else text


def _is_of(kind: exp.Expr, found: UserType, context: RewriteContext) -> bool:
    if not isinstance(kind, exp.DataType) or kind.this is not exp.DType.USERDEFINED:
        return False
    return find_type(kind, context) == found
