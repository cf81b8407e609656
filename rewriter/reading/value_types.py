"""Finds the types of values: in the store, of enums, and their collations.

Columns are found in the relations that a statement names, through subqueries, CTEs and views, while
these are still logical. What cannot be told is unknown. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import ENUM, UserType
from journal.model.schema import Column, Table, View, fold
from journal.sql import dialects, network_calls
from journal.sql.cte_scopes import is_cte
from rewriter.context import RewriteContext
from rewriter.definitions.user_types import DECLARED, declared_type, find_type, quoted_name
from rewriter.dialect_semantics import DIALECTS, semantics_of
from rewriter.name_resolution import table_name
from rewriter.reading.equal_keys import DOUBLE
from rewriter.reading.output_names import output_names
from rewriter.reading.value_kinds import (
    KEPT_AS,
    WHOLE_KINDS,
    constant_kind,
    sum_kind,
    widest,
    with_kept_number,
)
from rewriter.reading.visible_columns import enclosing_statements, relations_of
from rewriter.syntax.spelled_types import spelled_name

_KEEPING = (
    *(exp.Paren, exp.Min, exp.Max, exp.AnyValue, exp.First, exp.Last, exp.Lag, exp.Lead),
    *(exp.FirstValue, exp.LastValue, exp.NthValue, exp.Window, exp.Filter, exp.Alias, exp.Nullif),
    *(exp.IgnoreNulls, exp.RespectNulls, exp.Mode, exp.Distinct, exp.Neg, exp.Abs),
    *(exp.ArgMin, exp.ArgMax),
)
"""What gives a value of the type of its first argument."""
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
_OF_ARRAYS = (exp.ArrayAppend, exp.ArrayPrepend, exp.ArrayConcat, exp.ArrayRemove)
_DEPTH_MAX = 16
_TEXTS = (
    *(exp.MD5, exp.Upper, exp.Lower, exp.Initcap, exp.Replace, exp.Left, exp.Right, exp.Pad),
    *(exp.Repeat, exp.Concat, exp.ConcatWs, exp.RegexpReplace, exp.Reverse, exp.SplitPart, exp.Chr),
    exp.Translate,
)
"""What gives a text, of whatever it is."""
_MADE_KINDS: dict[type[exp.Expr], str] = {
    **dict.fromkeys(_TEXTS, "VARCHAR"),
    **dict.fromkeys((exp.Interval, exp.JustifyDays, exp.JustifyHours), "INTERVAL"),
    exp.JustifyInterval: "INTERVAL",
    exp.CurrentDate: "DATE",
    exp.CurrentTimestamp: "TIMESTAMPTZ",
    exp.Localtimestamp: "TIMESTAMP",
    exp.StrToDate: "DATE",
    exp.StrToTime: "TIMESTAMPTZ",
    exp.UnixToTime: "TIMESTAMPTZ",
    exp.MakeInterval: "INTERVAL",
    exp.BitString: "BIT",
    **dict.fromkeys((exp.Length, exp.StrPosition, exp.ArraySize), "INTEGER"),
    exp.SHA2Digest: "BLOB",
    # Though a store may give a whole number.
    exp.Extract: "DECIMAL",
    **dict.fromkeys((exp.JSONExtract, exp.JSONBExtract, exp.JSONBDeleteAtPath), "JSON"),
    **dict.fromkeys((exp.JSONArrayAgg, exp.JSONObjectAgg, exp.JSONBObjectAgg), "JSON"),
    **dict.fromkeys((exp.StringToArray, exp.RegexpSplit), "VARCHAR[]"),
}
_CALL_KINDS = {
    **network_calls.RESULTS,
    **dict.fromkeys(("age", "make_interval"), "INTERVAL"),
    **dict.fromkeys(("regexp_match", "regexp_matches", "regexp_split_to_array"), "VARCHAR[]"),
    **dict.fromkeys(("now", "to_timestamp"), "TIMESTAMPTZ"),
    "date_part": "DOUBLE",
    **dict.fromkeys(("sind", "cosd", "tand", "cotd", "asind", "acosd", "atand"), "DOUBLE"),
    "atan2d": "DOUBLE",
    "to_char": "VARCHAR",
    "to_date": "DATE",
    "decode": "BLOB",
    **dict.fromkeys(("to_json", "to_jsonb", "row_to_json", "jsonb_set_lax"), "JSON"),
    **{
        f"{of}_{verb}": "JSON"
        for of in ("json", "jsonb")
        for verb in (
            *("agg", "build_array", "build_object", "object", "object_agg", "strip_nulls"),
            *("array_element", "array_elements", "extract_path", "set", "insert"),
            *("delete", "delete_path", "concat"),
            *("path_query", "path_query_array", "path_query_first"),
            *("path_query_tz", "path_query_array_tz", "path_query_first_tz"),
        )
    },
}
"""The types of what calls give, whatever they are given."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """The enum that a value is of, how its column was declared, and how its texts compare.

    ``kind`` is the type that PostgreSQL gives it, in DuckDB's words; ``spelled`` is
    ``json`` of what is kept like jsonb, and ``bpchar`` of CHAR(n).
    """

    enum: UserType | None = None
    declared: str | None = None
    collation: str | None = None
    kind: str | None = None
    spelled: str | None = None


UNKNOWN = ValueType()
KIND = "palimpsest_kind"
"""Where a node's meta data keep the type of what it stands for."""
ENUM_TYPE = "ENUM("
"""How the types begin that name the values of an enum."""
UNTOLD = "?"
"""Stands for the type of elements that cannot be told."""


def results_of(node: exp.Case) -> list[exp.Expr]:
    """What the branches of a CASE give."""
    default = node.args.get("default")
    found = [branch.args["true"] for branch in node.args["ifs"]]
    return found if default is None else [*found, default]


def alike(node: exp.Expr) -> list[exp.Expr]:
    """The values under a comparison, a CASE or a choice that are of one type."""
    match node:
        case exp.Case():
            operand = [node.this] if node.this is not None else []
            matched = [branch.this for branch in node.args["ifs"]] if operand else []
            return operand + matched or results_of(node)
        case exp.In():
            return [node.this, *node.expressions]
        case exp.Between():
            return [node.this, node.args["low"], node.args["high"]]
        case _:
            return list(node.iter_expressions())


class ValueTypes:
    """The types of expressions in one statement."""

    def __init__(self, context: RewriteContext, *, guesses: bool = True) -> None:
        """``guesses``: what is told by some of the values that make an expression counts."""
        self.context = context
        self.guesses = guesses

    def enum_of(self, node: exp.Expr) -> UserType | None:
        """The enum that an expression is of; None for others, and where it cannot be told."""
        return self.of(node).enum

    def enum_text(self, node: exp.Expr) -> str | None:
        """The enum that an expression is of as a type with its values; else as ``enum_of``."""
        found = self.of(node)
        if found.enum is not None:
            return found.enum.type
        return found.kind if (found.kind or "").startswith(ENUM_TYPE) else None

    def of_output(self, query: exp.Expr, name: str) -> ValueType:
        """The type of a query's column."""
        return self._in_query(query, name, 0) or UNKNOWN

    def of(self, node: exp.Expr, depth: int = 0) -> ValueType:
        """The type of an expression."""
        if depth > _DEPTH_MAX:
            return UNKNOWN
        if KIND in node.meta:
            return ValueType(kind=node.meta[KIND])
        match node:
            case exp.Column():
                return self._of_column(node, depth)
            case exp.Cast():
                return self._named(node.to)
            case exp.Placeholder():
                return self._of_parameter(node)
            case exp.Case():
                return self._first(results_of(node), depth)
            case exp.Distinct() if len(node.expressions) == 1:
                return self.of(node.expressions[0], depth + 1)
            case exp.Coalesce() | exp.Greatest() | exp.Least():
                return self._first(list(node.iter_expressions()), depth)
            case exp.Subquery():
                inner = node.this
                selects = inner.selects if isinstance(inner, exp.Query) else []
                return self._of_output(inner, selects[0], depth) if len(selects) == 1 else UNKNOWN
        if isinstance(node, _KEEPING) and isinstance(node.this, exp.Expr):
            return self.of(node.this, depth + 1)
        kind = self._made_kind(node, depth + 1)
        return UNKNOWN if kind is None else ValueType(kind=kind)

    def _of_parameter(self, node: exp.Placeholder) -> ValueType:
        """DOUBLE of a float, where PostgreSQL's texts of one differ; others are not told."""
        is_double = (node.name, DOUBLE) in self.context.kinds
        is_postgres = DIALECTS.get(self.context.dialect) == "postgres"
        return ValueType(kind="DOUBLE") if is_double and is_postgres else UNKNOWN

    def _made_kind(self, node: exp.Expr, depth: int) -> str | None:
        """The type of what an operator or an aggregate makes."""
        if isinstance(node, exp.Count):
            return "BIGINT"
        if isinstance(node, exp.Sum):
            return self._sum_kind(self.of(node.this, depth).kind)
        if isinstance(node, exp.Sub):
            kinds = [self.of(side, depth).kind or "" for side in (node.this, node.expression)]
            if all(kind.startswith("TIMESTAMP") for kind in kinds):
                return "INTERVAL"
            if kinds == ["DATE", "DATE"]:
                return "INTEGER"
            if kinds == ["TIME", "TIME"]:
                return "INTERVAL"
        if isinstance(node, exp.Add | exp.Sub):
            first, second = (self.of(side, depth).kind for side in (node.this, node.expression))
            if second == "INTERVAL" and first is not None and first.startswith(("TIME", "DATE")):
                return "TIMESTAMP" if first == "DATE" else first
            if first == "DATE" and second in WHOLE_KINDS:
                return "DATE"
        if isinstance(node, _ARITHMETIC):
            kinds_of_sides = [self.of(side, depth).kind for side in (node.this, node.expression)]
            if not self._are_told(kinds_of_sides):
                return None
            keeps = isinstance(node, exp.Add | exp.Sub) or (
                isinstance(node, exp.Mul) and kinds_of_sides.count(KEPT_AS) == 1
            )
            kept = with_kept_number(kinds_of_sides) if keeps else None
            return kept or widest(kinds_of_sides)
        if isinstance(node, exp.DPipe):
            return self._joined_kind(node, depth)
        if isinstance(node, _OF_ARRAYS):
            return self.of(node.this, depth).kind
        if isinstance(node, exp.Array) and node.expressions:
            value = node.expressions[0]
            if isinstance(value, exp.Query):
                value = exp.Subquery(this=value)
            element = self.of(value, depth).kind
            return f"{element or UNTOLD}[]"
        if isinstance(node, exp.GenerateSeries):
            return self._of_day(self.of(node.args["start"], depth).kind)
        if isinstance(node, exp.Sign):
            of = self.of(node.this, depth).kind or ""
            return "DECIMAL" if of.startswith("DECIMAL") else "DOUBLE"
        if isinstance(node, exp.TimestampTrunc):
            cut = self.of(node.this, depth).kind
            return "INTERVAL" if cut == "TIME" else self._of_day(cut)
        if isinstance(node, exp.ArrayAgg):
            return self._listed(node.this, depth)
        if isinstance(node, exp.Anonymous):
            return _CALL_KINDS.get(node.name.lower())
        return _MADE_KINDS.get(type(node)) or constant_kind(node)

    def _sum_kind(self, of: str | None) -> str | None:
        """The type of a sum; PostgreSQL's of ``real`` is one, where DuckDB has a DOUBLE."""
        is_postgres = DIALECTS.get(self.context.dialect) == "postgres"
        return of if is_postgres and of in {"FLOAT", "REAL"} else sum_kind(of)

    def _of_day(self, kind: str | None) -> str | None:
        """The type of a moment; what is made of a date is one in the session's zone."""
        is_zoned = kind == "DATE" and DIALECTS.get(self.context.dialect) == "postgres"
        return "TIMESTAMPTZ" if is_zoned else kind

    def _joined_kind(self, node: exp.DPipe, depth: int) -> str | None:
        """BLOB of bytes and constants; what else ``||`` makes is not told."""
        sides = (node.this, node.expression)
        kinds = [self.of(side, depth).kind for side in sides]
        is_bytes = all(k == "BLOB" or s.is_string for k, s in zip(kinds, sides, strict=True))
        return "BLOB" if is_bytes and "BLOB" in kinds else None

    def _are_told(self, kinds: list[str | None]) -> bool:
        """False for values that only a guess says something of."""
        return self.guesses or not {None, "INTERVAL"} & {*kinds}

    def _listed(self, element: exp.Expr, depth: int) -> str | None:
        """The type of a list of such values."""
        while isinstance(element, exp.Order | exp.Distinct):
            element = element.expressions[0] if isinstance(element, exp.Distinct) else element.this
        kind = self.of(element, depth).kind
        return None if kind is None else f"{kind}[]"

    def of_stored(self, table: Table, name: str) -> ValueType:
        """The type of a table's column."""
        stored = table.find(name)
        return UNKNOWN if stored is None else self.of_stored_column(stored)

    def of_stored_column(self, stored: Column) -> ValueType:
        """The type of a column, as its table has it."""
        declared = None if stored.declared is None else declared_type(stored.declared)
        enum = UNKNOWN.enum if declared is None else self._named(declared).enum
        return ValueType(enum, stored.declared, stored.collation, stored.type, stored.spelled)

    def _first(self, nodes: list[exp.Expr], depth: int) -> ValueType:
        if not self.guesses:
            # Constants without a type are of that of the others.
            nodes = [n for n in nodes if not n.is_string and not isinstance(n, exp.Null)]
        found = [self.of(node, depth + 1) for node in nodes]
        kinds = {value.kind for value in found}
        told = kinds if self._are_told(list(kinds)) else {None}
        kind = told.pop() if len(told) == 1 else with_kept_number(list(told)) or widest(kinds)
        enum = next((v for v in found if v.enum is not None), None)
        if enum is None or semantics_of(self.context.dialect).texts_become_enums:
            return enum or ValueType(kind=kind)
        values = zip(nodes, found, strict=True)
        is_one = all(v.enum == enum.enum or isinstance(n, exp.Null) for n, v in values)
        return enum if is_one else ValueType(kind="VARCHAR")

    def _named(self, kind: exp.Expr) -> ValueType:
        if isinstance(kind, exp.DataType) and DECLARED in kind.meta:
            # What its name stood for has been put in its place.
            kind = declared_type(kind.meta[DECLARED])
        if not isinstance(kind, exp.DataType):
            return UNKNOWN
        if kind.this is not exp.DType.USERDEFINED:
            spelled = spelled_name(kind)
            return ValueType(kind=kind.sql(dialect="duckdb").upper(), spelled=spelled)
        found = find_type(kind, self.context)
        if found is None or found.kind != ENUM:
            return UNKNOWN
        return ValueType(found, quoted_name(found.name))

    def _of_column(self, node: exp.Column, depth: int) -> ValueType:
        wanted = fold(node.table) if node.table else ""
        for scope in enclosing_statements(node):
            for source in relations_of(scope):
                known = wanted in {"", fold(source.alias_or_name)} or isinstance(scope, exp.Insert)
                found = self._in_source(source, node.name, depth) if known else None
                if found is not None:
                    return found
        return UNKNOWN

    def _in_source(self, source: exp.Expr, name: str, depth: int) -> ValueType | None:
        """The type of a relation's column; None if it is not known to have that column."""
        alias = source.args.get("alias")
        if isinstance(source, exp.Table) and isinstance(source.this, exp.GenerateSeries):
            columns = alias.columns if isinstance(alias, exp.TableAlias) else []
            wanted = columns[0].name if columns else source.alias
            return self.of(source.this, depth + 1) if fold(wanted) == fold(name) else None
        if isinstance(alias, exp.TableAlias) and alias.columns:
            return self._renamed(source, alias, name, depth)
        if isinstance(source, exp.Schema):
            return self._in_definition(source, name)
        if isinstance(source, exp.Subquery):
            return self._in_query(source.this, name, depth)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            return None
        if is_cte(source):
            cte = _cte_of(source)
            if cte is None:
                return None
            if cte.args["alias"].columns:
                return self._renamed(cte, cte.args["alias"], name, depth)
            return self._in_query(cte.this, name, depth)
        named, catalog = table_name(source, self.context), self.context.catalog
        found = catalog.get(named) or catalog.by_journal(named)
        if isinstance(found, Table):
            return self.of_stored(found, name) if found.find(name) is not None else None
        if isinstance(found, View):
            places = [place for place, c in enumerate(found.columns) if fold(c) == fold(name)]
            query = dialects.stored(found.query)
            if places and isinstance(query, exp.Query):
                return self._at_place(query, places[0], depth, name)
        return None

    def _renamed(
        self, source: exp.Expr, alias: exp.TableAlias, name: str, depth: int
    ) -> ValueType | None:
        """The type of a column that ``(VALUES ..) AS t(a, b)`` or ``t(a) AS (query)`` names."""
        place = next((p for p, c in enumerate(alias.columns) if fold(c.name) == fold(name)), None)
        rows = source.this if isinstance(source, exp.Subquery | exp.CTE) else source
        if place is None or depth > _DEPTH_MAX:
            return None
        if isinstance(rows, exp.Values):
            values = [row.expressions[place : place + 1] for row in rows.expressions]
            return self._first([value for row in values for value in row], depth)
        return self._at_place(rows, place, depth + 1) if isinstance(rows, exp.Query) else None

    def _in_definition(self, schema: exp.Schema, name: str) -> ValueType | None:
        for part in schema.expressions:
            if isinstance(part, exp.ColumnDef) and fold(part.name) == fold(name):
                return UNKNOWN if part.kind is None else self._named(part.kind)
        return None

    def _of_output(self, query: exp.Expr, output: exp.Expr, depth: int) -> ValueType:
        """The type of a query's output, of which a constant without a type is a text."""
        if not self.guesses and isinstance(query, exp.Select) and output.unalias().is_string:
            return ValueType(kind="VARCHAR")
        return self.of(output, depth + 1)

    def _in_query(self, query: exp.Expr, name: str, depth: int) -> ValueType | None:
        if depth > _DEPTH_MAX or not isinstance(query, exp.Query):
            return None
        whole = query
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select):
            return None
        for output in query.expressions:
            if not output.is_star and fold(output.alias_or_name) == fold(name):
                return self._of_output(whole, output, depth)
        for output in query.expressions:
            if output.is_star:
                for source in relations_of(query):
                    found = self._in_source(source, name, depth + 1)
                    if found is not None:
                        return found
        return None

    def _at_place(
        self, query: exp.Query, place: int, depth: int, name: str | None = None
    ) -> ValueType | None:
        """The type of the output at a place, by ``name`` where a star hides which one that is."""
        outputs = query.selects
        if place < len(outputs) and not any(o.is_star for o in outputs[: place + 1]):
            return self._of_output(query, outputs[place], depth)
        names = output_names(query, self.context)
        if names is None:
            return None if name is None else self._in_query(query, name, depth)
        is_told = place < len(names) and names.count(names[place]) == 1
        return self._in_query(query, names[place], depth) if is_told else None


def _cte_of(table: exp.Table) -> exp.CTE | None:
    """The CTE that a reference means."""
    for ctes in _outer_ctes(table):
        for cte in ctes.expressions:
            if fold(cte.alias) == fold(table.name):
                found: exp.CTE = cte
                return found
    return None


def _outer_ctes(node: exp.Expr) -> Iterator[exp.With]:
    parent = node.parent
    while parent is not None:
        with_ = parent if isinstance(parent, exp.With) else parent.args.get("with_")
        if isinstance(with_, exp.With):
            yield with_
        parent = parent.parent
