"""The rows an UPDATE or DELETE chooses: its target joined with what else it names, each row once.

Handles FROM and USING lists, joins behind the target (``UPDATE t JOIN s``), ORDER BY, LIMIT. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.trees import Nodes, copy_tree
from journal.sql.sql import select
from rewriter.name_resolution import position_of
from rewriter.reading.around import rewrite_around
from rewriter.reading.listed_rows import list_rows
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.target import AliasedTable, key_columns


def sources_of(node: exp.Table, from_: exp.From | None) -> list[exp.Join]:
    """The joins that a target and a FROM clause bring, those behind the target first."""
    joins: list[exp.Join] = [copy_tree(j) for j in node.args.get("joins") or []]
    if from_ is not None:
        joins += source_joins(from_.this)
    return joins


def source_joins(source: exp.Expr) -> list[exp.Join]:
    """One relation of a FROM or USING list, as a cross join, and the joins behind it."""
    relation = copy_tree(source)
    behind = relation.args.pop("joins", None) or []
    return [exp.Join(this=relation, kind="CROSS"), *behind]


def chosen_rows(
    reads: Reads,
    target: AliasedTable,
    outputs: Sequence[exp.Expr],
    ast: exp.Expr,
    joins: Sequence[exp.Join],
    relation: exp.Subquery,
    *,
    behind_target: bool,
) -> exp.Select:
    """Old values of the chosen rows and ``outputs``, rewritten, each target row once.

    With ``behind_target`` the first join has the target before it. Else the target is the last, so
    that what the others compute cannot read its columns.
    """
    if ast.args.get("where") is not None:
        list_rows(Nodes.of(ast.args["where"]), reads.context)
    place = exp.Subquery(this=exp.Select(expressions=[exp.Literal.number(1)]))
    around = [exp.Join(this=place, kind="CROSS")]
    around = [*around, *joins] if behind_target else [*joins, *around]
    query = select([*target.old_values(), *outputs], around[0].this)
    query.set("joins", around[1:])
    for clause in ("where", "order", "limit"):
        found = ast.args.get(clause)
        if found is not None:
            query.set(clause, copy_tree(found))
    if joins:
        if ast.args.get("order") is not None or ast.args.get("limit") is not None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"ORDER BY or LIMIT in {ast.key.upper()} with several tables is not supported",
                advice="choose the rows with WHERE key IN (SELECT .. LIMIT ..)",
                position=position_of(ast),
            )
        number = exp.Window(this=exp.RowNumber(), partition_by=key_columns(target))
        query.set(
            "qualify", exp.Qualify(this=exp.EQ(this=number, expression=exp.Literal.number(1)))
        )
    if ast.args.get("with_") is not None:
        query.set("with_", copy_tree(ast.args["with_"]))
    rewrite_around(reads, query, relation, place)
    return query
