"""Puts a fence around current rows, so that no condition fails on an ended row."""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Table
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.reading.fences import fenced
from rewriter.reading.policies.leakproof import narrowed_rows
from rewriter.reading.policies.security import masked_columns


def lasting_rows(
    rows: exp.Query, at: exp.Table | None, table: Table, context: RewriteContext
) -> exp.Select:
    """The rows of a table that were chosen among those of its journal.

    ``at``: where they are read; conditions there that can fail on no row are asked before as well.
    """
    if at is not None:
        rows = narrowed_rows(rows, at, table, masked_columns(table, context))
    alone = exp.select("*", copy=False).from_(rows.subquery(ident("lasting"), copy=False))
    return fenced(alone, context.capabilities)
