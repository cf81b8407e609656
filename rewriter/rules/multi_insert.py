"""Hive's multi-table insert: ``FROM s INSERT INTO a SELECT .. INSERT OVERWRITE b SELECT ..``.

The source is evaluated once and staged; each branch then reads it. Branches into one table are one
insert of all their rows. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query, Stage, Step
from rewriter.name_resolution import position_of
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.statement_part import PartNames, staged_relation


def branches_of(
    ast: exp.MultitableInserts, reads: Reads, part: PartNames
) -> tuple[list[Step], list[exp.Insert]]:
    """The step that stages the source, and the inserts that read it."""
    source = ast.args["source"]
    if isinstance(source, exp.From):
        source = source.this
    name = part.relation_name("shared")
    query = exp.select("*").from_(source.copy())
    if ast.args.get("with_") is not None:
        query.set("with_", ast.args["with_"].copy())
    holder = exp.Subquery(this=query)
    reads.rewrite(holder)
    inserts: list[exp.Insert] = []
    for insert in ast.expressions:
        select = insert.expression
        if not isinstance(insert, exp.Insert) or not isinstance(select, exp.Select):
            raise _refusal("each branch must be INSERT .. SELECT", insert)
        if select.args.get("from_") is not None:
            raise _refusal("a branch has no FROM of its own", insert)
        copy = insert.copy()
        copy.expression.set(
            "from_", exp.From(this=staged_relation(name, source.alias_or_name or "s"))
        )
        if ast.args.get("with_") is not None:
            copy.set("with_", ast.args["with_"].copy())
        _add_insert(inserts, copy)
    return [Stage(name, Query.of(holder.this))], inserts


def _add_insert(inserts: list[exp.Insert], insert: exp.Insert) -> None:
    """Keep an insert, or join it with an earlier one into the same table."""
    for earlier in inserts:
        if _table(earlier) != _table(insert):
            continue
        alike = earlier.this == insert.this and not insert.args.get("overwrite")
        if not alike or earlier.args.get("overwrite"):
            raise _refusal("two branches write one table in different ways", insert)
        both = exp.union(earlier.expression, insert.expression, distinct=False, copy=False)
        earlier.set("expression", both)
        return
    inserts.append(insert)


def _table(insert: exp.Insert) -> tuple[str, str]:
    node = insert.this.this if isinstance(insert.this, exp.Schema) else insert.this
    return (node.db.casefold(), node.name.casefold())


def _refusal(message: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        message,
        advice="see docs/sql.md for multi-table inserts",
        position=position_of(node),
    )
