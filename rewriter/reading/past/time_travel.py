"""Time travel clauses of a table reference, and the points in time they name.

    t FOR SYSTEM_TIME AS OF x | FROM x TO y | BETWEEN x AND y | CONTAINED IN (x, y) | ALL
    t FOR SYSTEM_VERSION AS OF n      t VERSION AS OF n      t TIMESTAMP AS OF x
    t AT (TIMESTAMP => x)             t AT (VERSION => n)

A point is a fixed expression: the store evaluates it once per statement. This module finds clauses
and says what to evaluate; it evaluates nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from journal.model.copied_rows import moved_from
from journal.model.errors import Code, PalimpsestError, Position
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import PointRequest, Query, TransactionBoundary
from journal.model.schema import CatalogSnapshot, Relation, Table, TableName, View
from rewriter.context import RewriteContext, TimePoint
from rewriter.functions import check_functions
from rewriter.name_resolution import position_of


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time of the statement, and the parameter that holds its version."""

    point: TimePoint
    parameter: str

    @property
    def version(self) -> exp.Placeholder:
        """The version, a BIGINT."""
        return exp.Placeholder(this=self.parameter)


def context_at(context: RewriteContext, moment: Moment) -> RewriteContext:
    """The same with the catalog of a moment, and the session's temporary relations of now.

    Who may see what is said by the grants and policies of today.
    """
    own = context.catalog
    catalog = moment.point.catalog.with_own(
        own.own_relations(), own.own_sequences(), own.own_definitions()
    )
    return replace(context, catalog=replace(catalog, access=own.access))


def present_view(name: TableName, moment: Moment | None) -> View | None:
    """A view that did not exist at the moment is used as it is now, over the tables of then."""
    if moment is None or not moment.point.history:
        return None
    found = moment.point.history[-1][1].get(name)
    return found if isinstance(found, View) else None


class Span(Enum):
    """Which rows a clause asks for."""

    AS_OF = "as of"
    FROM = "from .. to"
    BETWEEN = "between"
    CONTAINED = "contained in"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class TimeTravelClause:
    """A time travel clause: its span, and none, one or two points."""

    span: Span
    points: tuple[PointRequest, ...]


HISTORY_FUNCTIONS = {
    "table_history": (1, 1),
    "table_changes": (2, 3),
    "table_blame": (1, 2),
    "table_diff": (2, 3),
}
"""Table functions over the past, with the least and the most arguments they take."""
BY_COLUMN = "columns"
"""The option of table_blame that asks for each column by itself."""
_USAGE = {
    "table_history": "a table: table_history('t')",
    "table_changes": "a table and one or two points: table_changes('t', from, to)",
    "table_blame": "a table, and perhaps a point: table_blame('t', point, columns => true)",
    "table_diff": "a table and one or two points: table_diff('t', from, to)",
}
_OPTION = (exp.Kwarg, exp.PropertyEQ)
"""An argument by its name: ``name => value``, ``name := value``."""
_LAST_VERSION = 2**63 - 1
_KINDS = {
    "AS OF": Span.AS_OF,
    "FROM": Span.FROM,
    "BETWEEN": Span.BETWEEN,
    "CONTAINED IN": Span.CONTAINED,
    "ALL": Span.ALL,
}
_EDGES = {
    Span.AS_OF: (TransactionBoundary.AT,),
    Span.FROM: (TransactionBoundary.AT, TransactionBoundary.BEFORE),
    Span.BETWEEN: (TransactionBoundary.AT, TransactionBoundary.AT),
    Span.CONTAINED: (TransactionBoundary.BEFORE, TransactionBoundary.AT),
    Span.ALL: (),
}


def clause_of(table: exp.Table) -> TimeTravelClause | None:
    """The time travel clause of a table reference, or None."""
    version, when = table.args.get("version"), table.args.get("when")
    if version is None and when is None:
        return None
    if version is not None and when is not None:
        raise _refusal(table, "two points in time for one table", "name one")
    if when is not None:
        return _historical_clause(when, table)
    assert isinstance(version, exp.Version)
    span = _KINDS.get(str(version.args.get("kind")).upper())
    if span is None:
        raise _refusal(table, f"the clause {version.sql(dialect='duckdb')}", "use AS OF")
    given = version.expression
    parts = list(given.expressions) if isinstance(given, exp.Tuple) else [given]
    edges = _EDGES[span]
    if span is not Span.ALL and (len(parts) != len(edges) or None in parts):
        raise PalimpsestError(
            Code.SYNTAX,
            f"{span.value.upper()} needs {len(edges)} points in time",
            advice="see docs/sql.md for the spellings of time travel",
            position=position_of(table),
        )
    by_number = str(version.this).upper() == "VERSION"
    where = position_of(table)
    points = [
        point_request(part, edge, by_number=by_number, position=where)
        for part, edge in zip(parts if edges else [], edges, strict=True)
    ]
    return TimeTravelClause(span, tuple(points))


def _historical_clause(when: exp.HistoricalData, table: exp.Table) -> TimeTravelClause:
    prefix = str(when.this if isinstance(when.this, str) else when.name).upper()
    kind = str(when.args.get("kind")).upper()
    if prefix != "AT" or kind not in {"TIMESTAMP", "VERSION"}:
        raise _refusal(
            table,
            f"{prefix} ({kind} => ..)",
            "use AT (TIMESTAMP => ..) or AT (VERSION => ..)",
        )
    point = point_request(
        when.expression,
        TransactionBoundary.AT,
        by_number=kind == "VERSION",
        position=position_of(table),
    )
    return TimeTravelClause(Span.AS_OF, (point,))


def point_request(
    expression: exp.Expr, edge: TransactionBoundary, *, by_number: bool, position: Position | None
) -> PointRequest:
    """The request for a point; ``by_number`` takes version numbers as well as timestamps."""
    expression = expression.copy()
    text = expression.sql(dialect="duckdb")
    found = next(expression.find_all(exp.Query, exp.Table, exp.Column, exp.AggFunc), None)
    if found is not None:
        raise PalimpsestError(
            Code.TIME_POINT,
            f"{text} is not a fixed point in time",
            advice="use literals, parameters and functions of them, such as"
            " now() - INTERVAL '1 day'",
            position=position_of(found) or position,
        )
    check_functions(expression)
    if by_number:
        shown = exp.cast(expression, "VARCHAR", dialect="duckdb")
        number: exp.Expr = exp.Coalesce(
            this=exp.TryCast(this=shown, to=exp.DataType.build("BIGINT")),
            expressions=[_microseconds(exp.cast(shown.copy(), "TIMESTAMPTZ", dialect="duckdb"))],
        )
    else:
        number = _microseconds(exp.cast(expression, "TIMESTAMPTZ", dialect="duckdb"))
    query = Query.of(exp.select(exp.alias_(number, "version")))
    is_number = by_number and isinstance(expression, exp.Literal) and not expression.is_string
    return PointRequest(query, edge, text, position, is_number)


@dataclass(frozen=True, slots=True)
class HistoryCall:
    """A call of one of HISTORY_FUNCTIONS: the table, none to two points, and BY_COLUMN."""

    table: exp.Table
    points: tuple[PointRequest, ...]
    by_column: bool = False


def history_call(call: exp.Expr) -> HistoryCall:
    """The table and the points of a call of one of HISTORY_FUNCTIONS."""
    name = str(call.name).lower()
    arguments = [a for a in call.expressions if not isinstance(a, _OPTION)]
    by_column = _asks_by_column(call, name)
    least, most = HISTORY_FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        raise _wrong_call(call, f"{name} takes {_USAGE[name]}")
    named = arguments[0]
    if not (isinstance(named, exp.Literal) and named.is_string):
        raise _wrong_call(call, f"{name} takes the table's name as a string")
    try:
        table = exp.to_table(named.name, dialect="duckdb")
    except SqlglotError as error:
        raise _wrong_call(call, f"'{named.name}' is not the name of a table") from error
    given = arguments[1:]
    edges = [TransactionBoundary.AT] * len(given)
    if most > 2:
        # From one point to another, which is now unless it is given.
        given = given if len(given) > 1 else [*given, exp.Literal.number(_LAST_VERSION)]
        first = TransactionBoundary.AT if name == "table_diff" else TransactionBoundary.BEFORE
        edges = [first, TransactionBoundary.AT]
    where = position_of(call)
    points = [
        point_request(point, edge, by_number=True, position=where)
        for point, edge in zip(given, edges, strict=True)
    ]
    return HistoryCall(table, tuple(points), by_column)


def _asks_by_column(call: exp.Expr, name: str) -> bool:
    """The value of BY_COLUMN; raises for other options, and where the function takes none."""
    asked = False
    for option in call.expressions:
        if not isinstance(option, _OPTION):
            continue
        value = option.expression
        is_known = name == "table_blame" and option.this.name.lower() == BY_COLUMN
        if not is_known or not isinstance(value, exp.Boolean):
            raise _wrong_call(call, f"{name} takes {_USAGE[name]}")
        asked = bool(value.this)
    return asked


def _wrong_call(call: exp.Expr, message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.UNKNOWN_FUNCTION,
        message,
        advice="docs/time-travel.md says how the past is read",
        position=position_of(call),
    )


def session_point(text: str, dialect: str) -> PointRequest:
    """The point of the setting ``as_of``: a version, a timestamp, or an expression."""
    return point_request(
        point_expression(text, dialect),
        TransactionBoundary.AT,
        by_number=text.isdigit(),
        position=None,
    )


def point_expression(text: str, dialect: str) -> exp.Expr:
    """A point as people give it outside of SQL, as an expression: see ``session_point``."""
    if text.isdigit():
        return exp.Literal.number(int(text))
    return _expression(text, dialect) or exp.Literal.string(text)


def _expression(text: str, dialect: str) -> exp.Expr | None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return None
    try:
        parsed = sqlglot.parse_one(text, read=dialect)
    except SqlglotError:
        return None
    calls = parsed.find(exp.Func, exp.Cast, exp.Interval) is not None
    return parsed if calls else None


def _microseconds(moment: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="epoch_us", expressions=[moment])


def _refusal(table: exp.Table, what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{what} is not supported",
        advice=advice,
        position=position_of(table),
    )


def check_versioned(
    found: Relation, node: exp.Expr, catalog: CatalogSnapshot, span: Sequence[Moment] = ()
) -> Table:
    """The table whose past a clause reads, in a span of time.

    Raises WRONG_OBJECT for views and temporary tables, and TIME_POINT for a span that begins before
    its rows moved here from another journal.
    """
    if isinstance(found, View):
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{found.name} is a view, whose rows have no versions",
            advice="name its tables, or read the view AS OF a point",
            position=position_of(node),
        )
    if found.materialized is not None:
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{found.name} is a materialized view, whose rows have no history",
            advice="name its tables, or read the view AS OF a point, which asks its query",
            position=position_of(node),
        )
    if catalog.is_own(found.name):
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{found.name} is a temporary table, which keeps no history",
            advice=f"use an ordinary table; one that it hides is {catalog.home}.{found.name.name}",
            position=position_of(node),
        )
    if span and moved_from(found) and span[0].point.catalog.by_id(found.id) is None:
        raise PalimpsestError(
            Code.TIME_POINT,
            f"the rows of {found.name} moved to another journal when its primary key changed,"
            " and the span begins before that",
            advice="begin after that, or end before it; a read AS OF a point finds either",
            position=position_of(node),
        )
    return found
