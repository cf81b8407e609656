"""Canonical AST as SQLite's SQL, and the functions of the canonical dialect that SQLite lacks.

Values lie as SQLite has them: moments and dates as ISO text, versions as microseconds, flags as 0
and 1, decimals as REAL.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from journal.model.version import from_datetime
from journal.sql import dialects
from journal.sql.lowering.select import prepare_selects
from journal.sql.substitution import in_terms_of

_SPAN = "span"
Find = Callable[[str], exp.Query | None]
_DAYS = {"DAY": 1.0, "WEEK": 7.0, "HOUR": 1 / 24, "MINUTE": 1 / 1440, "SECOND": 1 / 86400}


def rendered(ast: exp.Expr, find: Find) -> str:
    """The text of a tree, which is left as it is; ``find`` says what relations of ours hold."""
    holder = exp.Paren(this=prepare_selects(in_terms_of(ast.copy(), find), distinct_on=False))
    for node in reversed(list(holder.find_all(exp.Expr))):
        changed = _changed(node)
        if changed is not None:
            node.replace(changed)
    return dialects.text(holder.this, None, "sqlite")


def _changed(node: exp.Expr) -> exp.Expr | None:
    match node:
        case exp.Cast():
            kind = exp.Literal.string(node.to.sql(dialect="duckdb"))
            name = "try_type" if isinstance(node, exp.TryCast) else "as_type"
            return exp.Anonymous(this=name, expressions=[node.this, kind])
        case exp.Anonymous(this=str() as name) if name.upper() == "ANY_VALUE":
            return exp.Max(this=node.expressions[0])
        case exp.Interval(this=exp.Literal() as count, unit=exp.Expr() as unit):
            days = exp.Literal.number(float(count.name) * _DAYS[unit.name.upper().rstrip("S")])
            days.meta[_SPAN] = True
            return days
        case exp.Add(this=moment, expression=days) if _is_span(days):
            return exp.Anonymous(this="shifted", expressions=[moment, days])
        case exp.Table(this=exp.GenerateSeries() as series):
            return _named(_series(series), node.args["alias"])
        case exp.Subquery(this=exp.Query() as rows) if node.alias_column_names:
            return _named(rows, node.args["alias"])
        case exp.Values() if isinstance(node.parent, exp.From | exp.Join):
            return _named(exp.Values(expressions=node.expressions), node.args["alias"])
    return None


def _is_span(value: exp.Expr) -> bool:
    return any(n.meta.get(_SPAN) for n in value.find_all(exp.Literal))


def _series(series: exp.GenerateSeries) -> exp.Select:
    ends = [series.args["start"], series.args["end"]]
    ends.append(exp.Literal.number(0 if series.args.get("is_end_exclusive") else 1))
    made = exp.Anonymous(this="series", expressions=ends)
    source = exp.Table(this=exp.Anonymous(this="json_each", expressions=[made]))
    return exp.select("value").from_(source)


def _named(rows: exp.Expr, alias: exp.TableAlias) -> exp.Expr:
    """Rows whose columns an alias names, which SQLite takes of a WITH alone."""
    cte, bare = exp.CTE(this=rows, alias=alias), exp.TableAlias(this=alias.this.copy())
    query = exp.select("*").from_(exp.Table(this=alias.this.copy()))
    query.set("with_", exp.With(expressions=[cte]))
    return exp.Subquery(this=query, alias=bare)


def _in_utc(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


_READ: dict[str, Callable[[Any], Any]] = {
    "INT": lambda value: round(Decimal(str(value))),
    "DOUBLE": float,
    "BOOLEAN": lambda value: bool({"true": 1, "false": 0}.get(str(value).lower(), value)),
    "DATE": lambda value: date.fromisoformat(str(value)[:10]),
    "TIMESTAMP": lambda value: _in_utc(value).replace(tzinfo=None),
    "TIMESTAMPTZ": _in_utc,
    "TEXT": lambda value: value.decode() if isinstance(value, bytes) else str(value),
}
_READ |= dict.fromkeys(["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"], _READ["INT"])
_STORED: dict[type, Callable[[Any], Any]] = {
    datetime: lambda value: value.isoformat(" "),
    date: date.isoformat,
    Decimal: float,
    list: json.dumps,
}


def to_python(value: Any, kind: str) -> Any:
    """A value of SQLite's as the Python value of a type; raises ValueError where it is none."""
    name, _, digits = kind.partition("(")
    if value is None or (name.startswith("TIMESTAMP") and isinstance(value, int)):
        return value
    if name == "DECIMAL":
        return round(Decimal(str(value)), int(digits.strip(")").partition(",")[2] or 3))
    return _READ.get(name, lambda same: same)(value)


def to_store(value: Any) -> Any:
    """A value of Python's as it lies in SQLite."""
    return _STORED.get(type(value), lambda same: same)(value)


def as_type(value: Any, kind: str) -> Any:
    """A value of SQLite's as it lies there in a type; raises ValueError where it is none."""
    return to_store(to_python(value, kind))


def row_hash(*values: Any) -> int:
    """A hash of a row's values."""
    return int.from_bytes(hashlib.blake2b(repr(values).encode(), digest_size=6).digest())


def _try_type(value: Any, kind: str) -> Any:
    try:
        return as_type(value, kind)
    except (ArithmeticError, ValueError):
        return None


def _shifted(moment: str, days: float) -> str:
    return (datetime.fromisoformat(moment) + timedelta(days=days)).isoformat(" ")


def _from_us(number: int | None) -> str | None:
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return None if number is None else str(start + timedelta(microseconds=number))


def add_functions(connection: sqlite3.Connection) -> None:
    """Let a connection call what texts of ours call."""
    functions: dict[str, Callable[..., Any]] = {
        "as_type": as_type,
        "try_type": _try_type,
        "shifted": _shifted,
        "epoch_us": lambda moment: moment and from_datetime(_in_utc(moment)),
        "from_us": _from_us,
        "make_timestamptz": lambda number: number,
        "now": lambda: str(datetime.now(UTC)),
        "concat_ws": lambda by, *values: by.join(str(v) for v in values if v is not None),
        "regexp": lambda pattern, value: value and re.search(pattern, value) is not None,
        "series": lambda start, end, more: json.dumps(list(range(start, end + more))),
        "row_hash": row_hash,
    }
    for name, function in functions.items():
        connection.create_function(name, -1, function)
