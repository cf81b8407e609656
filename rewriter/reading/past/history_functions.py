"""The relation that a call of one of the functions over the past stands for.

``table_history``, ``table_changes``, ``table_diff`` and ``table_blame``, each as the client may see
it. Pure: AST in, AST out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from rewriter.reading.past.blame import blame_columns, blame_rows
from rewriter.reading.past.history import Past
from rewriter.reading.past.net_changes import net_changes
from rewriter.reading.past.seen_past import SeenPast
from rewriter.reading.policies.security import RowSecurity


def history_query(
    name: str,
    past: Past,
    points: Sequence[exp.Expr],
    policies: RowSecurity | None,
    *,
    by_column: bool,
) -> exp.Query:
    """The rows of a function by its folded name; ``points`` are versions, as ``history_call`` says.

    ``policies`` are those that apply to the client. ``by_column``: blame each column by itself.
    """
    match name:
        case "table_diff":
            return net_changes(SeenPast(past, policies), *points)
        case "table_blame":
            seen = SeenPast(replace(past, limit=points[0]) if points else past, policies)
            return blame_columns(seen) if by_column else blame_rows(seen)
        case "table_changes":
            query = past.changes_between(*points)
        case _:
            query = past.versions_with_writers()
    return query if policies is None else policies.shown_rows(query, query.named_selects)
