"""Finds what the queries of a row policy read, and how its text names it.

Text that is kept names a table by its number, ``"_palimpsest_table"."17" AS members``, so that
renaming it changes nothing, and another table under its old name is never read in its place. A
column of the row stands as ``_palimpsest_row.owner`` inside a query, by its physical name; outside
of queries it stands bare. Views go by their names. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from sqlglot import exp

from journal.model.access import ObjectKey
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot, Table, View, fold
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import ident
from journal.sql.sql import expression
from rewriter.context import RewriteContext
from rewriter.name_resolution import INTERNAL

ROW = f"{INTERNAL}row"
"""What a query in a policy calls the row that the policy is asked of."""
_TABLE = f"{INTERNAL}table"


@dataclass(frozen=True, slots=True)
class PolicySources:
    """What a policy reads beside the row: ids of tables, keys of views, names of their columns.

    The names are folded, and may be those of columns that the queries themselves make.
    """

    tables: frozenset[int] = frozenset()
    views: frozenset[tuple[str, str]] = frozenset()
    columns: frozenset[str] = frozenset()


def outer_queries(condition: exp.Expr) -> list[exp.Query]:
    """The queries in a condition that stand in no other one."""
    return [q for q in condition.find_all(exp.Query) if q.find_ancestor(exp.Query) is None]


def columns_of_row(condition: exp.Expr) -> Iterator[exp.Column]:
    """The columns in a policy that are those of the row it is asked of."""
    for used in condition.find_all(exp.Column):
        if used.table == ROW or used.find_ancestor(exp.Query) is None:
            yield used


def policy_queries(
    key: ObjectKey, context: RewriteContext, *, writes: bool = False
) -> list[exp.Query]:
    """The queries of the row policy that the client sees a table under, with names of today.

    ``writes``: and of what the policy says of rows that it writes.
    """
    found: list[exp.Query] = []
    for policy in context.rights.policies_on(key):
        if not policy.column and (writes or not policy.of):
            condition = exp.Paren(this=expression(policy.expression))
            name_tables(condition, context.catalog)
            found += outer_queries(condition)
    return found


def refer_by_id(node: exp.Table, table: Table) -> None:
    """Have a node name a table as text that is kept does."""
    node.set("catalog", None)
    node.set("db", ident(_TABLE))
    node.set("this", ident(str(table.id)))


def name_tables(tree: exp.Expr, catalog: CatalogSnapshot) -> None:
    """Have the nodes of a kept policy name tables as they are called in a catalog.

    Raises PRIVILEGE where one is not there any more: nobody may see rows by such a policy.
    """
    for node in tree.find_all(exp.Table):
        if node.db != _TABLE:
            continue
        found = catalog.by_id(int(node.name))
        if found is None:
            raise PalimpsestError(
                Code.PRIVILEGE,
                "permission denied: a row policy reads a table that is not there any more",
                advice="have the table's owner set the policy anew, or drop it",
            )
        node.set("db", ident(found.name.schema))
        node.set("this", ident(found.name.name))


def shown_tables(tree: exp.Expr, catalog: CatalogSnapshot) -> None:
    """Have the nodes of a kept policy name tables as clients do; those that are gone are NULL."""
    for node in tree.find_all(exp.Table):
        if node.db != _TABLE:
            continue
        found = catalog.by_id(int(node.name))
        if found is not None:
            node.set("db", exp.to_identifier(found.name.schema))
            node.set("this", exp.to_identifier(found.name.name))


@lru_cache(maxsize=1024)
def sources_of(text: str) -> PolicySources:
    """What the queries in the kept text of a policy read."""
    tables, views, columns = set[int](), set[tuple[str, str]](), set[str]()
    for query in outer_queries(exp.Paren(this=expression(text))):
        for node in query.find_all(exp.Table):
            if node.db == _TABLE:
                tables.add(int(node.name))
            elif not is_cte(node):
                views.add((fold(node.db), fold(node.name)))
        columns |= {fold(c.name) for c in query.find_all(exp.Column) if c.table != ROW}
        for join in query.find_all(exp.Join):
            columns |= {fold(part.name) for part in join.args.get("using") or []}
    return PolicySources(frozenset(tables), frozenset(views), frozenset(columns))


def is_read_by(found: Table | View, sources: PolicySources) -> bool:
    """Whether a policy with these sources reads a relation."""
    if isinstance(found, Table):
        return found.id in sources.tables
    return found.name.key in sources.views
