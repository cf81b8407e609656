"""RETURNING: the changed rows as the client's expressions see them. Pure.

New values of rows that begin, old values of rows that only end. Columns of other relations of the
statement (``UPDATE .. FROM s .. RETURNING s.x``) and the action of a MERGE are staged beside the
change under hidden names, which stars leave out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Column, Table, fold
from journal.model.trees import is_nested
from journal.sql.relations import column, ident
from rewriter.reading.around import rewrite_around
from rewriter.reading.policies.security import RowSecurity
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import ChangeSet, old_name
from rewriter.writing.target import AliasedTable

ACTION = "_palimpsest_action"
"""Staged name of what a MERGE did to a row: INSERT, UPDATE or DELETE."""
_EXTRA = "_palimpsest_extra_"


@dataclass(slots=True)
class ReturningClause:
    """What a statement's RETURNING asks for; ``alias`` is what its row goes by.

    ``old``: deleted rows, so old values. ``with_``: CTEs its subqueries may name. ``only``: the
    staged column that says which rows are returned and counted; None: all. ``table`` is the one
    that is changed, where it is known.
    """

    node: exp.Returning | None
    alias: str
    old: bool = False
    with_: exp.With | None = None
    only: str | None = None
    table: Table | None = None
    hidden: list[str] = field(default_factory=list)

    @staticmethod
    def of(ast: exp.Expr, target: AliasedTable, *, old: bool = False) -> ReturningClause:
        """The RETURNING clause of a writing statement."""
        given = ast.args
        return ReturningClause(
            given.get("returning"), target.alias, old, given.get("with_"), table=target.table
        )

    def extras(self) -> list[exp.Expr]:
        """Projections that stage the columns of other relations; the expressions then use them."""
        if self.node is None:
            return []
        found: list[exp.Expr] = []
        for used in list(self.node.find_all(exp.Column)):
            if not self._is_foreign(used) or isinstance(used.this, exp.Star):
                continue
            if is_nested(used, self.node):
                continue
            name = f"{_EXTRA}{len(self.hidden)}"
            self.hidden.append(name)
            found.append(exp.alias_(used.copy(), name))
            replacement: exp.Expr = column(name, self.alias)
            if used.parent is self.node:
                replacement = exp.alias_(replacement, used.this.copy())
            used.replace(replacement)
        return found

    def _is_foreign(self, used: exp.Column) -> bool:
        """True for a column of another relation; ``c.f`` may be field f of the row's own c."""
        owner = fold(used.parts[0].name)
        if not used.table or owner == fold(self.alias):
            return False
        if self.table is None or self.table.find(owner) is None or self.node is None:
            return True
        statement = self.node.parent
        sources = () if statement is None else statement.find_all(exp.Table, exp.Subquery)
        return any(fold(source.alias_or_name) == owner for source in sources)


def returning_query(reads: Reads, changes: ChangeSet, result: ReturningClause) -> Query | None:
    """The query of RETURNING over the staged change set; None without one."""
    if result.node is None:
        return None
    _check_outputs(result.node, [c.name for c in changes.table.columns])
    outputs: list[exp.Expr] = [
        exp.alias_(_value(changes, index, stored, result), ident(stored.name))
        for index, stored in enumerate(changes.table.columns)
    ]
    outputs += [column(name, "s") for name in result.hidden]
    rows = exp.select(*outputs).from_(exp.alias_(exp.to_table(changes.stage), "s", table=True))
    if result.only is not None:
        rows = rows.where(column(result.only, "s"))
    policies = RowSecurity.of(changes.table, reads.context)
    if policies is not None:
        names = [c.name for c in changes.table.columns]
        rows = policies.shown_rows(rows, [*names, *result.hidden], filters=False)
    query = exp.select(*_expressions(result.node, result.hidden))
    query = query.from_(exp.Subquery(this=exp.select("1")), copy=False)
    if result.with_ is not None and query.find(exp.Subquery, exp.Exists, exp.In) is not None:
        query.set("with_", result.with_.copy())
    alias = exp.TableAlias(this=ident(result.alias))
    rewrite_around(reads, query, exp.Subquery(this=rows, alias=alias))
    return Query.of(query)


def _check_outputs(node: exp.Returning, names: Sequence[str]) -> None:
    """Raise BIND for stars that leave out all columns."""
    for output in node.expressions:
        star = output.this if isinstance(output, exp.Column) else output
        left_out = star.args.get("except_") if isinstance(star, exp.Star) else None
        if not left_out or not {*map(fold, names)} <= {fold(e.name) for e in left_out}:
            return
    raise PalimpsestError(
        Code.BIND, "the list of RETURNING is empty", advice="name a column, or leave it out"
    )


def _value(changes: ChangeSet, index: int, stored: Column, result: ReturningClause) -> exp.Expr:
    old = column(old_name(index), "s")
    if result.old or changes.begins is False:
        return old
    new = changes.new_value(index, stored)
    if isinstance(changes.begins, str):
        return exp.Case().when(column(changes.begins, "s"), new).else_(old)
    return new


def _expressions(node: exp.Returning, hidden: Sequence[str]) -> list[exp.Expr]:
    found = [e.copy() for e in node.expressions]
    for index, expression in enumerate(found):
        for call in list(expression.find_all(exp.Anonymous, exp.Column)):
            if call.name.lower() != "merge_action" or ACTION not in hidden:
                continue
            if isinstance(call, exp.Column) and call.table:
                continue
            replacement: exp.Expr = column(ACTION)
            if call is expression:
                replacement = exp.alias_(replacement, "merge_action")
                found[index] = replacement
            else:
                call.replace(replacement)
        if not hidden:
            continue
        star = expression.this if isinstance(expression, exp.Column) else expression
        if isinstance(star, exp.Star):
            kept = [*(star.args.get("except_") or []), *[ident(h) for h in hidden]]
            star.set("except_", kept)
    return found
