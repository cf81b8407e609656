"""An executemany of UPDATE or DELETE as one statement: the table joined with the parameter rows.

Only where that is the same as running them one after another: each row of parameters names the
whole key of the row it changes, no key changes, and nothing else is looked at. A key that is named
twice is found by a guard. For everything else ROW_TWICE says that the rows must take turns. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import BATCH, USER_PARAMETER, Guard, Query, Stage, Step
from journal.model.schema import Table, fold
from journal.model.triggers import UPDATE
from journal.sql.relations import column
from journal.sql.sql import limited, named_table, select
from rewriter.definitions.cascade_order import cascade_turns
from rewriter.definitions.generated_values import with_generated
from rewriter.reading.around import rewrite_around
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import ChangeSet, old_name
from rewriter.writing.returning import ReturningClause
from rewriter.writing.row_triggers import firing
from rewriter.writing.statement_part import StatementPart, finish_part, staged_relation
from rewriter.writing.target import AliasedTable

_ROWS = "_palimpsest_batch"
_ALONE = ("from_", "using", "tables", "with_", "returning", "order", "limit")


def write_batch(
    ast: exp.Update | exp.Delete,
    reads: Reads,
    target: AliasedTable,
    outputs: Sequence[exp.Expr],
    changes: ChangeSet,
) -> StatementPart:
    """The part that changes what all rows of parameters name; ``outputs`` are the new values."""
    if not _is_independent(ast, reads, target, changes):
        raise PalimpsestError(
            Code.ROW_TWICE,
            "several rows of parameters may change the same row",
            advice="run the statement for one after another",
        )
    where = ast.args["where"].copy()
    for tree in (*outputs, where):
        for node in list(tree.find_all(exp.Placeholder)):
            if node.name.startswith(USER_PARAMETER):
                node.replace(column(node.name, _ROWS))
    nothing = exp.Subquery(this=exp.Select(expressions=[exp.Literal.number(1)]))
    query = select([*target.old_values(), *outputs], nothing)
    query.append("joins", exp.Join(this=staged_relation(BATCH, _ROWS), kind="CROSS"))
    query.set("where", where)
    rewrite_around(reads, query, target.relation(reads))
    steps: list[Step] = [Stage(changes.stage, Query.of(query)), _named_twice(changes)]
    return finish_part(reads, changes, steps, ast.key.upper(), ReturningClause(None, target.alias))


def _is_independent(ast: exp.Expr, reads: Reads, target: AliasedTable, changes: ChangeSet) -> bool:
    """True if each row of parameters concerns the row of its own key alone."""
    where = ast.args.get("where")
    if where is None or any(ast.args.get(a) for a in _ALONE) or ast.this.args.get("joins"):
        return False
    if any(ast.find_all(exp.Query)):
        return False
    table = target.table
    if any(fold(c.name).startswith(USER_PARAMETER) for c in table.columns):
        return False
    references = reads.context.catalog.references.get(table.id, ())
    if any(r.child.id == r.parent.id for r in references):
        return False
    if changes.begins is False and _comes_back(reads, table):
        return False
    # A trigger may write any column.
    written = changes.written if not firing(table, (UPDATE,)) else table.unique_columns
    if changes.begins is not False and table.unique_columns & written:
        return False
    keys = target.keys_in(where.this, reads.context.kinds, alone=True)
    return keys is not None and any(v.find(exp.Placeholder) for v in keys.values())


def _comes_back(reads: Reads, table: Table) -> bool:
    """True if actions of foreign keys may change further rows of the table itself."""
    references = reads.context.catalog.references
    turns = cascade_turns(references, {table.id}, {}, with_generated) if references else []
    return any(turn.child.id == table.id for turn in turns)


def _named_twice(changes: ChangeSet) -> Guard:
    places = {c.physical: i for i, c in enumerate(changes.table.stored)}
    keys = [column(old_name(places[k]), "s") for k in changes.table.key]
    query = select([exp.Literal.number(1)], named_table(changes.stage, "s"))
    query = query.group_by(*keys, copy=False)
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    found = limited(query.having(many, copy=False))
    return Guard(
        Query.of(found),
        Code.ROW_TWICE,
        "two rows of parameters change the same row",
        "run the statement for one after another",
    )
