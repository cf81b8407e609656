"""EXISTS as an outer join with marked rows, for Apache Hive, which misses rows where it has OR.

    EXISTS (rows WHERE x AND r.k = k AND r.v = v)
        ->  LEFT JOIN (distinct k, v of rows WHERE x, and a mark) .. ON both; the mark IS NOT NULL
    EXISTS (rows WHERE a AND (b OR c))
        ->  EXISTS (rows WHERE a AND b) OR EXISTS (rows WHERE a AND c)

So Hive is asked for joins by equality only. What asks of the rows around otherwise is refused.
Pure; changes the select that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.relations import column, ident
from journal.stores.hive.refused import refused

_BRANCHES_MAX = 16
_PLAIN_ARGS = {"expressions", "from_", "joins", "where", "distinct", "kind", "hint"}


@dataclass(slots=True)
class Exists:
    """Writes out those of one tree."""

    _count: int = 0

    def write_out(self, select: exp.Select) -> None:
        """Put joins in the place of the EXISTS that stand in the condition of a select."""
        for node in list(select.find_all(exp.Exists)):
            if node.parent_select is not select:
                continue
            if not _is_within(node, select.args.get("where")):
                raise refused("EXISTS outside of WHERE")
            branches = list(self._branches(node.this))
            made = [self._marked(select, branch) for branch in branches]
            node.replace(exp.paren(exp.or_(*made)) if len(made) > 1 else exp.paren(made[0]))

    def _branches(self, query: exp.Expr) -> Iterator[exp.Select]:
        """Queries without OR about the rows around, of which one finds a row if this one does."""
        rows = query.unnest()
        if not isinstance(rows, exp.Select) or {k for k, v in rows.args.items() if v} - _PLAIN_ARGS:
            raise refused("EXISTS of such a query")
        if any(e.find(exp.AggFunc) for e in rows.expressions):
            raise refused("EXISTS of an aggregate")
        left, found = [rows.copy()], 0
        while left:
            current = left.pop()
            split = next((c for c in _conditions(current) if self._parts(current, c)), None)
            if not isinstance(split, exp.Or):
                found += 1
                if found + len(left) > _BRANCHES_MAX:
                    raise refused("EXISTS with so many OR")
                yield current
                continue
            rest = [c for c in _conditions(current) if c is not split]
            for part in (split.left, split.right):
                branch = current.copy()
                branch.set("where", exp.Where(this=exp.and_(*[c.copy() for c in (*rest, part)])))
                left.append(branch)

    def _parts(self, rows: exp.Select, condition: exp.Expr) -> bool:
        """True for an OR that asks of the rows around."""
        return isinstance(condition, exp.Or) and bool(outer_names(rows, condition))

    def _marked(self, select: exp.Select, rows: exp.Select) -> exp.Expr:
        """Join the rows of a branch; the condition under which one of them was found."""
        around = {s.alias_or_name for s in _sources(select)}
        alias = f"palimpsest_exists_{self._count}"
        self._count += 1
        keys: list[exp.Expr] = []
        on: list[exp.Expr] = []
        inside: list[exp.Expr] = []
        outside: list[exp.Expr] = []
        for condition in _conditions(rows):
            outer = outer_names(rows, condition)
            if not outer:
                inside.append(condition.copy())
                continue
            if not outer <= around | {""} or condition.find(exp.Query, exp.AggFunc, exp.Window):
                raise refused("EXISTS of such a condition on the rows around")
            if not _inner(rows, condition):
                outside.append(exp.Coalesce(this=condition.copy(), expressions=[exp.false()]))
                continue
            own, theirs = self._sides(rows, condition)
            name = f"k{len(keys)}"
            keys.append(exp.alias_(own.copy(), ident(name)))
            on.append(type(condition)(this=column(name, alias), expression=theirs.copy()))
        if not on:
            keys.append(exp.alias_(exp.Literal.number(1), ident("k0")))
            on.append(exp.EQ(this=column("k0", alias), expression=exp.Literal.number(1)))
        keys.append(exp.alias_(exp.Literal.number(1), ident("mark")))
        made = rows.copy()
        made.set("expressions", keys)
        made.set("where", exp.Where(this=exp.and_(*inside)) if inside else None)
        made.set("distinct", exp.Distinct())
        _show_all(select)
        joined = made.subquery(exp.to_identifier(alias))
        select.append("joins", exp.Join(this=joined, side="LEFT", on=exp.and_(*on)))
        return exp.and_(*outside, marked(column("mark", alias), 1))

    def _sides(self, rows: exp.Select, condition: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        """The side of an equality that is the query's own, and the one of the rows around."""
        if isinstance(condition, exp.EQ | exp.NullSafeEQ):
            for own, theirs in (
                (condition.left, condition.right),
                (condition.right, condition.left),
            ):
                if not outer_names(rows, own) and not _inner(rows, theirs):
                    return own, theirs
        raise refused("EXISTS of such a condition on the rows around")


def marked(mark: exp.Expr, wanted: int) -> exp.Expr:
    """That an outer join found a mark (1), or none (0).

    Not IS NULL, of which Hive makes an anti-join that misses rows.
    """
    filled = exp.Coalesce(this=mark, expressions=[exp.Literal.number(0)])
    return exp.EQ(this=filled, expression=exp.Literal.number(wanted))


def _conditions(rows: exp.Select) -> list[exp.Expr]:
    """What all must hold of a row."""
    where = rows.args.get("where")
    if where is None:
        return []
    left, found = [where.this], []
    while left:
        node = left.pop().unnest()
        if isinstance(node, exp.And):
            left += (node.right, node.left)
        else:
            found.append(node)
    return found


def _sources(select: exp.Select) -> list[exp.Expr]:
    """The relations that a select reads itself."""
    first = select.args.get("from_")
    found = [] if first is None else [first.this]
    return found + [join.this for join in select.args.get("joins") or ()]


def _outputs(source: exp.Expr) -> set[str] | None:
    """The columns of a relation, as far as they are told."""
    query = source.this if isinstance(source, exp.Subquery) else None
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select) or query.is_star:
        return None
    return {fold(e.alias_or_name) for e in query.expressions}


def outer_names(rows: exp.Select, condition: exp.Expr) -> set[str]:
    """The relations around a query that a condition in it asks of; "" for one that is not named."""
    own = {s.alias_or_name for s in _sources(rows)}
    own |= {s.alias_or_name for s in condition.find_all(exp.Table, exp.Subquery)}
    inside = [_outputs(s) for s in (*_sources(rows), *condition.find_all(exp.Subquery))]
    known = None if None in inside else {name for names in inside if names for name in names}
    found = {c.table for c in condition.find_all(exp.Column) if c.table and c.table not in own}
    # Those of queries within it are looked at by themselves.
    own_columns = [c for c in condition.find_all(exp.Column) if c.parent_select is rows]
    bare = {fold(c.name) for c in own_columns if not c.table}
    return found | ({""} if known is not None and bare - known else set())


def _inner(rows: exp.Select, condition: exp.Expr) -> bool:
    """True if a condition asks of the query's own relations."""
    own = {s.alias_or_name for s in _sources(rows)}
    inside = [_outputs(s) for s in _sources(rows)]
    known = None if None in inside else {name for names in inside if names for name in names}
    return any(
        c.table in own if c.table else known is None or fold(c.name) in known
        for c in condition.find_all(exp.Column)
    )


def _is_within(node: exp.Expr, clause: exp.Expr | None) -> bool:
    found: exp.Expr | None = node
    while found is not None and found is not clause:
        found = found.parent
    return clause is not None and found is clause


def _show_all(select: exp.Select) -> None:
    """Let * be of the relations there were, and not of what is joined to them."""
    outputs: list[exp.Expr] = []
    for output in select.expressions:
        if not isinstance(output, exp.Star):
            outputs.append(output)
            continue
        for source in _sources(select):
            join = source.parent
            if not isinstance(join, exp.Join) or join.args.get("kind") not in {"SEMI", "ANTI"}:
                of = ident(source.alias_or_name)
                outputs.append(exp.Column(this=exp.Star(), table=of))
    select.set("expressions", outputs)
