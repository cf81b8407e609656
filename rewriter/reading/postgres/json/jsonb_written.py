"""Constants of jsonb, which statements write as PostgreSQL spells them. Pure.

'{"b":1, "a":2}'::jsonb                     '{"a": 2, "b": 1}'
INSERT INTO t (j) VALUES ('[1,2]')          [1, 2], in a column that was declared jsonb
UPDATE t SET j = '[1,2]'
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.schema import Column
from journal.sql.jsonb_text import jsonb_text
from rewriter.reading.inserted_columns import inserted_columns, target_table
from rewriter.reading.postgres.json.jsonb_forms import respelled
from rewriter.reading.postgres.rows import is_assignment
from rewriter.reading.taken_types import AS_WRITTEN
from rewriter.reading.value_types import ValueTypes


def writes_jsonb(tree: exp.Expr, types: ValueTypes) -> bool:
    """True for a statement with constants of jsonb that are not spelled as PostgreSQL does."""
    return next(_constants(tree, types), None) is not None


def spell_constants(tree: exp.Expr, types: ValueTypes) -> None:
    """Spell what is cast to jsonb, and what is put into its columns, in place."""
    for text in list(_constants(tree, types)):
        text.replace(respelled(text))


def _constants(tree: exp.Expr, types: ValueTypes) -> Iterator[exp.Expr]:
    for text in _jsonb_texts(tree, types):
        if text.is_string and jsonb_text(text.name) != text.name:
            yield text


def _jsonb_texts(tree: exp.Expr, types: ValueTypes) -> Iterator[exp.Expr]:
    for node in tree.find_all(exp.Cast, exp.Insert, exp.EQ, exp.ColumnDef):
        if isinstance(node, exp.Cast):
            if node.to.this is exp.DType.JSONB:
                yield node.this.unnest()
        elif isinstance(node, exp.Insert):
            yield from _inserted(node, types)
        elif isinstance(node, exp.ColumnDef):
            if node.kind is not None and node.kind.this is exp.DType.JSONB:
                defaults = (constraint.kind for constraint in node.args.get("constraints") or ())
                yield from (d.this for d in defaults if isinstance(d, exp.DefaultColumnConstraint))
        elif is_assignment(node) and isinstance(node.this, exp.Column):
            written = node.find_ancestor(exp.Merge) or node.find_ancestor(exp.Update, exp.Insert)
            table = None if written is None else target_table(written, types.context)
            column = None if table is None else table.find(node.this.name)
            if column is not None and _is_declared_jsonb(column):
                yield node.expression.unnest()


def _inserted(insert: exp.Insert, types: ValueTypes) -> Iterator[exp.Expr]:
    """What an INSERT with VALUES puts into columns of jsonb."""
    rows = insert.expression
    if not isinstance(rows, exp.Values):
        return
    columns = inserted_columns(insert, types.context)
    places = [p for p, c in enumerate(columns) if c is not None and _is_declared_jsonb(c)]
    for row in rows.expressions if places else ():
        for place in places:
            if place < len(row.expressions):
                yield row.expressions[place].unnest()


def _is_declared_jsonb(column: Column) -> bool:
    return column.type == "JSON" and column.spelled != AS_WRITTEN
