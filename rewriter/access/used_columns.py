"""Which columns of a table a statement reads, or may read.

Only asked where a role has no more than columns of a table. Where a name could mean the table's
column it counts as read, so that what is missed is a refusal, never a reading. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from sqlglot import exp

from journal.model.schema import fold

ColumnsOf = Callable[[exp.Table], frozenset[str] | None]
"""The folded names of a named source's columns; None for one that is no table or view."""
HOLDERS = (exp.Select, exp.Update, exp.Delete, exp.Merge, exp.Insert)
"""What has sources of its own."""
_WHOLE = (exp.Pivot, exp.Columns, exp.PositionalColumn)
"""What may read any column."""


def holder_of(node: exp.Expr) -> exp.Expr:
    """The SELECT, or the statement that writes, whose source a table reference is."""
    found = node.find_ancestor(*HOLDERS)
    return node.root() if found is None else found


def used_columns(
    holder: exp.Expr,
    alias: str,
    names: frozenset[str],
    columns_of: ColumnsOf,
    written: Collection[int] = (),
) -> frozenset[str] | None:
    """The folded names of the columns read of the source ``alias``, whose columns are ``names``.

    None: perhaps all. ``written`` are ids of nodes that name columns to be written, not read.
    """
    if not isinstance(holder, HOLDERS):
        return None
    wanted, found = fold(alias), set[str]()
    for node in _nodes(holder, written):
        if isinstance(node, _WHOLE) or _renames(node, wanted):
            return None
        if isinstance(node, exp.Join):
            if str(node.args.get("method") or "").upper() == "NATURAL":
                return None
            found |= names & {fold(part.name) for part in node.args.get("using") or []}
        elif isinstance(node, exp.Star):
            if _is_star_of(node, holder, wanted):
                return None
        elif isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            read = _read(node, holder, wanted, names, columns_of)
            if read is None:
                return None
            found |= read
    return frozenset(found)


def _nodes(holder: exp.Expr, written: Collection[int]) -> Iterator[exp.Expr]:
    return (n for n in holder.walk(prune=lambda n: id(n) in written) if id(n) not in written)


def _renames(node: exp.Expr, alias: str) -> bool:
    """True for ``AS p(x, y)``: a name may be that of any column."""
    return isinstance(node, exp.TableAlias) and bool(node.columns) and fold(node.name) == alias


def _is_star_of(star: exp.Star, holder: exp.Expr, alias: str) -> bool:
    owner = star.parent
    if isinstance(owner, exp.Column):
        return fold(owner.table) == alias
    if isinstance(owner, exp.Count):
        return False
    return star.find_ancestor(*HOLDERS) is holder


def _read(
    node: exp.Column,
    holder: exp.Expr,
    alias: str,
    names: frozenset[str],
    columns_of: ColumnsOf,
) -> frozenset[str] | None:
    parts = [fold(part.name) for part in node.parts]
    for place, part in enumerate(parts):
        if part == alias and place < len(parts) - 1 and parts[place + 1] in names:
            return frozenset({parts[place + 1]})
    if len(parts) == 1 and parts[0] == alias and alias not in names:
        return None  # The whole row.
    if parts[0] == alias and len(parts) > 1 and parts[0] not in names:
        return frozenset()  # A column that the table does not have.
    first = parts[0]
    if first not in names or _is_of_inner(node, first, holder, columns_of):
        return frozenset()
    return frozenset({first})


def _is_of_inner(node: exp.Column, name: str, holder: exp.Expr, columns_of: ColumnsOf) -> bool:
    """True if a query between a column and the holder has a source with a column of that name."""
    inner = node.find_ancestor(*HOLDERS)
    while inner is not None and inner is not holder:
        for source in _sources(inner):
            known = columns_of(source)
            if known is not None and name in known:
                return True
        inner = inner.find_ancestor(*HOLDERS)
    return False


def _sources(holder: exp.Expr) -> Iterator[exp.Table]:
    from_ = holder.args.get("from_")
    nodes = [from_.this] if from_ is not None else []
    nodes += [join.this for join in holder.args.get("joins") or []]
    return (n for n in nodes if isinstance(n, exp.Table))
