"""What DuckDB's dialect says in words that mean something else to PostgreSQL. Pure.

    s[1:2]                   a part of a text
    1.5::DOUBLE::VARCHAR     texts of numbers, intervals, bytes and lists as DuckDB writes them
    '3.7'::INT               a text is read as a number with a fraction, and rounded
    300::TINYINT             a number beyond a byte ends in an error
    s LIKE 'a\\_c'            a backslash escapes nothing
    sqrt(-1)                 NaN
    extract(year FROM d)     a whole number, as ``year(d)``
    sum(b)                   of whole numbers a whole number

Elsewhere the adapter of the store gives what DuckDB means by a call or an operator. What is here
goes by the types of values, or by what only DuckDB's dialect means so.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlglot
from sqlglot import exp

from journal.model.trees import copy_tree
from journal.sql.builders import call, fill
from journal.sql.lowering.qualify import rank_distinct
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import DIALECTS
from rewriter.functions import function_name
from rewriter.reading.duckdb.alike import (
    CHOICES,
    spell_choice,
    spell_list,
    spell_rows_of_values,
    spell_set,
)
from rewriter.reading.duckdb.assigned import assigned
from rewriter.reading.duckdb.casts import spell_cast, spell_joined, spell_try_cast
from rewriter.reading.duckdb.checks import CHECKED, check_node
from rewriter.reading.duckdb.floats import COMPARISONS, compared, sum_of
from rewriter.reading.duckdb.formats import spell_format
from rewriter.reading.duckdb.json import (
    MADE,
    spell_dense,
    spell_json_call,
    spell_json_cast,
    spell_json_path,
    spell_json_step,
)
from rewriter.reading.duckdb.lists import MIXED, join_lists, spell_elements, widen_lists
from rewriter.reading.duckdb.methods import with_calls_in_front
from rewriter.reading.duckdb.moments import (
    DAY_CHOICES,
    HOURS,
    SINCE_1970,
    compared_days,
    moment_of_part,
    spell_hour,
    spell_infinite,
    spell_interval,
    spell_later,
    spell_mean,
    spell_since_1970,
)
from rewriter.reading.duckdb.names import (
    columns_like,
    spell_place,
    with_outputs_in_having,
    with_own_names,
    with_stored_names,
)
from rewriter.reading.duckdb.nulls import (
    ELEMENTWISE,
    of_no_list,
    spell_joined_list,
    spell_null,
    spell_string_agg,
)
from rewriter.reading.duckdb.numbers import (
    COUNTED,
    LOGARITHMS,
    spell_arithmetic,
    spell_boundless,
    spell_counts,
    spell_logarithm,
    spell_power,
    spell_quotient,
    spell_rounded,
    spell_series,
    spell_shift,
    spell_whole,
    spell_whole_quotient,
)
from rewriter.reading.duckdb.orders import with_distinct_inside
from rewriter.reading.duckdb.outputs import COUNTS, named_outputs, spell_count, spell_made
from rewriter.reading.duckdb.patterns import (
    PATTERNED,
    spell_like,
    spell_pattern,
    spell_similar,
)
from rewriter.reading.duckdb.quantiles import (
    spell_correlation,
    spell_deviation,
    spell_median,
    spell_quantile,
    spell_within,
)
from rewriter.reading.duckdb.recursion import spell_recursion
from rewriter.reading.duckdb.rows import spell_rows
from rewriter.reading.duckdb.sources import name_series, with_laterals
from rewriter.reading.duckdb.structs import no_struct, refuse_row, refuse_whole_row
from rewriter.reading.duckdb.texts import spell_digest, spell_overlay, spell_split, spell_upper
from rewriter.reading.duckdb.truths import (
    COLLATED,
    TRUTHS,
    spell_collation,
    spell_truth,
)
from rewriter.reading.duckdb.types import TEXTS, DuckDBTypes
from rewriter.reading.joined_stars import put_joined_in_place
from rewriter.reading.row_conditions import WITH_SQL, with_changed_parts
from rewriter.reading.spelling import result_spelling
from rewriter.reading.value_types import ENUM_TYPE, KIND, UNTOLD
from rewriter.statement import Statement

_GENERATOR = sqlglot.Dialect.get_or_raise("duckdb").generator()


def in_words_of_postgres(statement: Statement, context: RewriteContext) -> Statement:
    """A statement of DuckDB's dialect as a PostgreSQL store takes it; others as they are."""
    if DIALECTS.get(context.dialect) != "duckdb" or not context.capabilities.postgres_functions:
        return statement
    if not isinstance(statement, WITH_SQL):
        return statement
    return with_changed_parts(statement, lambda tree: _changed(tree, context))


def _changed(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    for node in tree.find_all(*CHECKED):
        check_node(node)
    if isinstance(tree, exp.Create) and tree.kind == "INDEX":
        return tree
    tree = with_calls_in_front(named_outputs(tree), context)
    types = DuckDBTypes(context)
    if not any(_in_words_of_postgres(node, types) is not None for node in tree.find_all(*_KINDS)):
        return _with_whole_sums(tree, types)
    holder = exp.Paren(this=copy_tree(tree))
    for node in reversed(list(holder.find_all(*_KINDS))):
        made = _in_words_of_postgres(node, types)
        if made is None:
            continue
        made.meta.setdefault(KIND, types.of(node).kind)
        is_output = isinstance(node.parent, exp.Select | exp.Returning)
        if is_output and node.arg_key == "expressions" and not isinstance(made, _NAMED):
            made = exp.Alias(this=made, alias=ident(result_spelling(node)))
        node.replace(made)
    return _with_whole_sums(holder.this, types)


_NAMED = (exp.Column, exp.Columns)
"""What has the names of columns as an output."""


_DEFINITIONS = (
    *(exp.ColumnDef, exp.Constraint, exp.Alter, exp.CheckColumnConstraint),
    *(exp.ComputedColumnConstraint, exp.GeneratedAsIdentityColumnConstraint),
    exp.DefaultColumnConstraint,
)
"""What holds types and names, and the conditions and values within it that are computed."""


def _in_words_of_postgres(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """What stands for a node; None for one that stays, as in definitions without conditions."""
    if isinstance(node.find_ancestor(*_DEFINITIONS), exp.ColumnDef | exp.Constraint | exp.Alter):
        return None
    kind = type(node)
    made = _SPELLED[kind](node, types) if kind in _SPELLED else None
    if made is None and kind in MIXED:
        made = widen_lists(node, types)
    return spell_choice(node, types) if made is None and kind in CHOICES else made


def _with_whole_sums(tree: exp.Expr, types: DuckDBTypes) -> exp.Expr:
    """The queries inside with outputs that are whole numbers where PostgreSQL has a NUMERIC."""
    if not any(_huge_places(select, types) for select in tree.find_all(exp.Select)):
        return tree
    holder = exp.Paren(this=copy_tree(tree))
    for select in reversed(list(holder.find_all(exp.Select))):
        for place in _huge_places(select, types):
            output = select.expressions[place]
            value = output.unalias()
            name = output.args.get("alias") or ident(result_spelling(value))
            output.replace(exp.Alias(this=exp.cast(value.copy(), "INT128"), alias=name.copy()))
    return holder.this  # type: ignore[no-any-return]


def _huge_places(select: exp.Select, types: DuckDBTypes) -> list[int]:
    return [n for n, output in enumerate(select.expressions) if _is_huge(output, types)]


def _is_huge(output: exp.Expr, types: DuckDBTypes) -> bool:
    value = output.unalias()
    if isinstance(value, exp.Column | exp.Cast):
        return False
    return types.kind_of(value) == "HUGEINT"


def _bracket(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """Parts of texts, and the lists in a list."""
    assert isinstance(node, exp.Bracket)
    (place,) = node.expressions if len(node.expressions) == 1 else (None,)
    kind = types.of(node.this).kind or ""
    if isinstance(place, exp.Slice):
        if types.kind_of(node.this) not in TEXTS or place.args.get("step") is not None:
            return None
        start = place.this or exp.Literal.number(1)
        end = place.expression or exp.Neg(this=exp.Literal.number(1))
        return call("list_slice", exp.cast(node.this.copy(), "VARCHAR"), start, end)
    if place is None or not (types.kind_of(node.this) in TEXTS or kind.endswith("[][]")):
        return None
    # What sqlglot has taken from the number, if the value is a list to it, is in it again.
    (number,) = _GENERATOR.bracket_offset_expressions(node)
    name = "text_at" if types.kind_of(node.this) in TEXTS else "inner_list"
    return call(name, node.this, number)


def _extract(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    moment = moment_of_part(node.this, node.expression, types)
    return call("date_part", node.name.lower(), moment)


def _of_null(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """An aggregate of nothing but NULL, of which PostgreSQL asks the type."""
    if not isinstance(node.this, exp.Null):
        return None
    kind = "BOOLEAN" if isinstance(node, exp.LogicalAnd | exp.LogicalOr) else "INT"
    made = node.copy()
    made.set("this", exp.cast(exp.Null(), kind))
    return made


def _sum(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """How often something is true; the sum of FLOATs."""
    assert isinstance(node, exp.Sum)
    if isinstance(node.this, exp.Null):
        return _of_null(node, types)
    if types.kind_of(node.this) != "BOOLEAN":
        return sum_of(node, types)
    return exp.Sum(this=exp.cast(node.this.copy(), "INT"))


def _counted(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """``COUNT()``, and ``COUNT(DISTINCT x) OVER``, which PostgreSQL has no form for."""
    counted = node.this
    if counted is None:
        return exp.Count(this=exp.Star())
    if not (isinstance(node.parent, exp.Window) and node.arg_key == "this"):
        return None
    if not isinstance(counted, exp.Distinct) or len(counted.expressions) != 1:
        return None
    return call("count_distinct", counted.expressions[0])


def _called(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    if of_no_list(node):
        return exp.cast(exp.Null(), "INT[]", dialect="duckdb")
    if function_name(node) == "pg_sleep":
        return fill("(CASE WHEN slept IS NULL THEN 1 END)", slept=node)
    if function_name(node) == "json_array_length":
        return call("json_list_length", *node.expressions)
    if function_name(node) in {"date_part", "datepart"} and len(node.expressions) == 2:
        unit, moment = node.expressions
        if isinstance(unit, exp.Array):
            raise no_struct("several parts of a moment at once", node)
        given = moment_of_part(unit, moment, types)
        return None if given == moment else call("date_part", unit, given)
    if function_name(node) == "printf":
        return spell_format(node, types)
    if function_name(node) in SINCE_1970 and len(node.expressions) == 1:
        return spell_since_1970(node, types)
    if function_name(node) in LOGARITHMS and len(node.expressions) == 1:
        return spell_logarithm(node)
    if function_name(node) == "mad":
        return spell_deviation(node, types)
    return spell_json_call(node, types) if function_name(node) in MADE else None


def _select(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A SELECT with names and clauses that PostgreSQL has otherwise, or not."""
    assert isinstance(node, exp.Select)
    made = with_stored_names(node, types.context) or node
    made = with_own_names(made, node.parent) or made
    made = with_outputs_in_having(made) or made
    made = put_joined_in_place(made, types.context) or made
    made = with_laterals(made) or made
    made = with_distinct_inside(made, types.context) or made
    made = _chosen(made) or made
    return None if made is node else made


def _chosen(node: exp.Select) -> exp.Select | None:
    """DISTINCT ON beside an ORDER BY that does not begin with it."""
    distinct, order = node.args.get("distinct"), node.args.get("order")
    on = None if distinct is None else distinct.args.get("on")
    if on is None or order is None or node.args.get("qualify") is not None:
        return None
    first = [item.this for item in order.expressions[: len(on.expressions)]]
    if all(value in first for value in on.expressions):
        return None
    made = node.copy()
    assert isinstance(made, exp.Select)
    rank_distinct(made)
    return made


def _typeof(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The name of a type that is known as the statement is read."""
    value = node.this.unnest()
    if isinstance(value, exp.Null):
        return exp.Literal.string('"NULL"')
    kind = types.of(value).kind
    if node.find(exp.AggFunc) is not None:
        return None
    if kind is None or kind == "DECIMAL" or UNTOLD in kind or kind.startswith(ENUM_TYPE):
        return None
    element, *lists = kind.replace(", ", ",").split("[")
    return exp.Literal.string("[".join([_FULL_NAMES.get(element, element), *lists]))


def _compared(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    made = spell_rows(node, types)
    if made is None and not isinstance(node, exp.In):
        made = spell_collation(node, types)
    return _compared_alone(node, types) if made is None else made


def _compared_alone(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    return compared(node, types) or compared_days(node, types)


_FULL_NAMES = {
    "INT": "INTEGER",
    "TEXT": "VARCHAR",
    "INT128": "HUGEINT",
    "REAL": "FLOAT",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
}
Spell = Callable[[exp.Expr, DuckDBTypes], exp.Expr | None]
_SPELLED: dict[type[exp.Expr], Spell] = {
    exp.Bracket: lambda node, types: spell_json_step(node, types) or _bracket(node, types),
    exp.Dot: spell_json_step,
    **dict.fromkeys((exp.JSONExtract, exp.JSONExtractScalar), spell_json_path),
    exp.Cast: lambda node, types: spell_json_cast(node, types) or spell_cast(node, types),
    exp.TryCast: spell_try_cast,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod), spell_arithmetic),
    exp.Div: spell_quotient,
    exp.IntDiv: spell_whole_quotient,
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), spell_shift),
    exp.DPipe: lambda node, types: spell_joined(node, types) or join_lists(node, types),
    **dict.fromkeys((exp.Concat, exp.ConcatWs), spell_joined),
    **dict.fromkeys((exp.Like, exp.ILike), spell_like),
    exp.SimilarTo: spell_similar,
    **dict.fromkeys(PATTERNED, spell_pattern),
    exp.Star: lambda node, _: columns_like(node) if node.args.get("ilike") else None,
    exp.Extract: _extract,
    exp.Interval: spell_interval,
    exp.DateAdd: spell_later,
    **dict.fromkeys(HOURS, spell_hour),
    **dict.fromkeys((exp.TimeToUnix, exp.UnixToTime), spell_since_1970),
    exp.IsInf: spell_infinite,
    exp.Format: spell_format,
    exp.ParseJSON: spell_dense,
    **dict.fromkeys((exp.JSONObject, exp.JSONArray), spell_json_call),
    exp.Table: name_series,
    exp.Overlay: spell_overlay,
    exp.Upper: spell_upper,
    exp.SHA2: spell_digest,
    exp.Reverse: lambda node, _: call("reverse_graphemes", node.this),
    exp.Sum: _sum,
    **dict.fromkeys((exp.Floor, exp.Ceil), spell_whole),
    exp.Round: spell_rounded,
    **dict.fromkeys((exp.LogicalAnd, exp.LogicalOr, exp.First, exp.Last, exp.Mode), _of_null),
    exp.Avg: lambda node, types: _of_null(node, types) or spell_mean(node, types),
    **dict.fromkeys((exp.BitwiseAndAgg, exp.BitwiseOrAgg, exp.BitwiseXorAgg), _of_null),
    **dict.fromkeys((exp.Sin, exp.Cos, exp.Tan, exp.Cot, exp.Asin, exp.Acos), spell_boundless),
    **dict.fromkeys((exp.Sqrt, exp.Ln, exp.Log), spell_boundless),
    **dict.fromkeys((exp.Exp, exp.Degrees, exp.Acosh, exp.Atanh), spell_boundless),
    exp.Pow: spell_power,
    exp.Null: spell_null,
    exp.GroupConcat: spell_string_agg,
    exp.ArrayToString: spell_joined_list,
    exp.Median: spell_median,
    exp.Corr: spell_correlation,
    exp.WithinGroup: spell_within,
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc), spell_quantile),
    exp.Count: _counted,
    exp.PositionalColumn: lambda node, types: spell_place(node, types.context),
    exp.Typeof: _typeof,
    exp.GenerateSeries: spell_series,
    **dict.fromkeys(COUNTED, spell_counts),
    exp.SplitPart: spell_split,
    **dict.fromkeys((exp.Anonymous, *ELEMENTWISE), _called),
    exp.Tuple: refuse_row,
    exp.Column: refuse_whole_row,
    exp.Select: _select,
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), spell_set),
    exp.Values: spell_rows_of_values,
    exp.Array: spell_list,
    **dict.fromkeys((exp.Create, exp.Describe, exp.Summarize), spell_made),
    **dict.fromkeys(COUNTS, spell_count),
    exp.With: spell_recursion,
    **dict.fromkeys((exp.Insert, exp.Update, exp.Merge), assigned),
    **dict.fromkeys(COMPARISONS, _compared_alone),
    **dict.fromkeys(DAY_CHOICES, compared_days),
    **dict.fromkeys(TRUTHS, spell_truth),
    **dict.fromkeys((exp.Collate, exp.Ordered), spell_collation),
    **dict.fromkeys((*COLLATED, exp.In), _compared),
    **dict.fromkeys((exp.Explode, exp.Unnest), spell_elements),
}
_KINDS: tuple[type[exp.Expr], ...] = (*_SPELLED, *MIXED, *CHOICES)
