"""What is refused before any rule runs: clauses no rule reads, long lists, writing CTEs inside.

sqlglot parses clauses of many engines into arguments of its nodes. A rule that does not read one
would ignore it silently, so each clause of a writing statement that is set is one its rule
understands. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.trees import Nodes, is_nested
from rewriter.functions import is_aggregate
from rewriter.limits import Limits
from rewriter.name_resolution import position_of

_CLAUSES: dict[type[exp.Expr], frozenset[str]] = {
    exp.Insert: frozenset(
        {
            "this",
            "expression",
            "with_",
            "conflict",
            "returning",
            "overwrite",
            "alternative",
            "ignore",
            "by_name",
            "default",
            "overriding",
            "replacing",
            "alias",
        }
    ),
    exp.OnConflict: frozenset(
        {
            *("duplicate", "expressions", "action", "conflict_keys", "constraint", "where"),
            "index_predicate",
        }
    ),
    exp.Update: frozenset(
        {"this", "expressions", "from_", "where", "with_", "returning", "order", "limit"}
    ),
    exp.Delete: frozenset(
        {"this", "tables", "using", "where", "with_", "returning", "order", "limit"}
    ),
    exp.Merge: frozenset({"this", "using", "on", "using_cond", "whens", "returning", "with_"}),
    exp.Whens: frozenset({"expressions"}),
    exp.When: frozenset({"matched", "source", "condition", "then", "by_name", "error"}),
    exp.Returning: frozenset({"expressions"}),
    exp.TruncateTable: frozenset({"expressions", "identity", "option"}),
    exp.MultitableInserts: frozenset({"expressions", "source", "with_"}),
    exp.Copy: frozenset({"this", "kind", "files", "params", "with_", "credentials"}),
}
WRITING = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
_STATEMENTS = (*WRITING, exp.MultitableInserts, exp.Create, exp.Drop, exp.Alter, exp.Command)
_HOLDERS = (exp.CTE, exp.When, exp.MultitableInserts, exp.ConditionalInsert, exp.Alter)
"""What a statement that writes may be a part of."""
ROW_MAKERS = (exp.Explode, exp.Unnest, exp.ExplodingGenerateSeries)
MAKE_ROWS = frozenset(
    ("generate_subscripts", "regexp_split_to_table", "string_to_table", "json_each", "jsonb_each")
) | {
    f"{kind}_{what}"
    for kind in ("json", "jsonb")
    for what in ("array_elements", "array_elements_text", "each_text", "object_keys")
}
"""Functions that give several rows, by their names."""
_ONE_ROW = (exp.Update, exp.OnConflict, exp.Returning, exp.When)
"""What is computed once for each row that is written."""
_OF_QUERIES = (exp.Exists, exp.Array)
"""Functions by name whose parentheses hold a query."""
_TARGET = frozenset({"this", "db", "catalog", "alias", "joins"})


def check_allowed(statement: exp.Expr, limits: Limits) -> Nodes:
    """The nodes of a statement; raises TOO_MANY_ITEMS or NOT_SUPPORTED for any no rule takes."""
    nodes = Nodes.of(statement)
    _check_lengths(nodes, limits)
    for kind in nodes.by_type.keys() & _CLAUSES.keys():
        for node in nodes.by_type[kind]:
            _check_clauses(node, _CLAUSES[kind])
    for kind in nodes.by_type:
        if issubclass(kind, exp.Func) and kind not in _OF_QUERIES:
            _check_arguments(nodes.by_type[kind])
    for kind in nodes.by_type:
        if issubclass(kind, _STATEMENTS):
            _check_places(statement, nodes.by_type[kind])
    _check_row_makers(nodes)
    for cast in nodes.all(exp.Cast):
        if not isinstance(cast.args.get("to"), exp.DataType):
            raise PalimpsestError(
                Code.SYNTAX,
                "CAST names no type",
                advice="write CAST(value AS type)",
                position=position_of(cast),
            )
    _check_ctes(nodes, statement.args.get("with_"))
    return nodes


def _check_clauses(node: exp.Expr, known: frozenset[str]) -> None:
    for name, value in node.args.items():
        if name not in known and _is_set(value):
            raise _refusal(node, name)
    if isinstance(node, WRITING):
        _check_target(node)
    elif isinstance(node, exp.Returning):
        _check_rowwise(node)


def _check_rowwise(node: exp.Returning) -> None:
    """Refuse aggregates in RETURNING, which gives one row for each changed row."""
    for call in node.find_all(exp.AggFunc, exp.Window, exp.Anonymous):
        if is_aggregate(call) and not is_nested(call, node):
            raise PalimpsestError(
                Code.GROUPING,
                "aggregate and window functions cannot stand in RETURNING",
                advice="return the rows, and aggregate them in the client",
                position=position_of(call),
            )


def _check_row_makers(nodes: Nodes) -> None:
    """Refuse functions of several rows where a row that is written has one value."""
    calls = [call for kind in ROW_MAKERS for call in nodes.by_type.get(kind, ())]
    calls += [call for call in nodes.all(exp.Anonymous) if call.name.lower() in MAKE_ROWS]
    for call in calls:
        place = call.find_ancestor(exp.Query, exp.From, exp.Join, *_ONE_ROW)
        if isinstance(place, _ONE_ROW):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "a function of several rows stands where one value is written",
                advice="join the rows behind FROM, or choose one of them in a subquery",
                position=position_of(call),
            )


def _check_places(statement: exp.Expr, nodes: Sequence[exp.Expr]) -> None:
    """Refuse a statement in the place of a query or a value."""
    for node in nodes:
        if node is not statement and not isinstance(node.parent, _HOLDERS):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{node.key.upper()} inside of another statement is not supported",
                advice="write it by itself, or as WITH x AS (..) in front of the statement",
                position=position_of(node),
            )


def _check_arguments(calls: Sequence[exp.Expr]) -> None:
    """Refuse a query without parentheses of its own: its end is not told from what follows."""
    for call in calls:
        for value in call.args.values():
            for argument in value if isinstance(value, list) else (value,):
                if isinstance(argument, exp.Select | exp.SetOperation):
                    raise PalimpsestError(
                        Code.SYNTAX,
                        "a query that is an argument needs parentheses of its own",
                        advice="write f((SELECT ..))",
                        position=position_of(argument),
                    )


def _check_ctes(nodes: Nodes, top: exp.With | None) -> None:
    """Data-modifying CTEs may stand only at the top of the statement."""
    for with_ in nodes.all(exp.With):
        if with_ is top:
            continue
        for cte in with_.expressions:
            if isinstance(cte.this, WRITING):
                raise PalimpsestError(
                    Code.NOT_SUPPORTED,
                    "a data-modifying CTE may stand only at the top of a statement",
                    advice="move it to the WITH at the beginning",
                    position=position_of(cte),
                )


def _check_lengths(nodes: Nodes, limits: Limits) -> None:
    for node in (*nodes.all(exp.In), *nodes.all(exp.Values)):
        found = len(node.expressions)
        if found > limits.list_items:
            what = "VALUES has" if isinstance(node, exp.Values) else "an IN list has"
            raise PalimpsestError(
                Code.TOO_MANY_ITEMS,
                f"{what} {found:,} items, at most {limits.list_items:,} are taken",
                advice="use executemany, COPY or a joined table, or raise max_list_items",
                position=position_of(node),
            )


def _is_set(value: object) -> bool:
    if isinstance(value, exp.Expr):
        return any(_is_set(v) for v in value.args.values()) or not value.args
    return bool(value)


def _check_target(node: exp.Expr) -> None:
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    if not isinstance(target, exp.Table):
        return
    for name, value in target.args.items():
        if name not in _TARGET and _is_set(value):
            raise _refusal(target, name, of=f"the target of {node.key.upper()}")


def _refusal(node: exp.Expr, name: str, of: str | None = None) -> PalimpsestError:
    clause = name.rstrip("_").upper().replace("_", " ")
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{clause} in {of or node.key.upper().removesuffix('TABLE')} is not supported",
        advice="leave the clause out; see docs/sql.md for what each statement takes",
        position=position_of(node),
    )


def check_some(nodes: Sequence[exp.Expr], near: exp.Expr | None) -> None:
    """Raise SYNTAX for a SET that assigns nothing; ``near`` is where the error points."""
    if not nodes:
        raise PalimpsestError(
            Code.SYNTAX,
            "SET assigns nothing",
            advice="write SET column = value",
            position=position_of(near),
        )
