"""GROUP BY a primary key, which determines the other columns of its table. Pure.

    SELECT id, name, count(*) FROM t JOIN u .. GROUP BY t.id        .. GROUP BY t.id, name
    SELECT t.id AS i, name, count(*) FROM t .. GROUP BY 1, or i     .. GROUP BY 1, name

PostgreSQL takes the first; stores, which read a journal in the place of the table, know no key
there, and are asked to group by what is named as well. That makes no other groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import column
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name
from rewriter.reading.visible_columns import relations_of

_SETS = ("grouping_sets", "rollup", "cube", "totals", "all")
_BARE = frozenset({"this", "db", "catalog", "alias", "joins", "laterals"})
_PLACES = ("expressions", "having", "order", "qualify")


def add_determined_columns(group: exp.Group, context: RewriteContext) -> None:
    """Group by the columns that a query names of tables whose whole key it groups by, too."""
    for found in list(determined_columns(group, context)):
        group.append("expressions", found)


def determined_columns(group: exp.Group, context: RewriteContext) -> Iterator[exp.Column]:
    """The columns that such a query names and does not group by."""
    select = group.parent
    if not isinstance(select, exp.Select) or any(group.args.get(part) for part in _SETS):
        return
    sources = list(relations_of(select))
    tables = [_table_of(source, context) for source in sources]
    grouped = list(_grouped_columns(group, select, tables))
    if not grouped:
        return
    known = {(fold(node.table), fold(node.name)) for node in grouped}
    for source, table in zip(sources, tables, strict=True):
        if table is None or not _has_key(table, fold(source.alias_or_name), known):
            continue
        for found in _named(select, table, source.alias_or_name):
            place = (fold(found.table), fold(found.name))
            if place not in known:
                known.add(place)
                yield found


def _grouped_columns(
    group: exp.Group, select: exp.Select, tables: Sequence[Table | None]
) -> Iterator[exp.Column]:
    """The columns that are grouped by, by themselves or as outputs: by their places or aliases."""
    outputs = select.expressions
    for node in group.expressions:
        found = node
        if isinstance(node, exp.Literal) and node.is_int:
            before = outputs[: int(node.name)]
            if len(before) < int(node.name) or any(output.is_star for output in before):
                continue
            found = before[-1].unalias() if before else node
        elif isinstance(node, exp.Column) and not node.table:
            # A column of the tables goes before an output of the same name.
            if all(table is not None and table.find(node.name) is None for table in tables):
                named = (o for o in outputs if o.alias and fold(o.alias) == fold(node.name))
                found = next((o.unalias() for o in named), node)
        if isinstance(found, exp.Column):
            yield found


def _table_of(source: exp.Expr, context: RewriteContext) -> Table | None:
    """The table that a source reads as it is now."""
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return None
    if is_cte(source) or any(v for part, v in source.args.items() if part not in _BARE):
        return None
    found = context.catalog.get(table_name(source, context))
    return found if isinstance(found, Table) else None


def _has_key(table: Table, alias: str, grouped: set[tuple[str, str]]) -> bool:
    """True if each column of the table's primary key is grouped by."""
    added = next((unique.columns for unique in table.uniques if unique.primary), ())
    physical = set(added if table.hidden_key else table.key)
    names = [fold(c.name) for c in table.columns if c.physical in physical]
    return bool(names) and all({(alias, name), ("", name)} & grouped for name in names)


def _named(select: exp.Select, table: Table, alias: str) -> Iterator[exp.Column]:
    """The table's columns that the query names in its outputs, HAVING and ORDER BY."""
    outputs = {fold(output.alias) for output in select.expressions if output.alias}
    for place in _PLACES:
        part = select.args.get(place)
        for root in part if isinstance(part, list) else [part]:
            if not isinstance(root, exp.Expr):
                continue
            if isinstance(root, exp.Star):
                yield from (column(c.name, alias) for c in table.columns)
            for node in root.find_all(exp.Column):
                of = fold(node.table)
                if of not in {"", fold(alias)}:
                    continue
                if isinstance(node.this, exp.Star):
                    yield from (column(c.name, alias) for c in table.columns)
                elif table.find(node.name) is not None:
                    if of or place == "expressions" or fold(node.name) not in outputs:
                        # In a subquery a bare name may mean a column of its own relations.
                        is_inner = not of and node.parent_select is not select
                        yield column(node.name, alias) if is_inner else node.copy()
