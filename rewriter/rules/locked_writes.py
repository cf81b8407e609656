"""UPDATE and DELETE of the rows that a query inside of them locks by FOR UPDATE.

A statement that writes all that it locks claims it by that, so that the clause asks for nothing
more: the query and the statement are about one table, and its key joins them. SKIP LOCKED is noted
for the session. Any other locking clause inside of a query stays, and is refused.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table, fold
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name
from rewriter.writing.skipped_rows import is_skipping, skipped_tables
from rewriter.writing.target import AliasedTable


def take_locks(ast: exp.Expr, context: RewriteContext) -> frozenset[int]:
    """Leave out the locks of a query whose rows are all written; the tables that they skip in."""
    node, where = ast.this, ast.args.get("where")
    if where is None or not isinstance(node, exp.Table):
        return frozenset()
    table = context.catalog.get(table_name(node, context))
    if not isinstance(table, Table) or table.hidden_key or len(table.key) != 1:
        return frozenset()
    (key,) = (fold(c.name) for c in table.columns if c.physical == table.key[0])
    query = _joined_query(ast, where.this, fold(node.alias_or_name), key)
    if query is None or not _is_of(query, table, context):
        return frozenset()
    locks = query.args["locks"]
    skips = any(map(is_skipping, locks))
    if not skips and any(lock.args.get("wait") not in {None, True} for lock in locks):
        return frozenset()
    target = AliasedTable.of(table, node, context)
    skipped = skipped_tables(ast, [target] if skips else [], context, places=2)
    query.set("locks", None)
    return skipped


def _joined_query(ast: exp.Expr, condition: exp.Expr, alias: str, key: str) -> exp.Select | None:
    """The query with locks whose key alone says which rows of the target are written."""
    condition = condition.unnest()
    if not isinstance(condition, exp.EQ | exp.In):
        return None
    parts = [condition.args.get(name) for name in ("this", "expression", "query")]
    sides = [part for part in parts if isinstance(part, exp.Expr)]
    others = [side for side in sides if not _is_key(side, alias, key)]
    if len(sides) != 2 or len(others) != 1:
        return None
    other = others[0]
    if isinstance(other, exp.Column) and isinstance(condition, exp.EQ):
        return _named_query(ast, fold(other.table), fold(other.name), key)
    inner = other.unnest() if isinstance(other, exp.Subquery) else other
    if not isinstance(inner, exp.Select) or len(inner.selects) != 1:
        return None
    if inner.args.get("locks"):
        return inner if _outputs_key(inner, key) else None
    source = inner.args.get("from_")
    is_plain = not any(v for n, v in inner.args.items() if n not in {"expressions", "from_"})
    if not is_plain or source is None or not isinstance(inner.selects[0], exp.Column):
        return None
    return _named_query(ast, fold(source.this.alias_or_name), fold(inner.selects[0].name), key)


def _named_query(ast: exp.Expr, name: str, column: str, key: str) -> exp.Select | None:
    """The query with locks that stands under a name in WITH, FROM or USING of the statement."""
    with_, from_ = ast.args.get("with_"), ast.args.get("from_")
    named = [*(with_.expressions if with_ is not None else []), *(ast.args.get("using") or [])]
    named += [from_.this] if from_ is not None else []
    for place in named:
        if isinstance(place, exp.CTE | exp.Subquery) and fold(place.alias_or_name) == name:
            query = place.this
            is_locked = isinstance(query, exp.Select) and query.args.get("locks")
            return query if is_locked and column == key and _outputs_key(query, key) else None
    return None


def _is_key(node: exp.Expr, alias: str, key: str) -> bool:
    if not isinstance(node, exp.Column) or fold(node.name) != key:
        return False
    above = node.parent
    sides = (above.this, above.expression) if isinstance(above, exp.EQ) else ()
    needs_table = bool(sides) and all(isinstance(side, exp.Column) for side in sides)
    return fold(node.table) == alias if node.table or needs_table else True


def _outputs_key(query: exp.Select, key: str) -> bool:
    """True if the query gives the key of its table under its own name."""
    keys = (o for o in query.selects if fold(o.alias_or_name) == key)
    columns = [o.unalias() for o in keys]
    if not columns:
        return any(isinstance(output, exp.Star) for output in query.selects)
    return all(isinstance(c, exp.Column) and fold(c.name) == key for c in columns)


def _is_of(query: exp.Select, table: Table, context: RewriteContext) -> bool:
    """True for a query of one table alone, of which each row is one of the table."""
    parts = ("joins", "laterals", "distinct", "group", "having", "qualify", "windows", "with_")
    source = query.args.get("from_")
    if source is None or any(query.args.get(part) for part in parts):
        return False
    node = source.this
    if not isinstance(node, exp.Table) or node.args.get("joins"):
        return False
    found = context.catalog.get(table_name(node, context))
    return isinstance(found, Table) and found.id == table.id
