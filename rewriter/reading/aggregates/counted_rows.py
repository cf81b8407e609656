"""Answers COUNT(*) of a whole table from the counts of its manifest.

    SELECT count(*) FROM t   -->   SELECT $p_rows_0 AS "count_star()"

Each commit and each job counts what it writes, open rows and closing ones, and each closing row
ends one open row. Where anything but that decides which rows are seen (a condition, a past, rows of
the transaction's own, masks, a retention by date, policies of rows), the rows are read. Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.effective_policy import effective_policy
from journal.model.plan import P_ROWS
from journal.model.replication import REPLICA_OF
from journal.model.schema import Table
from journal.model.segment import Tier
from journal.model.trees import Nodes
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import ident
from journal.sql.sql import cast
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name
from rewriter.reading.materialized import holds_its_rows
from rewriter.reading.policies.security import RowSecurity
from rewriter.reading.result_names import result_name
from rewriter.reading.scopes import is_named

_PARTS = {"expressions", "from_", "kind"}
_READS_MORE = (exp.Column, exp.Query, exp.Window, exp.Filter, exp.Distinct, exp.Order)


def count_rows(nodes: Nodes, context: RewriteContext, counted: list[int]) -> list[Table]:
    """Put numbers in the place of what counts all rows of a table; the tables that were counted.

    The ids of tables go into ``counted``, whose places are those of the parameters.
    """
    if not context.capabilities.counts_rows:
        return []
    tables = []
    for select in nodes.all(exp.Select) if nodes.all(exp.Count) else []:
        table = _counted_table(select, context)
        named = None if table is None else _named_outputs(select, table)
        if table is None or named is None:
            continue
        if table.id not in counted:
            counted.append(table.id)
        parameter = f"{P_ROWS}{counted.index(table.id)}"
        for output in named:
            for count in list(output.find_all(exp.Count)):
                count.replace(cast(exp.Placeholder(this=parameter), "BIGINT"))
        select.set("expressions", named)
        select.set("from_", None)
        tables.append(table)
    return tables


def _counted_table(select: exp.Select, context: RewriteContext) -> Table | None:
    """The only source of a query without conditions, if nobody sees other rows than it has."""
    from_ = select.args.get("from_")
    if from_ is None or any(v for part, v in select.args.items() if part not in _PARTS):
        return None
    node = from_.this
    if not isinstance(node, exp.Table) or not is_named(node) or is_cte(node):
        return None
    if any(value for part, value in node.args.items() if part not in {"this", "db", "alias"}):
        return None
    table = context.catalog.get(table_name(node, context))
    if not isinstance(table, Table) or context.catalog.is_own(table.name):
        return None
    scan = context.scan_info(table.id)
    if scan.pinned or scan.masks or Tier.BUFFER in scan.tiers:
        return None
    if REPLICA_OF in dict(table.properties) or RowSecurity.of(table, context) is not None:
        return None
    if effective_policy(context.catalog, table).retention is not None:
        return None
    return table if holds_its_rows(table, context, past=False) else None


def _named_outputs(select: exp.Select, table: Table) -> list[exp.Expr] | None:
    """Copies of the outputs under their names, if they need nothing but the number of rows."""
    named: list[exp.Expr] = []
    for output in select.expressions:
        name = output.alias if isinstance(output, exp.Alias) else result_name(output)
        if not name:
            return None
        value = output.unalias().copy()
        counts = list(value.find_all(exp.Count))
        if not counts or not all(_counts_all(count, table) for count in counts):
            return None
        inside = {id(part) for count in counts for part in count.walk()}
        aggregates = [a for a in value.find_all(exp.AggFunc) if not isinstance(a, exp.Count)]
        others = [n for n in value.find_all(*_READS_MORE) if id(n) not in inside]
        stars = [n for n in value.find_all(exp.Star) if id(n) not in inside]
        if aggregates or others or stars:
            return None
        # Alone under its alias it can be replaced like any other.
        named.append(exp.Alias(this=value, alias=ident(name)))
    return named


def _counts_all(count: exp.Count, table: Table) -> bool:
    """True for COUNT(*), and for COUNT of a constant or of a column that is never NULL."""
    counted = count.this
    if count.expressions or isinstance(counted, exp.Star):
        return not count.expressions and not any(counted.args.values())
    if isinstance(counted, exp.Literal):
        return True
    if not isinstance(counted, exp.Column) or counted.table or counted.args.get("join_mark"):
        return False
    found = table.find(counted.name)
    return found is not None and (found.not_null or found.physical in table.key)
