"""SUMMARIZE in words that PostgreSQL stores have: one query over all columns. Pure.

WITH summarized(c0, c1) AS (query)
SELECT 'a', 'INTEGER', shown(MIN(c0)), .. UNION ALL SELECT 'b', 'VARCHAR', shown(MIN(c1)), ..

Quantiles are those between the middles of the ranks, as DuckDB's are of few rows; of many rows
DuckDB's are near to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.sql.builders import fill
from journal.sql.relations import ident
from rewriter.definitions.descriptions import shown_type

_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "HUGEINT", "INT128"})
_BROKEN = frozenset({"DOUBLE", "FLOAT", "REAL"})
_MOMENTS = {
    "DATE": "TIMESTAMP '1970-01-01'",
    "TIMESTAMP": "TIMESTAMP '1970-01-01'",
    "TIMESTAMPTZ": "TIMESTAMPTZ '1970-01-01 00:00:00+00'",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ '1970-01-01 00:00:00+00'",
    "TIME": "TIME '00:00:00'",
}
"""Where the seconds of a moment are counted from."""
_NAMES = (
    *("column_name", "column_type", "min", "max", "approx_unique", "avg", "std"),
    *("q25", "q50", "q75", "count", "null_percentage"),
)
_SOURCE = "_palimpsest_summarized"
_RANK = (
    "COALESCE(GREATEST(0, LEAST(1, ((SELECT COUNT(c) FROM {of}) * {part} - 0.5)"
    " / NULLIF((SELECT COUNT(c) FROM {of}) - 1, 0))), 0)"
)


def summary(query: exp.Expr, columns: Sequence[tuple[str, str]]) -> exp.Query:
    """The query that says what each column of another one holds; ``columns``: names and types."""
    names = [f"c{place}" for place in range(len(columns))]
    rows: list[exp.Expr] = [
        _row(place, name, shown_type(kind)) for place, (name, kind) in enumerate(columns)
    ]
    found = rows[0]
    for row in rows[1:]:
        found = exp.Union(this=found, expression=row, distinct=False)
    alias = exp.TableAlias(this=ident("found"))
    told = exp.select(*[exp.column(ident(name)) for name in _NAMES])
    told = told.from_(exp.Subquery(this=found, alias=alias)).order_by("place")
    source = exp.TableAlias(this=ident(_SOURCE), columns=[ident(name) for name in names])
    told.set("with_", exp.With(expressions=[exp.CTE(this=query.copy(), alias=source)]))
    return told


def _row(place: int, name: str, kind: str) -> exp.Expr:
    column = f"c{place}"
    value = f"CAST({column} AS VARCHAR)" if kind == "JSON" else column
    outputs = {
        "min": _text(f"MIN({value})", kind),
        "max": _text(f"MAX({value})", kind),
        "approx_unique": f"COUNT(DISTINCT {value})",
        "avg": _mean(column, kind),
        "std": f"shown(STDDEV(CAST({column} AS DOUBLE)))" if _is_number(kind) else _NOTHING,
        "q25": _quantile(column, kind, "0.25"),
        "q50": _quantile(column, kind, "0.5"),
        "q75": _quantile(column, kind, "0.75"),
        "count": "COUNT(*)",
        "null_percentage": f"CAST(ROUND(100 * (COUNT(*) - COUNT({column}))"
        " / NULLIF(COUNT(*), 0), 2) AS DECIMAL(9, 2))",
    }
    listed = ", ".join(f'{text} AS "{output}"' for output, text in outputs.items())
    start = f"SELECT {place} AS place, told AS column_name, typed AS column_type"
    sql = f"{start}, {listed} FROM {_SOURCE}"
    return fill(sql, told=exp.Literal.string(name), typed=exp.Literal.string(kind))


def _text(value: str, kind: str) -> str:
    has_own = kind in _BROKEN | {"INTERVAL", "BLOB"} or kind.endswith("[]")
    return f"shown({value})" if has_own else f"CAST({value} AS VARCHAR)"


_NOTHING = "CAST(NULL AS VARCHAR)"


def _is_number(kind: str) -> bool:
    return kind in _WHOLE | _BROKEN | {"BIGNUM"} or kind.startswith("DECIMAL")


def _mean(column: str, kind: str) -> str:
    if kind in _MOMENTS:
        return f"CAST({_moment(f'AVG({_seconds(column)})', kind)} AS VARCHAR)"
    return f"shown(AVG(CAST({column} AS DOUBLE)))" if _is_number(kind) else _NOTHING


def _quantile(column: str, kind: str, part: str) -> str:
    """The text of the value at a part of the rows."""
    is_moment = kind in _MOMENTS
    if not is_moment and not _is_number(kind):
        return _NOTHING
    digits = _digits(kind)
    exact = f"{column} * 1{'0' * digits}" if digits else column
    value = _seconds(column) if is_moment else f"CAST({exact} AS DOUBLE)"
    rank = _RANK.format(of=_SOURCE, part=part).replace("COUNT(c)", f"COUNT({column})")
    found = f"QUANTILE_CONT({value}, {rank})"
    if kind == "DATE":
        return f"CAST(DATE '1970-01-01' + CAST(nearest({found} / 86400) AS INT) AS VARCHAR)"
    if is_moment:
        return f"CAST({_moment(found, kind)} AS VARCHAR)"
    if kind in _BROKEN:
        return f"shown(CAST({found} AS {kind}))"
    last = f"0.{'0' * (digits - 1)}1" if digits else "1"
    return f"CAST(nearest({found}) * {last} AS VARCHAR)"


def _digits(kind: str) -> int:
    """How many digits a DECIMAL has behind its point; 0 for other types."""
    _, _, said = kind.removesuffix(")").partition(",")
    return int(said) if kind.startswith("DECIMAL(") and said else 0


def _seconds(column: str) -> str:
    return f"CAST(EXTRACT(EPOCH FROM {column}) AS DOUBLE)"


def _moment(seconds: str, kind: str) -> str:
    return f"({_MOMENTS[kind]} + {seconds} * INTERVAL '1 second')"
