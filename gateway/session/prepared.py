"""PREPARE, EXECUTE and DEALLOCATE: statements that a session keeps under a name.

What is kept is the text, in the session's settings, so it goes along when a session moves to
another process; plans are found by that text as those of any statement are. Names and values are
checked here, everything else by the statement itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Protocol, cast

from sqlglot import exp

from gateway.config import Settings
from gateway.session.executor import Executor
from gateway.session.function_calls import RoutineSession, run_call
from gateway.session.named_schemas import with_home_schema
from gateway.session.outcome import StatementOutcome
from gateway.session.own_parameters import TimedSession, own_parameters
from gateway.session.path_parameters import with_any_path
from gateway.session.request import StatementRequest
from gateway.session.session_calls import CallingSession, run_session_calls
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import USER_PARAMETER
from journal.model.schema import CatalogSnapshot, fold
from journal.model.visibility import visible_to
from journal.transactions.protocol import OpenJournal
from journal.transactions.transaction import Transaction
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import DIALECTS
from rewriter.preview.synthetic_catalog import plain_scan_info
from rewriter.reading.parameter_types import text_readings
from rewriter.statement import (
    CalledRoutine,
    Deallocate,
    Execute,
    Prepare,
    SelectedCalls,
    SqlStatement,
)
from rewriter.syntax.parsing import Parsed


class PreparingSession(CallingSession, TimedSession, Protocol):
    """What of a session is needed to prepare statements and to run them."""

    journal: OpenJournal
    executor: Executor
    settings: Settings
    dialect: str
    transaction: Transaction | None

    @property
    def catalog(self) -> CatalogSnapshot:
        """The current catalog, as the session sees it."""

    def parse(self, text: str) -> list[Parsed]:
        """The statements of a text."""

    def run(self, parsed: Parsed, parameters: Any = None) -> StatementOutcome:
        """Run one parsed statement."""

    def run_bound(self, parsed: Parsed, bound: Mapping[str, Any]) -> StatementOutcome:
        """Run a statement whose parameters have values, by their names in plans."""

    def new_transaction(self) -> Transaction:
        """A transaction that has begun."""


def run_prepared(
    session: PreparingSession, parsed: Parsed, bound: Mapping[str, Any]
) -> StatementOutcome:
    """Run PREPARE, EXECUTE or DEALLOCATE, or the calls of a SELECT that change the session."""
    match parsed.statement:
        case Prepare():
            return _prepare(session, parsed.statement, parsed.text)
        case Execute():
            return _execute(session, parsed.statement, bound)
        case Deallocate(name):
            return _deallocate(session, name)
        case CalledRoutine():
            return run_call(cast("RoutineSession", session), parsed.statement, bound)
        case SelectedCalls():
            return run_session_calls(session, parsed.statement, bound)
        case _:
            raise AssertionError(parsed.statement)


def _prepare(session: PreparingSession, statement: Prepare, text: str) -> StatementOutcome:
    """Keep a statement, which must fit the tables there are now.

    Raises DUPLICATE_PREPARED in PostgreSQL's dialect; in the others the new one takes the place.
    """
    key = fold(statement.name)
    kept = dict(session.settings.prepared)
    if key in kept and DIALECTS[session.dialect] == "postgres":
        raise PalimpsestError(
            Code.DUPLICATE_PREPARED,
            f"the prepared statement {statement.name} exists already",
            advice=f"DEALLOCATE {statement.name} first, or use another name",
        )
    _check_plan(session, statement)
    kept[key] = text
    session.settings = replace(session.settings, prepared=tuple(kept.items()))
    return StatementOutcome("PREPARE")


def _deallocate(session: PreparingSession, name: str | None) -> StatementOutcome:
    """Forget one prepared statement, or all; raises UNKNOWN_PREPARED in PostgreSQL's dialect."""
    kept = {} if name is None else dict(session.settings.prepared)
    if name is not None and kept.pop(fold(name), None) is None:
        if DIALECTS[session.dialect] == "postgres":
            raise _unknown(session, name)
    session.settings = replace(session.settings, prepared=tuple(kept.items()))
    return StatementOutcome("DEALLOCATE")


def prepared_statement(session: PreparingSession, name: str) -> Prepare:
    """What was prepared under a name; raises UNKNOWN_PREPARED."""
    text = dict(session.settings.prepared).get(fold(name))
    if text is None:
        raise _unknown(session, name)
    found = session.parse(text)[0].statement
    assert isinstance(found, Prepare)
    return found


def _execute(
    session: PreparingSession, statement: Execute, bound: Mapping[str, Any]
) -> StatementOutcome:
    """Run a prepared statement with the values that the arguments have now.

    Raises UNKNOWN_PREPARED, and EXECUTE_VALUES where the arguments do not fit.
    """
    found = prepared_statement(session, statement.name)
    named = [key for key, _ in statement.arguments if not key.isdigit()]
    if named and (len(named) < len(statement.arguments) or len(set(named)) < len(named)):
        raise _misfit(statement.name, "give each value once, all by name or none")
    types: tuple[exp.DataType | None, ...] = () if named else found.types
    used = max((int(p) + 1 for p in found.parameters if isinstance(p, int)), default=0)
    wanted, count = len(types) or used, len(statement.arguments)
    if not named and wanted != count and (types or used == len(found.parameters)):
        raise _misfit(statement.name, f"it takes {wanted} values, {count} were given")
    types += (None,) * (len(statement.arguments) - len(types))
    if not named and not found.types:
        types = _readings(session, found, statement)
    values = _values(session, statement, types, bound)
    given: Any = dict(zip(named, values, strict=True)) if named else values
    if found.types and not named:
        given = values[:used]
    return session.run(Parsed(found.statement, found.text, found.parameters), given)


def _values(
    session: PreparingSession,
    statement: Execute,
    types: tuple[exp.DataType | None, ...],
    bound: Mapping[str, Any],
) -> list[Any]:
    """The values of the arguments; the store computes those that are no constants."""
    found: dict[int, Any] = {}
    asked: dict[int, exp.Expr] = {}
    for place, ((_, node), type_) in enumerate(zip(statement.arguments, types, strict=True)):
        if type_ is not None:
            asked[place] = exp.Cast(this=node.copy(), to=type_.copy())
        elif isinstance(node, exp.Placeholder):
            found[place] = bound[node.name]
        elif isinstance(node, exp.Literal) and (node.is_string or node.is_int):
            found[place] = node.name if node.is_string else int(node.name)
        elif isinstance(node, exp.Null | exp.Boolean):
            found[place] = None if isinstance(node, exp.Null) else bool(node.this)
        else:
            asked[place] = node.copy()
    if asked:
        columns = [exp.alias_(node, f"v{place}") for place, node in asked.items()]
        if any(node.find(exp.Column, exp.Query) is not None for node in asked.values()):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"EXECUTE {statement.name} takes no value that is read from tables",
                advice="read it first, or write the statement without PREPARE",
            )
        query = exp.select(*columns)
        # Its text names its plan in the cache.
        text = query.sql(dialect="duckdb")
        names = tuple(p.name for p in query.find_all(exp.Placeholder))
        outcome = session.run_bound(
            Parsed(SqlStatement(query), f"{text} -- values", ()), {n: bound[n] for n in names}
        )
        assert outcome.rows is not None
        (row,) = outcome.rows.take(1)
        outcome.close()
        found.update(zip(asked, row, strict=True))
    return [found[place] for place in range(len(types))]


def _readings(
    session: PreparingSession, prepared: Prepare, statement: Execute
) -> tuple[exp.DataType | None, ...]:
    """What constant texts are read as, whether or not a row is ever compared with them."""
    if not any(isinstance(n, exp.Literal) and n.is_string for _, n in statement.arguments):
        return (None,) * len(statement.arguments)
    catalog = session.catalog
    context = RewriteContext(
        visible_to(catalog, catalog.rights_of(session.settings.role)),
        plain_scan_info,
        dialect=session.dialect,
        path=session.settings.search_path,
    )
    parsed = Parsed(prepared.statement, prepared.text, prepared.parameters)
    meant = with_home_schema(parsed, session.dialect, catalog).statement
    known = text_readings(meant.ast, context) if isinstance(meant, SqlStatement) else {}
    return tuple(
        known.get(f"{USER_PARAMETER}{place}")
        if isinstance(node, exp.Literal) and node.is_string
        else None
        for place, (_, node) in enumerate(statement.arguments)
    )


def _check_plan(session: PreparingSession, statement: Prepare) -> None:
    """Raise what is wrong with a statement whatever values it will get."""
    transaction = session.transaction or session.new_transaction()
    transaction.check_open()
    parsed = Parsed(statement.statement, statement.text, statement.parameters)
    nothing = {f"{USER_PARAMETER}{place}": None for place in statement.parameters}
    parsed = with_any_path(parsed, nothing, session.journal.capabilities, session.dialect)
    request = StatementRequest(
        parsed, {**own_parameters(session), **nothing}, session.settings, session.dialect
    )
    try:
        session.executor.plan(transaction, request)
    except PalimpsestError as error:
        # A point in time may be one of the values.
        if error.code is not Code.TIME_POINT:
            raise
    finally:
        if transaction is not session.transaction:
            transaction.rollback()


def _unknown(session: PreparingSession, name: str) -> PalimpsestError:
    known = [key for key, _ in session.settings.prepared]
    close = get_close_matches(fold(name), known, n=3)
    advice = f"PREPARE {name} AS .. first, in this session"
    if close:
        advice = f"did you mean {' or '.join(close)}?"
    return PalimpsestError(
        Code.UNKNOWN_PREPARED, f"there is no prepared statement {name}", advice=advice
    )


def _misfit(name: str, why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.EXECUTE_VALUES,
        f"the values do not fit the prepared statement {name}: {why}",
        advice="give one value for each of its parameters",
    )
