"""Of which type DuckDB makes the value of an expression, as far as it is told. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import fold
from rewriter.reading.duckdb.decimals import (
    common_decimal,
    literal_decimal,
    made_decimal,
    rounded_decimal,
    summed_decimal,
)
from rewriter.reading.list_variables import variable_of
from rewriter.reading.value_types import KIND, UNKNOWN, UNTOLD, ValueType, ValueTypes

FLOATS = frozenset({"DOUBLE", "FLOAT", "REAL"})
TEXTS = frozenset({"VARCHAR", "TEXT"})
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
"""From the narrowest."""
_UNSIGNED = frozenset({"UTINYINT", "USMALLINT", "UINTEGER", "UINT", "UBIGINT", "UHUGEINT"})
_SAME = {"INT": "INTEGER", "INT128": "HUGEINT", "TEXT": "VARCHAR", "REAL": "FLOAT"}
_SUMMED = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
COUNTING = (
    *(exp.Length, exp.StrPosition, exp.ArraySize, exp.Grouping, exp.GroupingId),
    *(exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second, exp.Quarter, exp.Week),
    *(exp.DayOfMonth, exp.DayOfWeek, exp.DayOfWeekIso, exp.DayOfYear, exp.WeekOfYear),
)
"""What gives a BIGINT."""
_OF_TEXTS = (
    *(exp.Concat, exp.ConcatWs, exp.Upper, exp.Lower, exp.Substring, exp.Trim, exp.Replace),
    *(exp.Left, exp.Right, exp.Pad, exp.Repeat, exp.RegexpReplace, exp.GroupConcat, exp.MD5),
    *(exp.TimeToStr, exp.Reverse, exp.SplitPart),
)


_DOUBLES = (
    *(exp.Avg, exp.Stddev, exp.Variance, exp.Sqrt, exp.Pow, exp.Rand, exp.Ln, exp.Log, exp.Exp),
    *(exp.Sin, exp.Cos, exp.Tan, exp.Cot, exp.Asin, exp.Acos, exp.Atan, exp.Atan2, exp.Pi),
    *(exp.Cbrt, exp.Degrees, exp.Radians, exp.Sinh, exp.Cosh, exp.Tanh, exp.Acosh, exp.Atanh),
    *(exp.StddevPop, exp.StddevSamp, exp.VariancePop, exp.Corr, exp.CovarPop, exp.CovarSamp),
    *(exp.TimeToUnix, exp.PercentRank, exp.CumeDist),
)
_DOUBLE_CALLS = frozenset(
    "log2 log10 asinh epoch fdiv even gamma lgamma product geomean geometric_mean kurtosis"
    " kurtosis_pop skewness entropy sem fsum favg kahan_sum sumkahan list_avg list_median"
    " list_product mean regr_slope regr_intercept regr_r2 regr_avgx regr_avgy regr_sxx regr_syy"
    " regr_sxy list_cosine_similarity list_distance list_dot_product list_inner_product"
    " jaccard julian cosine_distance".split()
)

MEANS = {
    **dict.fromkeys(("DATE", "TIMESTAMP"), "TIMESTAMP"),
    **{kind: kind for kind in ("TIMESTAMPTZ", "TIME", "INTERVAL")},
}
"""Of which type the mean of moments is."""
_TRUTH_CALLS = frozenset(
    f"{of}_{what}" for of in ("list", "array") for what in ("has", "has_any", "has_all", "contains")
)
_ROUNDED = (exp.Round, exp.Floor, exp.Ceil, exp.Trunc)
_KINDS: dict[type[exp.Expr], str] = {
    exp.Factorial: "HUGEINT",
    exp.Interval: "INTERVAL",
    exp.StrToTime: "TIMESTAMP",
    **dict.fromkeys(COUNTING, "BIGINT"),
    **dict.fromkeys(_OF_TEXTS, "VARCHAR"),
    **dict.fromkeys(_DOUBLES, "DOUBLE"),
    **dict.fromkeys((exp.ArrayContains, exp.ArrayContainsAll, exp.ArrayContainedBy), "BOOLEAN"),
    exp.CountIf: "HUGEINT",
    exp.ParseJSON: "JSON",
}
"""What such nodes give, whatever they are given."""


class DuckDBTypes(ValueTypes):
    """The types of expressions in one statement, by DuckDB's rules; they are its own words."""

    def kind_of(self, node: exp.Expr) -> str | None:
        """The type of a value, without the digits of a DECIMAL; None where it is not told."""
        return _without_digits(self.of(node).kind)

    def of(self, node: exp.Expr, depth: int = 0) -> ValueType:
        """The type of an expression; of a variable that of the elements that it stands for."""
        if isinstance(node, exp.Identifier | exp.Column) and KIND not in node.meta:
            found = variable_of(node)
            if isinstance(found, str):
                return ValueType(kind=found)
            if found is not None:
                kind = self.of(found, depth + 1).kind or ""
                return ValueType(kind=kind.removesuffix("[]")) if kind.endswith("[]") else UNKNOWN
        return super().of(node, depth)

    def _made_kind(self, node: exp.Expr, depth: int) -> str | None:
        if isinstance(node, exp.Literal) and node.is_string:
            return "VARCHAR"
        if isinstance(node, exp.Literal) and "e" in node.name.lower():
            return "DOUBLE"
        if isinstance(node, exp.Literal) and "." in node.name:
            return literal_decimal(node.name) or "DOUBLE"
        if isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean):
            return "BOOLEAN"
        if isinstance(node, exp.Literal) and node.is_int and int(node.name) > _LARGEST[3]:
            largest = _LARGEST[4] + isinstance(node.parent, exp.Neg)
            return "HUGEINT" if int(node.name) <= largest else "DOUBLE"
        if isinstance(node, exp.Avg) and (mean := MEANS.get(self._short(node.this, depth) or "")):
            return mean
        if type(node) in _KINDS:
            return _KINDS[type(node)]
        if isinstance(node, exp.If) and node.args.get("false") is not None:
            return self._first([node.args["true"], node.args["false"]], depth).kind
        if isinstance(node, exp.Array) and node.expressions:
            return f"{self._element(node, depth)}[]"
        if isinstance(node, _ROUNDED):
            kind = self._short(node.this, depth)
            if kind in WHOLE and isinstance(node, exp.Floor | exp.Ceil):
                return "DOUBLE"
            return kind if kind in FLOATS else rounded_decimal(node, self.of(node.this, depth).kind)
        if isinstance(node, exp.Sum):
            kind = self._short(node.this, depth)
            if kind in FLOATS:
                return "DOUBLE"
            summed = summed_decimal(self.of(_only(node.this), depth).kind)
            if summed is not None:
                return summed
            return "HUGEINT" if kind in WHOLE or kind == "BOOLEAN" else kind
        if isinstance(node, exp.Anonymous) and node.name.lower() == "list_sum":
            kind = self.of(node.expressions[0], depth).kind or ""
            element = _SAME.get(name := kind.removesuffix("[]"), name)
            return "HUGEINT" if kind.endswith("[]") and element in WHOLE else None
        if isinstance(node, exp.Anonymous) and node.name.lower() in _DOUBLE_CALLS:
            return "DOUBLE"
        if isinstance(node, exp.Anonymous) and node.name.lower() in _TRUTH_CALLS:
            return "BOOLEAN"
        if isinstance(node, exp.Median | exp.PercentileCont):
            return self._middle(node, depth)
        if isinstance(node, exp.GenerateSeries):
            kind = self._short(node.args["start"], depth)
            kind = "BIGINT" if kind in WHOLE else "TIMESTAMP" if kind == "DATE" else kind
            return kind if kind is None or isinstance(node.parent, exp.Table) else f"{kind}[]"
        if isinstance(node, exp.Div | exp.IntDiv):
            return self._quotient(node, depth)
        if isinstance(node, _SUMMED):
            return self._of_sum(node, depth)
        if isinstance(node, exp.UnixToTime):
            # Of a number of milliseconds; ``to_timestamp`` has a zone.
            return "TIMESTAMP" if node.args.get("scale") is not None else "TIMESTAMPTZ"
        if isinstance(node, exp.Anonymous) and node.name.lower() in {"date_part", "datepart"}:
            unit = node.expressions[0].name.lower()
            return "DOUBLE" if unit in {"epoch", "julian"} else "BIGINT"
        if isinstance(node, exp.DPipe):
            kinds = [self._short(side, depth) for side in (node.this, node.expression)]
            return "VARCHAR" if TEXTS & {*kinds} else None
        return super()._made_kind(node, depth)

    def _first(self, nodes: list[exp.Expr], depth: int) -> ValueType:
        """What a choice between values is: of whole numbers the widest."""
        told = [node for node in nodes if not isinstance(node, exp.Null)]
        kinds = [self.of(node, depth + 1).kind for node in told]
        kind = common_decimal(kinds)
        if kind is None:
            shorts = map(_without_digits, kinds)
            kind = _widest_whole(list(zip(told, shorts, strict=True)))
        return super()._first(nodes, depth) if kind is None else ValueType(kind=kind)

    def _in_source(self, source: exp.Expr, name: str, depth: int) -> ValueType | None:
        """Also of the elements that UNNEST gives."""
        alias = source.args.get("alias")
        if isinstance(source, exp.Unnest) and isinstance(alias, exp.TableAlias):
            names = [fold(column.name) for column in alias.columns] or [fold(alias.name)]
            if names[0] == fold(name) and len(source.expressions) == 1:
                kind = self.of(source.expressions[0], depth + 1).kind or ""
                return ValueType(kind=kind.removesuffix("[]")) if kind.endswith("[]") else None
        return super()._in_source(source, name, depth)

    def _element(self, node: exp.Array, depth: int) -> str:
        """The type of a list's elements."""
        values = [exp.Subquery(this=v) if isinstance(v, exp.Query) else v for v in node.expressions]
        told = [value for value in values if not isinstance(value, exp.Null)]
        kinds = {self.of(value, depth).kind for value in told}
        shorts = {_without_digits(kind) for kind in kinds}
        if FLOATS & shorts and shorts <= {*WHOLE, *FLOATS, "DECIMAL"}:
            return "DOUBLE" if "DOUBLE" in shorts else "FLOAT"
        if len(kinds) > 1 and not shorts <= {*WHOLE, "DECIMAL"}:
            return UNTOLD
        return self._first(told, depth).kind or UNTOLD

    def _short(self, node: exp.Expr, depth: int) -> str | None:
        return _without_digits(self.of(_only(node), depth).kind)

    def _middle(self, node: exp.Expr, depth: int) -> str | None:
        """The type of a value between others: a DOUBLE of whole numbers, else that of these."""
        part = node.args.get("expression")
        if isinstance(node.parent, exp.WithinGroup) or isinstance(part, exp.Array):
            return None
        return (
            "DOUBLE" if self._short(node.this, depth) in WHOLE else self.of(node.this, depth).kind
        )

    def _quotient(self, node: exp.Binary, depth: int) -> str | None:
        kinds = [self._short(side, depth) for side in (node.this, node.expression)]
        if kinds[0] == "INTERVAL":
            return "INTERVAL"
        if isinstance(node, exp.IntDiv) and (None in kinds or set(kinds) <= {*WHOLE}):
            return self._of_sum(node, depth)
        narrow = FLOATS & {*kinds} and not {"DOUBLE", None} & {*kinds}
        return "FLOAT" if narrow else "DOUBLE"

    def _of_sum(self, node: exp.Binary, depth: int) -> str | None:
        """Of whole numbers the wider type; a constant takes the type of the other side."""
        sides = (node.this, node.expression)
        kinds = [self._short(side, depth) for side in sides]
        if any(kind in _UNSIGNED for kind in kinds):
            return None
        if FLOATS & {*kinds}:
            return "DOUBLE" if {"DOUBLE", None} & {*kinds} else "FLOAT"
        if isinstance(node, exp.Add | exp.Sub) and kinds[0] == "DATE":
            if kinds[1] == "INTEGER":
                return "DATE"
            if kinds[1] == "DATE" and isinstance(node, exp.Sub):
                return "BIGINT"
        made = made_decimal(node, *(self.of(side, depth).kind for side in sides))
        kind = made or _widest_whole(list(zip(sides, kinds, strict=True)))
        return super()._made_kind(node, depth) if kind is None else kind


def _only(node: exp.Expr) -> exp.Expr:
    """The one value behind DISTINCT; others as they are."""
    while isinstance(node, exp.Distinct) and len(node.expressions) == 1:
        node = node.expressions[0]
    return node


def _without_digits(kind: str | None) -> str | None:
    """A type without what narrows it; that of a list as it is."""
    if kind is None or kind.endswith("]"):
        return kind
    name = kind.partition("(")[0]
    return _SAME.get(name, name)


def _widest_whole(values: Sequence[tuple[exp.Expr, str | None]]) -> str | None:
    """The type of whole numbers together, of which constants take that of the others if they fit.

    None for no values, and for some that are not known to be whole.
    """
    kinds = [kind for _, kind in values]
    if not kinds or not {*kinds} <= {*WHOLE}:
        return None
    bound = [kind for node, kind in values if _constant(node) is None]
    top = max((WHOLE.index(kind or "") for kind in bound), default=-1)
    for node, kind in values:
        number = _constant(node)
        if number is not None and (top < 0 or number > _LARGEST[top]):
            top = max(top, WHOLE.index(kind or ""))
    return WHOLE[top]


def _constant(node: exp.Expr) -> int | None:
    """A whole number that is written out, without its sign."""
    value = node.unnest()
    value = value.this if isinstance(value, exp.Neg) else value
    return int(value.name) if isinstance(value, exp.Literal) and value.is_int else None


_LARGEST = (2**7 - 1, 2**15 - 1, 2**31 - 1, 2**63 - 1, 2**127 - 1)
