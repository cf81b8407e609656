"""What a statement takes and gives, without running it: types of parameters, columns of the answer.

Network protocols tell clients both before a statement runs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from gateway.session.explain import explain_columns
from gateway.session.function_calls import with_called_routine
from gateway.session.named_schemas import with_home_schema
from gateway.session.own_parameters import own_parameters
from gateway.session.path_parameters import with_any_path
from gateway.session.request import StatementRequest
from gateway.session.sequence_names import without_sequence_names
from gateway.session.session import Session
from gateway.session.session_calls import call_columns
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import USER_PARAMETER
from journal.model.result_column import ResultColumn
from journal.model.schema import CatalogSnapshot
from journal.model.visibility import visible_to
from journal.transactions.transaction import Transaction
from rewriter.context import RewriteContext
from rewriter.preview.synthetic_catalog import plain_scan_info
from rewriter.reading.column_origins import Columns, column_origins
from rewriter.reading.parameter_types import parameter_types
from rewriter.statement import Explain, SelectedCalls, SqlStatement
from rewriter.syntax.parsing import Parsed

_ZERO = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - of no zone
EXAMPLES: Mapping[str, Any] = {
    "DECIMAL": Decimal(1),
    "DOUBLE": 0.5,
    "INTERVAL": dt.timedelta(0),
    "DATE": _ZERO.date(),
    "TIME": _ZERO.time(),
    "TIMESTAMP": _ZERO,
    "TIMESTAMPTZ": _ZERO.replace(tzinfo=dt.UTC),
}
"""A value of each type that operators are chosen by."""
NO_EXAMPLES: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StatementDescription:
    """The types of parameters in their order, None for unknown ones; the columns, None for none."""

    parameters: tuple[str | None, ...]
    columns: tuple[ResultColumn, ...] | None


def describe(
    session: Session, parsed: Parsed, examples: Mapping[str, Any] = NO_EXAMPLES
) -> StatementDescription:
    """What a statement of SQL takes and gives, as tables are now; raises what is wrong with it.

    ``examples`` are values of parameters by name, where the type of a result is that of the value.
    """
    parsed = with_called_routine(parsed, session.catalog, session.settings)
    if isinstance(parsed.statement, SelectedCalls):
        places = [p for p in parsed.parameters if isinstance(p, int)]
        none = (None,) * (max(places, default=-1) + 1)
        return StatementDescription(none, tuple(call_columns(parsed.statement)))
    if isinstance(parsed.statement, Explain):
        # What it takes is what the statement in it takes, which must not run for that.
        inner = Parsed(parsed.statement.statement, f"{parsed.text} -- in it", parsed.parameters)
        shown = explain_columns(parsed.statement.options)
        return replace(describe(session, inner, examples), columns=shown)
    parsed = without_sequence_names(parsed)
    parsed = with_home_schema(parsed, session.dialect, session.catalog)
    assert isinstance(parsed.statement, SqlStatement)
    transaction = session.transaction or session.new_transaction()
    try:
        transaction.check_open()
        context = RewriteContext(
            _visible_catalog(session, transaction),
            plain_scan_info,
            dialect=session.dialect,
            path=session.settings.search_path,
        )
        known = parameter_types(parsed.statement.ast, context)
        query = _rows_query(parsed)
        columns = None
        if query is not None:
            nothing: dict[str, Any] = dict.fromkeys(
                f"{USER_PARAMETER}{place}" for place in query.parameters
            )
            # Of what is computed with NULL alone a store would not say of which type it is.
            nothing |= examples_of({name: known.get(name) for name in nothing})
            nothing |= {name: examples[name] for name in nothing.keys() & examples.keys()}
            nothing |= own_parameters(session)
            query = with_any_path(query, nothing, session.journal.capabilities, session.dialect)
            request = StatementRequest(query, nothing, session.settings, session.dialect)
            columns = session.executor.describe(transaction, request, session.cancellation)
    finally:
        if transaction is not session.transaction:
            transaction.rollback()
    places = sorted({p for p in parsed.parameters if isinstance(p, int)})
    count = places[-1] + 1 if places else 0
    types = tuple(known.get(f"{USER_PARAMETER}{place}") for place in range(count))
    return StatementDescription(types, None if columns is None else tuple(columns))


def origins_of(session: Session, parsed: Parsed) -> Columns | None:
    """The columns of a statement's rows with the tables' columns that they are; None if unknown."""
    parsed = with_home_schema(parsed, session.dialect, session.catalog)
    query = _rows_query(parsed)
    if query is None:
        return None
    assert isinstance(query.statement, SqlStatement)
    transaction = session.transaction
    catalog = session.catalog if transaction is None else transaction.catalog
    context = RewriteContext(
        visible_to(catalog, catalog.rights_of(session.settings.role)),
        plain_scan_info,
        path=session.settings.search_path,
    )
    return column_origins(query.statement.ast, context)


def examples_of(kinds: Mapping[str, str | None]) -> Mapping[str, Any]:
    """By name a value of a type that operators are chosen by; none of other types."""
    plain = {name: plain_kind(kind) for name, kind in kinds.items()}
    return {name: EXAMPLES[kind] for name, kind in plain.items() if kind in EXAMPLES}


def plain_kind(kind: str | None) -> str:
    """A type without its digits, and in one word: ``DECIMAL``, ``TIMESTAMPTZ``."""
    return (kind or "").partition("(")[0].replace(" WITH TIME ZONE", "TZ")


def _visible_catalog(session: Session, transaction: Transaction) -> CatalogSnapshot:
    catalog = transaction.catalog
    return visible_to(catalog, catalog.rights_of(session.settings.role))


def _rows_query(parsed: Parsed) -> Parsed | None:
    """A query with the columns of a statement: itself, or what RETURNING reads of its tables."""
    assert isinstance(parsed.statement, SqlStatement)
    ast = parsed.statement.ast
    if isinstance(ast, exp.Query | exp.Values | exp.Summarize | exp.Describe | exp.Pivot):
        return parsed
    returning = ast.args.get("returning")
    if returning is None:
        return None if isinstance(ast, exp.DML | exp.DDL) else parsed
    target = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
    query = exp.select(*(node.copy() for node in returning.expressions)).from_(target.copy())
    for node in (ast.args.get("from_"), ast.args.get("using")):
        for table in [node.this] if isinstance(node, exp.From) else node or []:
            if isinstance(table, exp.Expr):
                query = query.join(table.copy(), join_type="cross")
    names = {n.name for n in query.find_all(exp.Placeholder)}
    used = tuple(p for p in parsed.parameters if f"{USER_PARAMETER}{p}" in names)
    statement = replace(parsed.statement, ast=query)
    return Parsed(statement, f"{parsed.text} -- returning", used)
