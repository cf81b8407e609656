"""What the items of a FROM clause are called, and the files among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from journal.model.lineage import FILE_META
from rewriter.lineage.scope import fold


def tables_named(items: Sequence[exp.Expr | None]) -> dict[str, exp.Table]:
    """The tables of items of FROM and what is joined to them, by alias or name.

    Of two with one name the last counts, as ``t`` is an alias in ``UPDATE t .. FROM s AS t``.
    """
    return {fold(table.alias_or_name): table for item in items for table in _tables(item)}


def aliased(target: exp.Expr, item: exp.Expr) -> exp.Table | None:
    """The table of a FROM that the target of an UPDATE names, by its alias or again."""
    if not isinstance(target, exp.Table) or target.db or target.alias:
        return None
    return tables_named([item]).get(fold(target.name))


def file_named(node: exp.Expr) -> str | None:
    """The file or stage that stands in the place of a table: ``'s3://..'``, ``@stage/a.csv``."""
    if isinstance(node, exp.Table) and isinstance(node.this, (exp.Literal, exp.Var)):
        node = node.this
    if not isinstance(node, (exp.Literal, exp.Var)):
        return None
    name: str = node.meta.get(FILE_META, node.name)
    return name


def files_read(node: exp.Expr) -> tuple[str, ...]:
    """The files that a table, or the FROM of a query, are."""
    own = file_named(node)
    if own is not None:
        return (own,)
    names = [file_named(table) for table in node.find_all(exp.Table)]
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _tables(item: exp.Expr | None) -> Iterator[exp.Table]:
    if isinstance(item, exp.Join):
        yield from _tables(item.this)
    elif isinstance(item, exp.Table):
        yield item
        for join in item.args.get("joins") or []:
            yield from _tables(join)
