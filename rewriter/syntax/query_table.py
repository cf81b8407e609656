"""DuckDB's calls that take the name of a table, with the table itself in its place. Pure.

``query_table('t')`` becomes the table, and ``histogram(t, c)`` reads a CTE of it: DuckDB would look
the name up among its own objects, where neither privileges nor versions are known.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from journal.model.errors import Code, PalimpsestError
from journal.sql.relations import ident
from rewriter.functions import COUNTED, HISTOGRAMS, reads_cte

_CALL = "query_table"
TABLE_NAMING_CALLS = (_CALL, "histogram")
"""What stands in the text of a statement that has such a call."""


def name_tables(tree: exp.Expr) -> None:
    """Put tables, or the union of several, in the place of each ``query_table`` in FROM.

    A call whose names are no constants yet stays: a macro may be given them. The ``histogram`` of a
    table reads a CTE. Raises SYNTAX for a text that is no name.
    """
    for call in list(tree.find_all(exp.Anonymous)):
        table = call.parent
        if not isinstance(table, exp.Table):
            continue
        if call.name.lower() in HISTOGRAMS:
            _count_cte(table, call)
        if call.name.lower() != _CALL:
            continue
        given = call.expressions
        first = given[0].unnest() if given else None
        names = first.expressions if isinstance(first, exp.Array) else [first]
        named = [n.name for n in names if isinstance(n, exp.Literal) and n.is_string]
        by_name = len(given) > 1 and isinstance(given[1], exp.Boolean) and given[1].this
        if named and len(named) == len(names) and len(given) <= 2:
            table.set("this", None)
            _replace(table, [_table(name) for name in named], by_name=bool(by_name))


def _count_cte(table: exp.Table, call: exp.Anonymous) -> None:
    """Let a histogram count the rows of a CTE, which has the columns that it takes alone."""
    if len(call.expressions) < 2 or reads_cte(call):
        return
    first, counted = call.expressions[:2]
    source = first.unnest()
    if isinstance(source, exp.Column):
        named = exp.table_(
            source.this.copy(), db=source.args.get("table"), catalog=source.args.get("db")
        )
    elif isinstance(source, exp.Literal) and source.is_string:
        named = _table(source.name)
    else:
        return
    used = {column.name: exp.column(ident(column.name)) for column in counted.find_all(exp.Column)}
    rows = exp.select(*used.values() or ["*"]).from_(named)
    first.replace(exp.column(ident(COUNTED)))
    others = {k: v for k, v in table.args.items() if v and k not in {"this", "db", "catalog"}}
    alias = others.pop("alias", None) or exp.TableAlias(this=ident(call.name.lower()))
    query = exp.select("*").from_(exp.Table(this=call.copy()))
    query = query.with_(exp.TableAlias(this=ident(COUNTED)), as_=rows, copy=False)
    table.replace(exp.Subquery(this=query, alias=alias, **others))


def _table(name: str) -> exp.Table:
    try:
        return exp.to_table(name, dialect="duckdb")
    except (SqlglotError, ValueError) as error:
        raise PalimpsestError(
            Code.SYNTAX,
            f"a call takes names of tables, which {name!r} is not",
            advice="write query_table('t') or query_table(['s.t', 'u'])",
        ) from error


def _replace(table: exp.Table, named: list[exp.Table], *, by_name: bool) -> None:
    """Put one table, or the rows of all, in the place of a source, with its alias and joins."""
    others = {k: v for k, v in table.args.items() if v and k not in {"this", "db", "catalog"}}
    if len(named) == 1:
        for part in ("this", "db", "catalog"):
            table.set(part, named[0].args.get(part))
        return
    query: exp.Query = exp.select("*").from_(named[0])
    for one in named[1:]:
        query = exp.Union(
            this=query, expression=exp.select("*").from_(one), distinct=False, by_name=by_name
        )
    alias = others.pop("alias", None) or exp.TableAlias(this=ident(_CALL))
    table.replace(exp.Subquery(this=query, alias=alias, **others))
