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

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, fold
from journal.model.trees import copy_tree, with_changed_trees
from journal.sql.builders import call, fill, sources_of
from journal.sql.lowering.qualify import rank_distinct
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import DIALECTS
from rewriter.functions import function_name
from rewriter.name_resolution import position_of, table_name
from rewriter.reading.duckdb_checks import CHECKED, check_node, day_of_text, is_moment_text
from rewriter.reading.duckdb_floats import COMPARISONS, assigned, compared, exact_of, sum_of
from rewriter.reading.duckdb_quantiles import spell_median, spell_quantile, spell_within
from rewriter.reading.duckdb_types import FLOATS, TEXTS, DuckDBTypes
from rewriter.reading.joined_stars import put_joined_in_place
from rewriter.reading.spelling import result_spelling
from rewriter.reading.value_types import ENUM_TYPE, KIND, UNTOLD
from rewriter.statement import Explain, SqlStatement, Statement
from rewriter.statements.own_statement import OwnStatement

_OWN_TEXT = FLOATS | {"INTERVAL", "BLOB"}
_WHOLE_TYPES = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_TRUE_BUT_ZERO = FLOATS | {"TINYINT", "SMALLINT", "BIGINT", "HUGEINT", "DECIMAL"}
"""Numbers of which PostgreSQL makes no BOOLEAN."""
_GENERATOR = sqlglot.Dialect.get_or_raise("duckdb").generator()
_BYTE = "CASE WHEN v BETWEEN -128 AND 127 THEN v END"


def in_words_of_postgres(statement: Statement, context: RewriteContext) -> Statement:
    """A statement of DuckDB's dialect as a PostgreSQL store takes it; others as they are."""
    if DIALECTS.get(context.dialect) != "duckdb" or not context.capabilities.postgres_functions:
        return statement
    if not isinstance(statement, SqlStatement | Explain | OwnStatement):
        return statement
    return with_changed_trees(statement, lambda tree: _changed(tree, context))


def _changed(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    for node in tree.find_all(*CHECKED):
        check_node(node)
    if isinstance(tree, exp.Alter) or (isinstance(tree, exp.Create) and tree.kind == "INDEX"):
        return tree
    types = DuckDBTypes(context)
    if not any(_in_words_of_postgres(node, types) is not None for node in tree.find_all(*_SPELLED)):
        return _with_whole_sums(tree, types)
    holder = exp.Paren(this=copy_tree(tree))
    for node in reversed(list(holder.find_all(*_SPELLED))):
        made = _in_words_of_postgres(node, types)
        if made is None:
            continue
        made.meta.setdefault(KIND, types.of(node).kind)
        if isinstance(node.parent, exp.Select | exp.Returning) and node.arg_key == "expressions":
            made = exp.Alias(this=made, alias=ident(result_spelling(node)))
        node.replace(made)
    return _with_whole_sums(holder.this, types)


def _in_words_of_postgres(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """What stands for a node; None for one that stays, as in definitions, which people read."""
    if node.find_ancestor(exp.ColumnDef, exp.Constraint, exp.CheckColumnConstraint) is not None:
        return None
    return _SPELLED[type(node)](node, types) if type(node) in _SPELLED else None


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
        ends = [place.args.get(name) or exp.Null() for name in ("this", "expression")]
        return call("text_part", node.this, *ends)
    if place is None or not (types.kind_of(node.this) in TEXTS or kind.endswith("[][]")):
        return None
    # What sqlglot has taken from the number, if the value is a list to it, is in it again.
    (number,) = _GENERATOR.bracket_offset_expressions(node)
    name = "text_at" if types.kind_of(node.this) in TEXTS else "inner_list"
    return call(name, node.this, number)


def _cast(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    assert isinstance(node, exp.Cast)
    to, value = node.to, node.this
    if to.this in {exp.DType.TEXT, exp.DType.VARCHAR} and not to.expressions:
        return _duckdb_text(value, types) if _has_own_text(value, types) else None
    if is_moment_text(node):
        said = day_of_text(value.name, node)
        return None if said is None else exp.Cast(this=exp.Literal.string(said), to=to.copy())
    is_text = types.kind_of(value) in TEXTS
    if (to.this in _WHOLE_TYPES or to.this is exp.DType.TINYINT) and is_text:
        return exp.Cast(this=exp.cast(value.copy(), "BIGNUM"), to=to.copy())
    if to.this is exp.DType.BOOLEAN and types.kind_of(value) in _TRUE_BUT_ZERO:
        other = exp.NEQ(this=exp.paren(value.copy(), copy=False), expression=exp.Literal.number(0))
        return exp.paren(other, copy=False)
    number = exact_of(value, to, types)
    return None if number is None else exp.Cast(this=number, to=to.copy())


def _has_own_text(value: exp.Expr, types: DuckDBTypes) -> bool:
    kind = types.of(value).kind or ""
    return types.kind_of(value) in _OWN_TEXT or (kind.endswith("[]") and "[][]" not in kind)


def _duckdb_text(value: exp.Expr, types: DuckDBTypes) -> exp.Expr:
    """The text of a value as DuckDB writes it; of FLOATs PostgreSQL makes a DOUBLE."""
    is_made = isinstance(value.unnest(), exp.Binary) and types.kind_of(value) == "FLOAT"
    return call("shown", exp.cast(value.copy(), "FLOAT") if is_made else value)


def _try_cast(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    assert isinstance(node, exp.Cast)
    to, value = node.to, node.this
    if to.this is exp.DType.TINYINT:
        tried = exp.TryCast(this=value.copy(), to=exp.DataType(this=exp.DType.SMALLINT))
        return exp.paren(fill(_BYTE, v=_try_cast(tried, types) or tried), copy=False)
    if to.this in _WHOLE_TYPES and types.kind_of(value) in TEXTS:
        number = exp.TryCast(this=value.copy(), to=exp.DataType(this=exp.DType.BIGNUM))
        number.meta[KIND] = "DECIMAL"
        text = exp.cast(call("round", number), "VARCHAR")
        return exp.TryCast(this=text, to=to.copy())
    exact = exact_of(value, to, types)
    return None if exact is None else exp.TryCast(this=exact, to=to.copy())


def _arithmetic(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """Of small numbers the result is as small; the remainder of a DOUBLE is one."""
    kinds = {types.kind_of(side) for side in (node.this, node.expression)}
    if isinstance(node, exp.Mod) and FLOATS & kinds:
        return call("float_remainder", node.this, node.expression)
    kind = types.kind_of(node)
    if kind in kinds and (kind == "TINYINT" or (kind == "SMALLINT" and len(kinds) > 1)):
        return exp.cast(exp.paren(node.copy(), copy=False), kind, dialect="duckdb")
    return None


def _divided(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A part of an interval is one."""
    if node.args.get("typed") or types.kind_of(node.this) != "INTERVAL":
        return None
    made = node.copy()
    made.set("typed", True)
    return made


def _joined(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """Texts of values that are joined with others."""
    parts = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
    if isinstance(node, exp.DPipe) and types.kind_of(node) != "VARCHAR":
        return None
    shown = [_text_of(part, types) for part in parts]
    if all(new is old for new, old in zip(shown, parts, strict=True)):
        return None
    made = node.copy()
    if isinstance(node, exp.DPipe):
        made.set("this", shown[0].copy())
        made.set("expression", shown[1].copy())
    else:
        made.set("expressions", [part.copy() for part in shown])
    return made


def _text_of(value: exp.Expr, types: DuckDBTypes) -> exp.Expr:
    if _has_own_text(value, types):
        return _duckdb_text(value, types)
    return exp.cast(value.copy(), "VARCHAR") if types.kind_of(value) == "BOOLEAN" else value


def _like(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """Without ESCAPE nothing escapes."""
    pattern = node.expression
    if isinstance(node.parent, exp.Escape) or isinstance(pattern, exp.Any | exp.All | exp.Tuple):
        return None
    if isinstance(pattern, exp.Literal) and "\\" not in pattern.name:
        return None
    return exp.Escape(this=node.copy(), expression=exp.Literal.string(""))


def _similar(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    if isinstance(node.parent, exp.Escape):
        return None
    return exp.RegexpFullMatch(this=node.this.copy(), expression=node.expression.copy())


def _extract(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    return call("date_part", node.name.lower(), node.expression)


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


def _to_whole(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A DOUBLE, if it is of a HUGEINT."""
    if types.kind_of(node.this) != "HUGEINT" or node.args.get("decimals") is not None:
        return None
    return exp.cast(node.copy(), "DOUBLE")


def _boundless(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """A function that gives NaN or an infinite number where PostgreSQL's own fails."""
    value = node.this.unnest()
    is_fine = isinstance(value, exp.Literal) and not value.is_string
    if is_fine and isinstance(node, exp.Sin | exp.Cos | exp.Tan | exp.Sqrt):
        return None
    if isinstance(node, exp.Ln):
        return call("boundless_log", node.this, "ln")
    if isinstance(node, exp.Log):
        return None if node.expression is not None else call("boundless_log", node.this, "10")
    return call(f"boundless_{node.key}", node.this)


def _power(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A DOUBLE, also of numbers that PostgreSQL has another such function for."""
    if types.kind_of(node.this) in FLOATS:
        return None
    base = exp.cast(exp.paren(node.this.copy(), copy=False), "DOUBLE")
    base.meta[KIND] = "DOUBLE"
    made = node.copy()
    made.set("this", base)
    return made


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


def _series(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """Between two days: moments without a zone."""
    start, end = node.args.get("start"), node.args.get("end")
    if not isinstance(start, exp.Expr) or types.kind_of(start) != "DATE" or end is None:
        return None
    made = node.copy()
    made.set("start", exp.cast(start.copy(), "TIMESTAMP", dialect="duckdb"))
    made.set("end", exp.cast(end.copy(), "TIMESTAMP", dialect="duckdb"))
    return made


def _as_json(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    is_one = function_name(node) in {"to_json", "json_quote"} and len(node.expressions) == 1
    return call("json_of", node.expressions[0]) if is_one else None


def _row(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """A row as an output is a STRUCT."""
    output = node.parent if isinstance(node.parent, exp.Alias) else node
    in_values = isinstance(node.parent, exp.Tuple) and isinstance(node.parent.parent, exp.Values)
    if in_values or (isinstance(output.parent, exp.Select) and output.arg_key == "expressions"):
        raise _no_struct("a row as an output", node)
    return None


def _whole_row(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The name of a table stands for a STRUCT of its columns, if no column has the name."""
    select = node.parent.parent if isinstance(node.parent, exp.Alias) else node.parent
    if not isinstance(node, exp.Column) or not isinstance(select, exp.Select) or node.table:
        return None
    if node.arg_key != "expressions" and not isinstance(node.parent, exp.Alias):
        return None
    for source in sources_of(select):
        is_meant = fold(source.alias_or_name) == fold(node.name)
        if (
            is_meant
            and isinstance(source, exp.Table | exp.Subquery)
            and _lacks(source, node, types)
        ):
            raise _no_struct("a whole row as a value", node)
    return None


def _lacks(source: exp.Expr, node: exp.Column, types: DuckDBTypes) -> bool:
    """True for a table of which is known that it has no column of a name."""
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return False
    found = types.context.catalog.get(table_name(source, types.context))
    return isinstance(found, Table) and found.find(node.name) is None


def _no_struct(what: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"a PostgreSQL store has no STRUCT values, such as {what}",
        advice="list the columns",
        position=position_of(node),
    )


def _select(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """DISTINCT ON beside an ORDER BY that does not begin with it; stars over JOIN .. USING."""
    assert isinstance(node, exp.Select)
    placed = put_joined_in_place(node, types.context)
    return _chosen(placed or node) or placed


def _chosen(node: exp.Select) -> exp.Expr | None:
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
    name = _FULL_NAMES.get(kind, kind.replace(", ", ","))
    return exp.Literal.string(name)


_FULL_NAMES = {
    "INT": "INTEGER",
    "TEXT": "VARCHAR",
    "INT128": "HUGEINT",
    "REAL": "FLOAT",
    "INT[]": "INTEGER[]",
    "TEXT[]": "VARCHAR[]",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
}
Spell = Callable[[exp.Expr, DuckDBTypes], exp.Expr | None]
_SPELLED: dict[type[exp.Expr], Spell] = {
    exp.Bracket: _bracket,
    exp.Cast: _cast,
    exp.TryCast: _try_cast,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod), _arithmetic),
    exp.Div: _divided,
    **dict.fromkeys((exp.DPipe, exp.Concat, exp.ConcatWs), _joined),
    **dict.fromkeys((exp.Like, exp.ILike), _like),
    exp.SimilarTo: _similar,
    exp.Extract: _extract,
    exp.Sum: _sum,
    **dict.fromkeys((exp.Floor, exp.Ceil), _to_whole),
    **dict.fromkeys((exp.Avg, exp.LogicalAnd, exp.LogicalOr), _of_null),
    **dict.fromkeys((exp.BitwiseAndAgg, exp.BitwiseOrAgg, exp.BitwiseXorAgg), _of_null),
    **dict.fromkeys((exp.Sin, exp.Cos, exp.Tan, exp.Cot, exp.Asin, exp.Acos), _boundless),
    **dict.fromkeys((exp.Sqrt, exp.Ln, exp.Log), _boundless),
    **dict.fromkeys((exp.Pow, exp.Exp), _power),
    exp.Median: spell_median,
    exp.WithinGroup: spell_within,
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc), spell_quantile),
    exp.Count: _counted,
    exp.Typeof: _typeof,
    exp.GenerateSeries: _series,
    exp.Anonymous: _as_json,
    exp.Tuple: _row,
    exp.Column: _whole_row,
    exp.Select: _select,
    **dict.fromkeys((exp.Insert, exp.Update, exp.Merge), assigned),
    **dict.fromkeys(COMPARISONS, compared),
}
