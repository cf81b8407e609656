"""Sources other than logical tables (files, functions), and clauses no source may have. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, View
from journal.model.trees import Nodes
from journal.sql.relations import ident
from rewriter.functions import check_function, check_table_function
from rewriter.name_resolution import position_of

_FILES = {
    "csv": "read_csv",
    "tsv": "read_csv",
    "parquet": "read_parquet",
    "json": "read_json",
    "jsonl": "read_json",
    "ndjson": "read_json",
}


_ELSEWHERE = {"into": "SELECT INTO", "locks": "FOR UPDATE inside of a query"}


def check_shape(nodes: Nodes) -> bool:
    """Refuse what would change the answer if it were left out, and calls that reach outside.

    Takes the nodes of a query; true when it holds a PIVOT in its short form.
    """
    for select in nodes.all(exp.Select):
        for part in ("into", "locks"):
            if select.args.get(part):
                raise refusal(_ELSEWHERE[part], select)
        _drop_modifiers(select)
        if select.args.get("group") is not None:
            _spell_out_rollup(select.args["group"])
    for holder in (*nodes.all(exp.Subquery), *nodes.all(exp.SetOperation)):
        if holder.args.get("locks"):
            raise refusal(_ELSEWHERE["locks"], holder)
    for lateral in nodes.all(exp.Lateral):
        if not isinstance(lateral.this, exp.Subquery | exp.Query):
            check_table_function(lateral.this)
    for call in (*nodes.all(exp.Anonymous), *nodes.all(exp.NextValueFor)):
        check_function(call)
    pivots = nodes.all(exp.Pivot)
    for pivot in pivots:
        check_pivot(pivot)
    return any(pivot.args.get("this") is not None for pivot in pivots)


def _drop_modifiers(select: exp.Select) -> None:
    """MySQL's STRAIGHT_JOIN, SQL_NO_CACHE and the like, which only speed a query up there."""
    for modifier in select.args.get("operation_modifiers") or []:
        if modifier.name.upper() == "SQL_CALC_FOUND_ROWS":
            raise refusal("SQL_CALC_FOUND_ROWS", select)
    select.set("operation_modifiers", None)


def _spell_out_rollup(group: exp.Group) -> None:
    """``GROUP BY a, b WITH ROLLUP`` as ``GROUP BY ROLLUP (a, b)``."""
    for part in ("rollup", "cube"):
        for node in group.args.get(part) or []:
            if not node.expressions:
                node.set("expressions", group.expressions)
                group.set("expressions", [])


def check_pivot(pivot: exp.Pivot) -> None:
    """Refuse a query among the values of a PIVOT, where no relation may stand."""
    for part in ("expressions", "fields", "using"):
        for node in pivot.args.get(part) or []:
            if node.find(exp.Query) is not None:
                raise refusal("a query inside PIVOT or UNPIVOT", node)


def file_function(table: exp.Table) -> exp.Table | None:
    """The table function that reads a file named in FROM, or None."""
    name = table.name
    quoted = isinstance(table.this, exp.Identifier) and table.this.quoted
    ending = name.lower().removesuffix(".gz").removesuffix(".zst").rpartition(".")
    if not quoted or table.db or not ending[1] or ending[2] not in _FILES:
        return None
    call = exp.Anonymous(this=_FILES[ending[2]], expressions=[exp.Literal.string(name)])
    return exp.Table(this=call)


def source_name(table: exp.Table) -> str:
    """The name by which columns of a source are qualified when it has no alias."""
    if table.db or file_function(table) is None:
        return table.name
    return table.name.replace("\\", "/").rpartition("/")[2].partition(".")[0]


def nested_too_deep(view: View, node: exp.Expr, deepest: int) -> PalimpsestError:
    """The error of views over views, deeper than is followed."""
    return PalimpsestError(
        Code.NESTING_TOO_DEEP,
        f"views are nested more than {deepest} deep at {view.name}",
        advice="define the view over fewer layers",
        position=position_of(node),
    )


def journal_in_the_past(journal: Table) -> PalimpsestError:
    """The error of a journal that is read at a point in time."""
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{journal.journal_name} is a journal, which holds all of its past already",
        advice="read it without a point in time, and compare its version columns",
    )


def refusal(what: str, node: exp.Expr) -> PalimpsestError:
    """The error for a clause that no rule reads."""
    advice = "see docs/sql.md for what is"
    if "PIVOT" in what:
        advice = "leave IN out, which takes every value there is, or list the values"
    if what == "FOR UPDATE":
        advice = "leave it out: the second of two writers of a row gets a serialization failure"
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice, position=position_of(node)
    )


def replace_source(table: exp.Table, found: exp.Query | exp.Table, name: str | None = None) -> None:
    """Put a query in the place of a relation, under its alias, ``name`` or its own name.

    So is the call that reads a file, which has columns that no star names, such as ``filename``.
    """
    alias = table.args.get("alias") or exp.TableAlias(this=ident(name or source_name(table)))
    source = exp.Subquery(this=found) if isinstance(found, exp.Query) else found
    source.set("alias", alias)
    for arg in ("joins", "laterals", "pivots", "sample"):
        if table.args.get(arg):
            source.set(arg, table.args[arg])
    table.replace(source)
