"""SELECT .. FOR UPDATE: claims rows by writing them unchanged.

Nothing is locked, so nobody waits: of two transactions that claim or write a row, the second to
commit gets 40001. FOR SHARE claims alike. What the transaction has written is claimed already.
Pure.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import P_SNAPSHOT, Append, Fetch, Query, StatementKind, StatementPlan, Step
from journal.model.schema import Table, View, fold
from journal.model.trees import copy_tree, is_nested
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import column, union_all, version_value
from journal.sql.sql import relation, select
from rewriter.context import RewriteContext
from rewriter.functions import is_aggregate
from rewriter.name_resolution import find_table, position_of, table_name
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import OLD_VERSION, ChangeSet, fused_query, old_name, per_change
from rewriter.writing.claimed_views import ClaimedView
from rewriter.writing.reference_values import column_places
from rewriter.writing.skipped_rows import is_skipping, order_fully, skipped_tables
from rewriter.writing.target import AliasedTable

_Target = AliasedTable | ClaimedView
_PLAIN = frozenset({"this", "db", "catalog", "alias"})
_WHOLE = ("distinct", "group", "having", "qualify", "windows")


@dataclass(frozen=True, slots=True)
class _Source:
    """A relation of the FROM clause: its place there, and whether it may stand for NULLs."""

    place: int
    node: exp.Expr
    nullable: bool


def rewrite_claims(ast: exp.Select, context: RewriteContext) -> StatementPlan:
    """The plan of a SELECT with locking clauses; outside of a transaction it only reads."""
    locks = ast.args.get("locks") or []
    _check_query(ast, locks, context)
    sources = _sources(ast)
    places = [s for lock in locks for s in _named(lock, sources)]
    targets = {s.place: _target(s, context) for s in places}
    skips = {s.place for lock in locks if is_skipping(lock) for s in _named(lock, sources)}
    skipped = skipped_tables(ast, [targets[place] for place in sorted(skips)], context)
    order_fully(ast, targets.values())
    ast.set("locks", None)
    reads = Reads(context)
    steps: list[Step] = []
    claimed: dict[int, list[exp.Query]] = {}
    tables: dict[int, Table] = {}
    if context.claims:
        for place, target in targets.items():
            if not context.catalog.is_own(target.table.name):
                tables[target.table.id] = target.table
                found = _claimed_rows(ast, place, target, reads, alone=len(sources) == 1)
                claimed.setdefault(target.table.id, []).append(found)
    is_alone = len(sources) == 1
    root = exp.Subquery(this=ast)
    reads.rewrite(root)
    steps.append(Fetch(Query.of(root.this)))
    if not claimed:
        return replace(reads.plan(StatementKind.READ, steps, None, "SELECT"), skipped=skipped)
    for number, (table_id, queries) in enumerate(claimed.items()):
        table, stage = tables[table_id], f"p_claimed_{number}"
        changes = ChangeSet(table, stage, True, True, frozenset())
        query = queries[0] if is_alone else _each_once(table, queries)
        rows = fused_query(changes, [(stage, query)], ())
        steps.append(Append(table_id, rows, per_change(changes)))
    plan = reads.plan(StatementKind.WRITE, steps, None, "SELECT")
    return replace(plan, writes=frozenset(t.name for t in tables.values()), skipped=skipped)


def _claimed_rows(
    ast: exp.Select, place: int, target: _Target, reads: Reads, *, alone: bool
) -> exp.Query:
    """The rows of one table that the query reads, as staged old values."""
    query = copy_tree(ast)
    ordered = query.args.get("order") is not None and query.args.get("limit") is not None
    outputs = target.old_values()
    query.set("expressions", [*query.expressions, *outputs] if ordered else outputs)
    if not ordered:
        # Which rows a LIMIT takes without an order, nobody knows.
        for part in ("order", "limit", "offset"):
            query.set(part, None)
    node = _sources(query)[place].node
    where = ast.args.get("where")
    keys = None
    if where is not None and isinstance(target, AliasedTable):
        keys = target.keys_in(where.this, reads.context.kinds, alone=alone)
    marker = exp.Placeholder(this="target")
    node.replace(marker)
    root = exp.Subquery(this=query)
    reads.rewrite(root)
    if isinstance(target, AliasedTable):
        marker.replace(target.relation(reads, keys))
    else:
        marker.replace(target.relation(reads))
    names = [*_names(target.table), OLD_VERSION]
    version = version_value(target.table, exp.Placeholder(this=P_SNAPSHOT))
    committed = exp.LTE(this=column(OLD_VERSION, "i"), expression=version)
    return select([column(n, "i") for n in names], relation(root.this, "i"), committed)


def _each_once(table: Table, queries: list[exp.Query]) -> exp.Select:
    """The rows of several queries, each row of the table once."""
    names = [*_names(table), OLD_VERSION]
    found = select([column(n, "r") for n in names], relation(union_all(queries), "r"))
    places = column_places(table)
    keys = [column(old_name(places[k]), "r") for k in table.key]
    number = exp.Window(this=exp.RowNumber(), partition_by=keys)
    first = exp.EQ(this=number, expression=exp.Literal.number(1))
    found.set("qualify", exp.Qualify(this=first))
    return found


def _names(table: Table) -> list[str]:
    return [old_name(i) for i in range(len(table.stored))]


def _sources(ast: exp.Select) -> list[_Source]:
    from_ = ast.args.get("from_")
    if from_ is None:
        return []
    joins = [*(from_.this.args.get("joins") or []), *(ast.args.get("joins") or [])]
    nodes = [from_.this, *(join.this for join in joins)]
    nullable = [False] * len(nodes)
    for index, join in enumerate(joins, 1):
        side, kind = str(join.side).upper(), str(join.kind).upper()
        nullable[index] |= side in {"LEFT", "FULL"} or kind in {"SEMI", "ANTI"}
        if side in {"RIGHT", "FULL"}:
            nullable[:index] = [True] * index
    return [_Source(i, n, e) for i, (n, e) in enumerate(zip(nodes, nullable, strict=True))]


def _named(lock: exp.Lock, sources: list[_Source]) -> list[_Source]:
    """The relations that a locking clause means: those behind OF, or all."""
    if not lock.expressions:
        return sources
    found = []
    for wanted in lock.expressions:
        name = fold(wanted.name)
        fitting = [s for s in sources if fold(s.node.alias_or_name) == name]
        if not fitting:
            raise PalimpsestError(
                Code.UNKNOWN_TABLE,
                f"{wanted.name} behind OF is not a relation of the FROM clause",
                advice="name one of them, by its alias if it has one",
                position=position_of(wanted),
            )
        found += fitting
    return found


def _target(source: _Source, context: RewriteContext) -> _Target:
    node = source.node
    what = None
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        what = "a subquery or function"
    elif is_cte(node):
        what = "a CTE"
    elif source.nullable:
        what = "the side of a join that may be NULL"
    elif any(v and n not in _PLAIN and n != "joins" for n, v in node.args.items()):
        what = "a table with further clauses"
    if what is not None or not isinstance(node, exp.Table):
        raise _refusal(f"FOR UPDATE of {what}", "name the tables to claim: FOR UPDATE OF t", node)
    found = context.catalog.get(table_name(node, context))
    if isinstance(found, View):
        return ClaimedView.of(found, node, context)
    return AliasedTable.of(find_table(node, context), node, context)


def _check_query(ast: exp.Select, locks: list[exp.Lock], context: RewriteContext) -> None:
    for lock in locks:
        # Nobody ever waits here, so that NOWAIT asks for nothing more.
        waits = lock.args.get("wait")
        if waits is not None and waits is not True and not is_skipping(lock):
            raise _refusal(
                "WAIT behind FOR UPDATE",
                "leave WAIT out: rows are claimed, not locked, so that nobody waits; of two who"
                " claim a row the second to commit gets 40001",
                ast,
            )
    parts = [part for part in _WHOLE if ast.args.get(part)]
    calls = [
        c
        for output in ast.expressions
        for c in output.find_all(exp.AggFunc, exp.Window, exp.Anonymous)
        if (isinstance(c, exp.Window) or is_aggregate(c))
        and not (c is not output and is_nested(c, output))
    ]
    if parts or calls:
        advice = "claim the rows in a query of their own"
        raise _refusal("FOR UPDATE with DISTINCT, GROUP BY, aggregates or windows", advice, ast)


def _refusal(what: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice, position=position_of(node)
    )
