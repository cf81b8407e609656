"""PostgreSQL's functions in FROM that give rows of texts and of JSON, on every store. Pure.

FROM string_to_table('a,b', ',') AS g(v)        FROM (SELECT string_to_table('a,b', ',') AS v) AS g
FROM json_array_elements(j)                     FROM (SELECT json_array_elements(j) AS value) ..
FROM generate_series(5, 9) WITH ORDINALITY AS g(v, n)    the same with the number of each row
FROM upper('a') AS u                            FROM (SELECT upper('a') AS u) AS u
FROM generate_series(0.5, 3)                    FROM (SELECT generate_series(0.5, 3) AS ..
FROM json_each(j)                               the same of its keys, and the value of each
FROM json_to_recordset(j) AS x(a int, b text)   FROM (SELECT CAST(r ->> 'a' AS INT) AS a, ..
FROM json_populate_record(NULL::t, j)           the same with the columns of the table t
FROM json_populate_record(NULL::record, j) AS x(a int)    the same with those behind AS
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import STRUCT
from journal.model.schema import Table, fold
from journal.sql.builders import call, fill
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.definitions.user_types import find_type, unknown_type
from rewriter.functions import function_name, is_table_function
from rewriter.name_resolution import position_of, table_name
from rewriter.reading.postgres.json.json_kinds import CALLED
from rewriter.reading.postgres.quoting import not_here
from rewriter.reading.value_types import ValueTypes
from rewriter.reading.visible_columns import relations_of
from rewriter.syntax.postgres_names import postgres_name

_ROW = "row_of_json"
_KEY = "key_of_json"
_VALUE = "value"
_SERIES = "generate_series"
_REPEAT = "repeat"
"""A text so many times, as elsewhere; of this name DuckDB has a source of so many rows."""
_SOURCES = (exp.UDTF, exp.GenerateSeries, exp.JSONTable, exp.XMLTable, exp.OpenJSON)
_ONE_COLUMN = {
    _SERIES: None,
    _REPEAT: None,
    "string_to_table": None,
    "regexp_split_to_table": None,
    "regexp_matches": None,
    "jsonb_path_query": None,
    "jsonb_path_query_tz": None,
    **{f"{kind}_object_keys": None for kind in ("json", "jsonb")},
    **{f"{kind}_array_elements": _VALUE for kind in ("json", "jsonb")},
    **{f"{kind}_array_elements_text": _VALUE for kind in ("json", "jsonb")},
}
"""Functions of one column, and the name that it has whatever the source is called."""
_PAIRS = frozenset({"json_each", "jsonb_each", "json_each_text", "jsonb_each_text"})
_RECORDS = frozenset(
    f"{kind}_{verb}"
    for kind in ("json", "jsonb")
    for verb in ("to_record", "to_recordset", "populate_record", "populate_recordset")
)


SOURCE_FUNCTIONS = (frozenset(_ONE_COLUMN) - {_SERIES}) | _PAIRS | _RECORDS


def is_postgres_source(node: exp.Expr) -> bool:
    """True for a source of FROM that calls one of these functions."""
    called = node.this if isinstance(node, exp.Table | exp.Lateral) else None
    if isinstance(called, exp.GenerateSeries):
        return bool(node.args.get("ordinality"))
    if isinstance(called, exp.Repeat) or _is_one_value(called):
        return True
    if not isinstance(called, exp.Anonymous):
        return False
    return function_name(called) in SOURCE_FUNCTIONS


def _is_one_value(called: exp.Expr | None) -> bool:
    """True for ``FROM upper('a')``: a function that makes one value is one row of it."""
    if not isinstance(called, exp.Func) or isinstance(called, exp.Anonymous | exp.AggFunc):
        return False
    return not isinstance(called, _SOURCES) and not is_table_function(called)


def is_numeric_series(node: exp.Expr, types: ValueTypes) -> bool:
    """True for a source ``generate_series`` of NUMERIC."""
    called = node.this if isinstance(node, exp.Table | exp.Lateral) else None
    return isinstance(called, exp.GenerateSeries) and _counts_numeric(called, types)


def _counts_numeric(series: exp.Expr, types: ValueTypes) -> bool:
    bounds = (series.args.get(name) for name in ("start", "end", "step"))
    return any((types.of(b).kind or "").startswith("DECIMAL") for b in bounds if b is not None)


_NUMBERS = (
    "CASE WHEN s = 0 THEN error('step size cannot equal zero') ELSE list_transform(range(0, q + 1"
    " - CASE WHEN (s > 0 AND a + q * s > e) OR (s < 0 AND a + q * s < e) THEN 1 ELSE 0 END),"
    " LAMBDA i: a + i * s) END"
)
"""The numbers from a to e; q steps, or one less, lie between them."""


def spell_series(node: exp.Expr, types: ValueTypes) -> exp.Expr | None:
    """``generate_series`` of NUMERIC in an output, and of dates; None for others."""
    ends = [node.args["start"], node.args["end"]]
    kinds = {types.of(end).kind for end in ends if not end.is_string}
    if kinds == {"DATE"}:
        # Their midnights in the session's zone.
        start, end = (exp.cast(day.copy(), "TIMESTAMPTZ", dialect="duckdb") for day in ends)
        made = node.copy()
        made.set("start", start)
        made.set("end", end)
        return made
    if isinstance(node.parent, exp.Table | exp.Lateral) or not _counts_numeric(node, types):
        return None
    step = node.args.get("step") or exp.Literal.number(1)
    parts = {
        name: exp.paren(bound.copy())
        for name, bound in (("a", node.args["start"]), ("e", node.args["end"]), ("s", step))
    }
    q = fill("CAST(round((e - a) / NULLIF(s, 0)) AS BIGINT)", **parts)
    return exp.Explode(this=fill(_NUMBERS, **parts, q=q))


def is_unnamed_series(node: exp.Expr) -> bool:
    """True for ``generate_series(..) g``, whose column has the name of the alias."""
    alias = node.args.get("alias")
    return (
        isinstance(node, exp.Table)
        and isinstance(node.this, exp.GenerateSeries)
        and isinstance(alias, exp.TableAlias)
        and bool(alias.this)
        and not alias.columns
        and not node.args.get("ordinality")
    )


def name_series(node: exp.Expr) -> None:
    """Give the column of a series its name."""
    alias = node.args["alias"]
    alias.set("columns", [alias.this.copy()])


def spell_source(node: exp.Expr, context: RewriteContext) -> None:
    """Put a subquery in the place of such a source.

    Raises NOT_SUPPORTED for a record whose columns are not known.
    """
    typed = {_SERIES: exp.GenerateSeries, _REPEAT: exp.Repeat}
    found = (name for name, kind in typed.items() if isinstance(node.this, kind))
    shown = postgres_name(node.this) if _is_one_value(node.this) else None
    name = next(found, None) or shown or function_name(node.this)
    alias = node.args.get("alias")
    called = alias.name if isinstance(alias, exp.TableAlias) and alias.this else name
    columns = list(alias.columns) if isinstance(alias, exp.TableAlias) else []
    if name in _ONE_COLUMN or _is_one_value(node.this):
        query = _rows(node, _ONE_COLUMN.get(name) or called)
    elif name in _PAIRS:
        query = _pairs(node.this, is_text=name.endswith("_text"))
    else:
        query = _records(node, columns, context)
        columns = []
    if _ONE_COLUMN.get(name) is not None and not columns:
        _name_value(node, called, context)
    named = exp.TableAlias(this=ident(called), columns=[c.copy() for c in columns])
    source: exp.Expr = exp.Subquery(this=query, alias=named)
    if isinstance(node, exp.Lateral) or node.this.find(exp.Column) is not None:
        source.set("alias", None)
        source = exp.Lateral(this=source, alias=named)
    for part in ("joins", "laterals", "sample"):
        if node.args.get(part):
            source.set(part, node.args[part])
    node.replace(source)


def _name_value(node: exp.Expr, called: str, context: RewriteContext) -> None:
    """The source named as a value, ``SELECT e FROM json_array_elements(j) e``, is its one column.

    A column of that name in another relation comes first.
    """
    query = node.find_ancestor(exp.Select)
    for place in [] if query is None else list(query.find_all(exp.Column)):
        if (
            place.table
            or fold(place.name) != fold(called)
            or place.find_ancestor(type(node)) is node
        ):
            continue
        scope = place.parent_select or query
        others = (source for source in relations_of(scope) if source is not node) if scope else ()
        if any(_has_column(source, called, context) for source in others):
            continue
        value: exp.Expr = column(_VALUE, called)
        if isinstance(place.parent, exp.Select) and place.arg_key == "expressions":
            value = exp.alias_(value, ident(place.name))
        place.replace(value)


def _has_column(source: exp.Expr, name: str, context: RewriteContext) -> bool:
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return False
    found = context.catalog.get(table_name(source, context))
    return isinstance(found, Table) and found.find(name) is not None


def _rows(node: exp.Expr, name: str) -> exp.Select:
    """One column, and the number of each row where it is asked for."""
    values = exp.select(exp.alias_(node.this.copy(), ident(name)))
    if not node.args.get("ordinality"):
        return values
    number = exp.Window(this=exp.RowNumber(), over="OVER")
    return exp.select(column(name), exp.alias_(number, ident(_ORDINALITY))).from_(
        values.subquery(alias=ident(_ROW))
    )


def _pairs(node: exp.Anonymous, is_text: bool) -> exp.Select:
    """The keys of an object and what each stands for."""
    of = "jsonb" if function_name(node).startswith("jsonb") else "json"
    value = node.expressions[0] if node.expressions else exp.null()
    each = call(f"{of}_object_keys", value)
    each.meta[CALLED] = function_name(node)
    keys = exp.select(
        exp.alias_(each, ident(_KEY)),
        exp.alias_(exp.cast(value, of), ident(_ROW)),
    )
    verb = "extract_path_text" if is_text else "extract_path"
    found = call(f"{of}_{verb}", column(_ROW), column(_KEY))
    return exp.select(
        exp.alias_(column(_KEY), ident("key")), exp.alias_(found, ident(_VALUE))
    ).from_(keys.subquery(alias=ident("pairs")))


def _records(node: exp.Expr, columns: Sequence[exp.Expr], context: RewriteContext) -> exp.Select:
    name = function_name(node.this)
    of = "jsonb" if name.startswith("jsonb") else "json"
    arguments = node.this.expressions
    base = arguments[0] if len(arguments) == 2 else None
    if isinstance(base, exp.Cast) and not _is_known(base.to, context):
        raise unknown_type(exp.to_table(base.to.sql(dialect="postgres")), context)
    is_named = "populate" in name and not _is_record(base)
    fields = _fields_of(arguments, context) if is_named else _declared(columns)
    value = arguments[-1] if arguments else exp.null()
    if not fields:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{name} needs columns that are known",
            advice="write AS x(a int, b text) behind json_to_record, and NULL::t as the first"
            " argument of json_populate_record, where t is a table or a composite type",
            position=position_of(node.this),
        )
    row = call(f"{of}_array_elements", value) if name.endswith("set") else exp.cast(value, of)
    values = [exp.alias_(_field(field, kind), ident(field)) for field, kind in fields]
    rows = exp.select(exp.alias_(row, ident(_ROW)))
    return exp.select(*values).from_(rows.subquery(alias=ident("rows")))


def _is_record(base: exp.Expr | None) -> bool:
    """True for ``NULL::record``, whose columns stand behind AS."""
    return isinstance(base, exp.Cast) and base.to.sql(dialect="postgres").lower() == "record"


def _is_known(kind: exp.DataType, context: RewriteContext) -> bool:
    """False for the name of a type or table that there is not."""
    if kind.this is not exp.DType.USERDEFINED or kind.sql(dialect="postgres").lower() == "record":
        return True
    named = exp.to_table(kind.sql(dialect="postgres"), dialect="postgres")
    table = context.catalog.get(table_name(named, context))
    return isinstance(table, Table) or find_type(kind, context) is not None


def _field(name: str, kind: exp.DataType) -> exp.Expr:
    """What a row has under a name, as a value of a type."""
    path = exp.JSONPath(expressions=[exp.JSONPathRoot(), exp.JSONPathKey(this=name)])
    text = exp.JSONExtractScalar(this=column(_ROW), expression=path, only_json_types=True)
    if kind.this not in {exp.DType.JSON, exp.DType.JSONB}:
        return exp.Cast(this=exp.Paren(this=text), to=kind.copy())
    # A null of JSON is NULL in a record.
    found = exp.JSONExtract(this=column(_ROW), expression=path.copy(), only_json_types=True)
    return exp.Case().when(exp.Not(this=exp.Is(this=exp.paren(text), expression=exp.null())), found)


def _declared(columns: Sequence[exp.Expr]) -> list[tuple[str, exp.DataType]]:
    found = [(c.name, c.kind) for c in columns if isinstance(c, exp.ColumnDef) and c.kind]
    return found if len(found) == len(columns) else []


def _fields_of(
    arguments: Sequence[exp.Expr], context: RewriteContext
) -> list[tuple[str, exp.DataType]]:
    """The columns of the table that ``NULL::t`` names."""
    base = arguments[0] if len(arguments) == 2 else None
    if not isinstance(base, exp.Cast) or not isinstance(base.this, exp.Null):
        return []
    if base.to.this is not exp.DType.USERDEFINED:
        return []
    named = exp.to_table(base.to.sql(dialect="postgres"), dialect="postgres")
    table = context.catalog.get(table_name(named, context))
    if not isinstance(table, Table):
        found = find_type(base.to, context)
        return [] if found is None or found.kind != STRUCT else _parts_of(found.type)
    return [(c.name, exp.DataType.build(c.type, dialect="duckdb")) for c in table.columns]


def _parts_of(composite: str) -> list[tuple[str, exp.DataType]]:
    """The fields of a composite type, of its canonical text."""
    kind = exp.DataType.build(composite, dialect="duckdb")
    parts = [part for part in kind.expressions if isinstance(part, exp.ColumnDef)]
    return [(part.name, part.kind) for part in parts if part.kind is not None]


_COUNTED = "range(1, n + 1)"


def number_elements(holder: exp.Expr) -> None:
    """Number the rows of WITH ORDINALITY by the lists that they are elements of, in place.

    A store keeps no order between a list beside other rows and a window over its elements. Raises
    NOT_SUPPORTED beside others for rows that are no elements.
    """
    for select in list(holder.find_all(exp.Select)):
        rows = _numbered_rows(select)
        if rows is None:
            continue
        lists = [_list_of(output.unalias()) for output in rows.expressions]
        if all(found is None for found in lists) and len(lists) == 1:
            if rows.find(exp.Explode, exp.Unnest, exp.GenerateSeries) is None:
                # One value, which is one row.
                continue
        if any(found is None for found in lists):
            if select.find_ancestor(exp.Lateral) is not None:
                advice = "number the rows in a subquery, by row_number() OVER (ORDER BY ..)"
                raise not_here(select, "WITH ORDINALITY of this function beside others", advice)
            continue
        sizes = [fill("len(l)", l=found) for found in lists]
        most = sizes[0] if len(sizes) == 1 else exp.Greatest(this=sizes[0], expressions=sizes[1:])
        number = exp.Explode(this=fill(_COUNTED, n=most))
        called = select.expressions[-1].args["alias"]
        outputs = [output.copy() for output in rows.expressions]
        select.set("expressions", [*outputs, exp.Alias(this=number, alias=called.copy())])
        select.set("from_", None)


def _numbered_rows(select: exp.Select) -> exp.Select | None:
    """The query whose rows a query numbers in its last output, as WITH ORDINALITY is spelled."""
    source = select.args.get("from_")
    rows = (
        source.this.this if source is not None and isinstance(source.this, exp.Subquery) else None
    )
    last = select.expressions[-1] if select.expressions else None
    number = last.this if isinstance(last, exp.Alias) else None
    is_number = isinstance(number, exp.Window) and isinstance(number.this, exp.RowNumber)
    if number is None or last is None or last.alias != _ORDINALITY or not is_number:
        return None
    if number.args.get("order") or number.args.get("partition_by"):
        return None
    return rows if isinstance(rows, exp.Select) and rows.args.get("from_") is None else None


def _list_of(output: exp.Expr) -> exp.Expr | None:
    """The list whose elements an output gives as rows."""
    if isinstance(output, exp.GenerateSeries):
        parts = {name: part for name, part in output.args.items() if part is not None}
        return exp.GenerateSeries(**{name: part.copy() for name, part in parts.items()})
    found: exp.Expr | None = None
    if isinstance(output, exp.Unnest) and len(output.expressions) == 1:
        found = output.expressions[0].copy()
    elif isinstance(output, exp.Explode):
        found = output.this.copy()
    return found


_ORDINALITY = "ordinality"
