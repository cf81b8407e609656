"""Finds predicates that fix columns to one value, so that a read needs few files.

``WHERE k = 5`` on a table's key means at most one current row; the relation for it can be found by
key in each tier instead of by joining tiers. Of a column with filters it means some of the files.
The predicate itself stays in the query. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from sqlglot import exp

from journal.identity.descriptor import filtered_of
from journal.model.schema import Column, Table, fold
from journal.model.trees import copy_tree
from rewriter.definitions.table_options import PARTITIONED
from rewriter.reading.equal_keys import ParameterKinds, equals_one

Keys = dict[str, exp.Expr]
"""Constant expressions by physical column, usually of the key."""
NOTHING: Keys = {}
"""No column's value is known."""
_BY_ORDER = frozenset({"ASOF", "POSITIONAL"})


ROUNDS = "rounds_seconds"
"""Marks a cast that leaves out digits of seconds, among its meta data."""


def pinned_values(
    node: exp.Table,
    table: Table,
    masked: Collection[str] = (),
    kinds: ParameterKinds = frozenset(),
) -> tuple[Keys | None, Keys, Keys]:
    """What the SELECT around a table reference demands: of the whole key, of columns by which the
    table's rows lie apart, and of columns with filters.

    Of ``masked`` columns, by their physical names, it demands nothing: other values are compared.
    ``kinds`` are those of the statement's parameters.
    """
    apart = dict(table.properties).get(PARTITIONED, "").split(",")
    parted = [c.physical for c in table.columns if c.physical in apart]
    filtered = dict.fromkeys(i.path.root for i in filtered_of(table) if not i.path.steps)
    parted = [name for name in parted if name not in masked]
    files = [name for name in filtered if name not in masked]
    keys = None if set(masked) & set(table.key) else pinned_keys(node, table, kinds)
    return (
        keys,
        _values_demanded(node, table, parted, kinds),
        _values_demanded(node, table, files, kinds),
    )


def pinned_keys(node: exp.Table, table: Table, kinds: ParameterKinds) -> Keys | None:
    """The key values that the SELECT around a table reference demands, or None."""
    if table.hidden_key:
        return None
    found = _values_demanded(node, table, table.key, kinds)
    return found if len(found) == len(table.key) else None


def where_around(node: exp.Table) -> tuple[exp.Expr, bool] | None:
    """What the SELECT around a table reference demands of rows; True: bare names mean this table.

    None where there is no WHERE, or rows that it leaves out decide what it is asked about.
    """
    holder = node.parent
    select = holder.parent if isinstance(holder, exp.From | exp.Join) else None
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if where is None:
        return None
    assert isinstance(select, exp.Select)
    if _matters_beside_others(node, select):
        return None
    return where.this, not select.args.get("joins") and not select.args.get("laterals")


def _values_demanded(
    node: exp.Table, table: Table, columns: Iterable[str], kinds: ParameterKinds
) -> Keys:
    found = where_around(node) if columns else None
    if found is None:
        return {}
    where, alone = found
    # Equal by a collation are other texts, too.
    plain = [c for c in map(table.by_physical, columns) if c.collation is None]
    wanted = {fold(c.name): c for c in plain}
    return _values_in(where, wanted, node.alias_or_name, kinds, alone=alone)


def _matters_beside_others(node: exp.Table, select: exp.Select) -> bool:
    """Whether rows that the WHERE leaves out decide which rows it is asked about.

    So they do in samples and pivots, and in joins by position or to the nearest row. Where columns
    have other names than the table's, those of the WHERE mean nothing here.
    """
    if any(place.args.get("sample") for place in (node, select)) or node.args.get("pivots"):
        return True
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return True
    return any(j.method in _BY_ORDER for j in select.find_all(exp.Join) if j.method)


def keys_in(
    condition: exp.Expr, table: Table, alias: str, kinds: ParameterKinds, *, alone: bool
) -> Keys | None:
    """The key values a condition demands of ``alias``; ``alone``: bare names mean it too."""
    if table.hidden_key or any(table.by_physical(p).collation for p in table.key):
        return None
    wanted = {fold(c.name): c for c in map(table.by_physical, table.key)}
    found = _values_in(condition, wanted, alias, kinds, alone=alone)
    return found if len(found) == len(wanted) else None


def _values_in(
    condition: exp.Expr,
    wanted: Mapping[str, Column],
    alias: str,
    kinds: ParameterKinds,
    *,
    alone: bool,
) -> Keys:
    """The constants that a condition demands of columns, which are given by their folded names."""
    found: Keys = {}
    for part in conjuncts(condition):
        if not isinstance(part, exp.EQ):
            continue
        for left, right in ((part.this, part.expression), (part.expression, part.this)):
            if not isinstance(left, exp.Column) or not is_constant(right):
                continue
            of = left.table
            known = fold(of) == fold(alias) if of else alone
            column = wanted.get(fold(left.name)) if known else None
            if column is not None and equals_one(column, right, kinds):
                found.setdefault(column.physical, copy_tree(right))
    return found


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that all have to hold."""
    while isinstance(condition, exp.Paren):
        condition = condition.this
    if isinstance(condition, exp.And):
        yield from conjuncts(condition.this)
        yield from conjuncts(condition.expression)
    else:
        yield condition


def is_constant(node: exp.Expr) -> bool:
    """True for a value that the statement itself gives."""
    if ROUNDS in node.meta:
        return False
    if isinstance(node, exp.Paren | exp.Neg | exp.Cast | exp.Trim):
        return is_constant(node.this)
    return isinstance(node, exp.Literal | exp.Placeholder)


def is_computed(node: exp.Expr) -> bool:
    """True for a value that the statement itself gives, or one computed of such and nothing else.

    Computed twice it is the same: no function and no clock is asked.
    """
    if ROUNDS in node.meta:
        return False
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.DPipe):
        return is_computed(node.this) and is_computed(node.expression)
    if isinstance(node, exp.Paren | exp.Neg | exp.Cast | exp.Trim):
        return is_computed(node.this)
    return is_constant(node)
