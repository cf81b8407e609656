"""Rewrites joins and EXISTS as joins by equality that Apache Hive answers correctly.

    EXISTS (rows WHERE x AND r.k = k AND r.v = v)
        ->  LEFT JOIN (distinct k, v of rows WHERE x, and a mark) .. ON both; the mark is 1
    EXISTS (rows WHERE a AND (b OR c))
        ->  EXISTS (rows WHERE a AND b) OR EXISTS (rows WHERE a AND c)
    a ANTI JOIN b ON c                         a LEFT JOIN (b, and a mark) ON c WHERE the mark is 0
    SELECT id FROM a JOIN b USING (id)         SELECT a.id: Hive takes the bare name for a function
    SELECT * FROM a FULL JOIN b USING (id)     refused: Hive gives NULL for rows of b alone

Hive misses rows where it has EXISTS with OR. What refers to the rows around in another way is
refused. Pure; changes the select that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold
from journal.sql.builders import fill, or_false, sources_of
from journal.sql.relations import column, ident
from journal.stores.hive.dialect.apache_checks import refused

_BRANCHES_MAX = 16
_PLAIN_ARGS = {"expressions", "from_", "joins", "where", "distinct", "kind", "hint"}
_MATCHED = "palimpsest_matched"


@dataclass(slots=True)
class ExistsRewrite:
    """Writes out the EXISTS of one tree."""

    _count: int = 0

    def write_out(self, select: exp.Select) -> None:
        """Put joins in the place of the EXISTS that stand in the condition of a select."""
        for node in list(select.find_all(exp.Exists)):
            if node.parent_select is not select:
                continue
            if not _is_within(node, select.args.get("where")):
                raise refused("EXISTS outside of WHERE")
            made = [self._join_branch(select, branch) for branch in list(_branches(node.this))]
            node.replace(exp.paren(exp.or_(*made) if len(made) > 1 else made[0]))

    def _join_branch(self, select: exp.Select, rows: exp.Select) -> exp.Expr:
        """Join the rows of a branch; the condition under which one of them was found."""
        around = {s.alias_or_name for s in sources_of(select)}
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
            if not _reads_own(rows, condition):
                outside.append(or_false(condition))
                continue
            own, theirs = _sides(rows, condition)
            name = f"k{len(keys)}"
            keys.append(exp.alias_(own.copy(), ident(name)))
            on.append(type(condition)(this=column(name, alias), expression=theirs.copy()))
        if not on:
            keys.append(_one("k0"))
            on.append(column("k0", alias).eq(1))
        made = rows.copy()
        made.set("expressions", [*keys, _one("mark")])
        made.set("where", exp.Where(this=exp.and_(*inside)) if inside else None)
        made.set("distinct", exp.Distinct())
        _expand_star(select)
        joined = made.subquery(exp.to_identifier(alias))
        select.append("joins", exp.Join(this=joined, side="LEFT", on=exp.and_(*on)))
        return exp.and_(*outside, _is_marked(column("mark", alias), 1))


def write_out_joins(select: exp.Select) -> None:
    """Rows without a match are those for which an outer join finds no mark."""
    for number, join in enumerate(select.args.get("joins") or ()):
        if join.args.get("kind") == "SEMI":
            join.set("side", "LEFT")
        if join.args.get("kind") != "ANTI":
            continue
        mark = f"{_MATCHED}_{number}"
        alias = join.this.alias
        if not isinstance(join.this, exp.Subquery):
            alias = alias or join.this.name
            join.set("this", exp.select("*").from_(join.this.copy()).subquery(alias))
        inner = exp.select(exp.Column(this=exp.Star(), table=ident("r")), _one(mark))
        rows = inner.from_(join.this.this.subquery("r"))
        join.set("this", rows.subquery(exp.to_identifier(alias, quoted=True)))
        join.set("kind", None)
        join.set("side", "LEFT")
        found = exp.column(ident(mark), table=ident(alias))
        select.where(_is_marked(found, 0), copy=False)


def name_merged_columns(select: exp.Select) -> None:
    """Say in a SELECT of which table a column is that USING merges; raises NOT_SUPPORTED."""
    joins = select.args.get("joins") or []
    found = [join for join in joins if join.args.get("using")]
    if any(join.side == "FULL" for join in found):
        raise refused("FULL JOIN .. USING")
    merged = {fold(name.name) for join in found for name in join.args["using"]}
    bare = [column for column in _bare_columns(select) if fold(column.name) in merged]
    if not bare:
        return
    if len(joins) > 1:
        raise refused(f"{bare[0].name}, which USING merges, without its table beside other joins")
    source = joins[0].this if joins[0].side == "RIGHT" else select.args["from_"].this
    for found_column in bare:
        found_column.set("table", ident(source.alias_or_name))


def _bare_columns(select: exp.Select) -> list[exp.Column]:
    """Columns of a SELECT, not of queries in it, that name no table and no output of its own."""
    outputs = {fold(item.alias) for item in select.selects if isinstance(item, exp.Alias)}
    return [
        column
        for column in select.find_all(exp.Column)
        if not column.table
        and not isinstance(column.this, exp.Star)
        and column.find_ancestor(exp.Select) is select
        and not (column.find_ancestor(exp.Ordered) and fold(column.name) in outputs)
    ]


def outer_names(rows: exp.Select, condition: exp.Expr) -> set[str]:
    """The relations around a query that a condition in it reads; "" for one that is not named."""
    own = {s.alias_or_name for s in sources_of(rows)}
    own |= {s.alias_or_name for s in condition.find_all(exp.Table, exp.Subquery)}
    known = _known_columns([*sources_of(rows), *condition.find_all(exp.Subquery)])
    found = {c.table for c in condition.find_all(exp.Column) if c.table and c.table not in own}
    # Those of queries within it are looked at by themselves.
    own_columns = [c for c in condition.find_all(exp.Column) if c.parent_select is rows]
    bare = {fold(c.name) for c in own_columns if not c.table}
    return found | ({""} if known is not None and bare - known else set())


def _reads_own(rows: exp.Select, condition: exp.Expr) -> bool:
    """True if a condition reads the query's own relations."""
    own = {s.alias_or_name for s in sources_of(rows)}
    known = _known_columns(list(sources_of(rows)))
    return any(
        c.table in own if c.table else known is None or fold(c.name) in known
        for c in condition.find_all(exp.Column)
    )


def _known_columns(sources: list[exp.Expr]) -> set[str] | None:
    """The columns of relations; None where the tree does not tell those of one."""
    known: set[str] = set()
    for source in sources:
        query = source.this if isinstance(source, exp.Subquery) else None
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select) or query.is_star:
            return None
        known |= {fold(e.alias_or_name) for e in query.expressions}
    return known


def _branches(query: exp.Expr) -> Iterator[exp.Select]:
    """Queries without OR about the rows around, of which one finds a row if this one does."""
    rows = query.unnest()
    if not isinstance(rows, exp.Select) or {k for k, v in rows.args.items() if v} - _PLAIN_ARGS:
        raise refused("EXISTS of such a query")
    if any(e.find(exp.AggFunc) for e in rows.expressions):
        raise refused("EXISTS of an aggregate")
    left, found = [rows.copy()], 0
    while left:
        current = left.pop()
        conditions = _conditions(current)
        split = next(
            (c for c in conditions if isinstance(c, exp.Or) and outer_names(current, c)), None
        )
        if split is None:
            found += 1
            if found + len(left) > _BRANCHES_MAX:
                raise refused("EXISTS with so many OR")
            yield current
            continue
        rest = [c for c in conditions if c is not split]
        for part in (split.left, split.right):
            branch = current.copy()
            branch.set("where", exp.Where(this=exp.and_(*rest, part)))
            left.append(branch)


def _sides(rows: exp.Select, condition: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """The side of an equality that is the query's own, and the one of the rows around."""
    if isinstance(condition, exp.EQ | exp.NullSafeEQ):
        sides = (condition.left, condition.right)
        for own, theirs in (sides, sides[::-1]):
            if not outer_names(rows, own) and not _reads_own(rows, theirs):
                return own, theirs
    raise refused("EXISTS of such a condition on the rows around")


def _one(name: str) -> exp.Expr:
    return exp.alias_(exp.Literal.number(1), ident(name))


def _is_marked(mark: exp.Expr, wanted: int) -> exp.Expr:
    """That an outer join found a mark (1), or none (0).

    Not IS NULL, of which Hive makes an anti-join that misses rows.
    """
    return fill("COALESCE(m, 0) = w", m=mark, w=wanted)


def _conditions(rows: exp.Select) -> list[exp.Expr]:
    """What all must hold of a row."""
    where = rows.args.get("where")
    left = [] if where is None else [where.this]
    found = []
    while left:
        node = left.pop().unnest()
        if isinstance(node, exp.And):
            left += (node.right, node.left)
        else:
            found.append(node)
    return found


def _is_within(node: exp.Expr, clause: exp.Expr | None) -> bool:
    found: exp.Expr | None = node
    while found is not None and found is not clause:
        found = found.parent
    return clause is not None and found is clause


def _expand_star(select: exp.Select) -> None:
    """Let * be of the relations there were, and not of what is joined to them."""
    outputs: list[exp.Expr] = []
    for output in select.expressions:
        if not isinstance(output, exp.Star):
            outputs.append(output)
            continue
        for source in sources_of(select):
            join = source.parent
            if not isinstance(join, exp.Join) or join.args.get("kind") not in {"SEMI", "ANTI"}:
                of = ident(source.alias_or_name)
                outputs.append(exp.Column(this=exp.Star(), table=of))
    select.set("expressions", outputs)
