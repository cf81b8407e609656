"""FOR UPDATE .. SKIP LOCKED: which tables are read without the rows that others hold.

The rows themselves are the session's: it shows them as ended to the one statement. So a table must
stand at one place of the statement, as elsewhere they would be missing from what it reads. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, View
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import column
from journal.sql.relations_flat import is_flat
from rewriter.context import RewriteContext
from rewriter.name_resolution import position_of, table_name
from rewriter.reading.policies.security import is_restricted
from rewriter.writing.claimed_views import ClaimedView
from rewriter.writing.target import AliasedTable

_CLAUSE = "SKIP LOCKED"


def is_skipping(lock: exp.Lock) -> bool:
    """True for a locking clause with SKIP LOCKED."""
    return lock.args.get("wait") is False


def skipped_tables(
    ast: exp.Expr,
    targets: Sequence[AliasedTable | ClaimedView],
    context: RewriteContext,
    places: int = 1,
) -> frozenset[int]:
    """The ids of the tables among ``targets`` of which rows may be left out of a statement.

    ``places`` are those at which the statement names each, and shall not see such rows.
    Raises NOT_SUPPORTED where that would leave them out elsewhere, or the store cannot tell them.
    """
    if not targets:
        return frozenset()
    if not context.capabilities.skips_locked:
        raise _refusal(
            f"{_CLAUSE} on this store",
            f"leave {_CLAUSE} out: nobody waits; of two who claim a row the second to commit gets"
            " 40001",
            ast,
        )
    nodes = [n for n in ast.find_all(exp.Table) if isinstance(n.this, exp.Identifier)]
    relations = [context.catalog.get(table_name(n, context)) for n in nodes if not is_cte(n)]
    found = set()
    for target in targets:
        table = target.table
        if isinstance(target, ClaimedView) or any(isinstance(r, View) for r in relations):
            raise _refusal(f"{_CLAUSE} with a view", "name the tables themselves", ast)
        if context.catalog.is_own(table.name):
            continue
        if sum(isinstance(r, Table) and r.id == table.id for r in relations) > places:
            what = f"{_CLAUSE} of a table that the statement reads at another place too"
            raise _refusal(what, "read it there in a statement of its own", ast)
        if is_flat(table):
            raise _refusal(f"{_CLAUSE} of an adopted journal", f"leave {_CLAUSE} out", ast)
        if is_restricted([table.id], context):
            what = f"{_CLAUSE} of a table that is read under policies"
            raise _refusal(what, f"leave {_CLAUSE} out", ast)
        if table.hidden_key and ast.args.get("limit") is not None:
            advice = "give the table a primary key, by which its rows can be put in order"
            raise _refusal(f"{_CLAUSE} with LIMIT of a table without a key", advice, ast)
        found.add(table.id)
    return frozenset(found)


def order_fully(ast: exp.Select, targets: Iterable[AliasedTable | ClaimedView]) -> None:
    """Have a LIMIT take the same rows whenever it is asked: by their keys, after their order."""
    if ast.args.get("limit") is None and ast.args.get("offset") is None:
        return
    keys = [
        exp.Ordered(this=column(c.name, target.alias))
        for target in targets
        if isinstance(target, AliasedTable)
        if not target.masked & set(target.table.key)
        for c in target.table.columns
        if c.physical in target.table.key
    ]
    order = ast.args.get("order")
    if order is not None:
        order.set("expressions", [*order.expressions, *keys])
    elif keys:
        ast.set("order", exp.Order(expressions=keys))


def _refusal(what: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice, position=position_of(node)
    )
