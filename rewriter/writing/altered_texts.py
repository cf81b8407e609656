"""ALTER COLUMN .. TYPE TEXT of values whose texts a store writes otherwise than the dialect. Pure.

    ALTER TABLE t ALTER x TYPE text     of a DOUBLE 1.0: ``1`` in PostgreSQL's dialect, and ``1.0``
                                        in DuckDB's

Rows are read by a cast in the store's words, so values with other texts are computed and written.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import Column
from journal.sql.builders import call
from rewriter.context import RewriteContext
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.column_types import type_text
from rewriter.definitions.whole_numbers import is_cast_of
from rewriter.reading.duckdb.casts import has_duckdb_text
from rewriter.reading.postgres.texts import has_own_text, text_of

_TEXTS = frozenset(
    {exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.NVARCHAR, exp.DType.CHAR, exp.DType.BPCHAR}
)


def with_own_text(change: Alteration, action: exp.Expr, context: RewriteContext) -> exp.Expr:
    """The action with a USING that writes texts as the dialect does; the same where none is due."""
    kind = action.args.get("dtype")
    if not isinstance(action, exp.AlterColumn) or not isinstance(kind, exp.DataType):
        return action
    if kind.this not in _TEXTS or not change.has_column(action.name):
        return action
    using = action.args.get("using") or None
    stored = change.draft.columns[change.column_index(action.name, action)]
    if using is not None and not is_cast_of(using, stored.name, type_text(kind)):
        return action
    text = _text_of_column(stored, context)
    if text is None:
        return action
    made = action.copy()
    made.set("using", text)
    return made


def _text_of_column(stored: Column, context: RewriteContext) -> exp.Expr | None:
    """A column's values as texts of the dialect; None where a cast of the store gives these."""
    if stored.declared is not None or stored.generated is not None:
        return None
    value = exp.column(stored.name, quoted=True)
    is_native = context.capabilities.postgres_functions
    if context.dialect == "duckdb" and is_native:
        return call("shown", value) if has_duckdb_text(stored.type) else None
    if context.dialect == "postgres" and not is_native:
        return text_of(value, stored.type) if has_own_text(stored.type) else None
    return None
