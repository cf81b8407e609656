"""Names of the columns of queries of DuckDB's dialect on a PostgreSQL store. Pure.

SELECT * FROM (SELECT 1 AS a, 2 AS a)    has the columns a and a_1
SELECT * FROM (SELECT max(x) FROM t)     has the column max(x)
SELECT NAME FROM t                       has the column name, if t calls it so
SELECT max(x) AS x FROM t HAVING x > 1   asks for the maximum
SELECT * LIKE 'a%' FROM t                has the columns of such names
SELECT #1 FROM t                         has the first column of t
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.schema import fold
from journal.sql.builders import sources_of
from journal.sql.relations import column, ident
from rewriter.context import RewriteContext
from rewriter.reading.output_names import Scope, source_names
from rewriter.reading.spelling import result_spelling
from rewriter.reading.visible_columns import ctes_in_reach


def with_stored_names(node: exp.Select, context: RewriteContext) -> exp.Select | None:
    """A SELECT whose outputs have the capitals of the columns that they are."""
    found: dict[int, str] = {}
    reach: Scope | None = None
    for place, output in enumerate(node.expressions):
        if not isinstance(output, exp.Column) or output.is_star:
            continue
        reach = ctes_in_reach(node, context) if reach is None else reach
        name = _stored_name(output, node, context, reach)
        if name is not None and name != output.name:
            found[place] = name
    if not found:
        return None
    made = node.copy()
    for place, name in found.items():
        made.expressions[place].this.set("this", name)
    return made


def _stored_name(
    output: exp.Column, node: exp.Select, context: RewriteContext, reach: Scope
) -> str | None:
    of = fold(output.table)
    for source in sources_of(node):
        if of and fold(source.alias_or_name) != of:
            continue
        names = source_names(source, context, reach)
        if names is None:
            return None
        same = [name for name in names if fold(name) == fold(output.name)]
        if same:
            return same[0]
    return None


def with_own_names(node: exp.Select, around: exp.Expr | None) -> exp.Select | None:
    """A subquery or CTE whose outputs have names, each its own; None if they have them.

    ``around`` is what it stands in.
    """
    is_source = isinstance(around, exp.Subquery) and isinstance(around.parent, exp.From | exp.Join)
    if around is None or not (is_source or isinstance(around, exp.CTE)):
        return None
    alias = around.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return None
    if any(output.is_star or output.find(exp.Columns) for output in node.expressions):
        return None
    names = [_name(output) for output in node.expressions]
    wanted = _numbered(names)
    shown = [output.alias_or_name for output in node.expressions]
    if wanted == shown:
        return None
    made = node.copy()
    for output, name, old in zip(made.expressions, wanted, shown, strict=True):
        if name != old:
            output.replace(exp.alias_(output.unalias().copy(), ident(name), copy=False))
    return made


def columns_like(node: exp.Expr) -> exp.Columns | None:
    """COLUMNS with a regular expression for ``* LIKE 'a%'``; None for other conditions."""
    is_whole = isinstance(node, exp.Star)
    star, pattern = (node, node.args["ilike"]) if is_whole else (node.this, node.expression)
    if not isinstance(star, exp.Star) or {*filter(star.args.get, star.args)} - {"ilike"}:
        return None
    if not isinstance(node.parent, exp.Select | exp.Alias) or not pattern.is_string:
        return None
    if isinstance(node, exp.SimilarTo):
        wanted = f"(?s:{pattern.name})"
    else:
        parts = [_WILDCARDS.get(sign) or re.escape(sign) for sign in pattern.name]
        wanted = f"(?{'is' if is_whole or isinstance(node, exp.ILike) else 's'}:{''.join(parts)})"
    look = "?!" if node.args.get("negate") else "?:"
    return exp.Columns(this=exp.Literal.string(rf"\A({look}{wanted}\Z)"))


_WILDCARDS = {"%": ".*", "_": "."}


def with_outputs_in_having(node: exp.Select) -> exp.Select | None:
    """A SELECT whose HAVING has outputs in the place of their names, which are columns as well.

    HAVING asks for the column where GROUP BY names it, or an aggregate is of it.
    """
    having, group = node.args.get("having"), node.args.get("group")
    outputs = {fold(e.alias): e.this for e in node.expressions if isinstance(e, exp.Alias)}
    grouped = {fold(e.name) for e in (group.expressions if group is not None else ())}
    if having is None or not _outputs_meant(having, node, {*outputs} - grouped):
        return None
    made = node.copy()
    for meant in _outputs_meant(made.args["having"], made, {*outputs} - grouped):
        meant.replace(exp.paren(outputs[fold(meant.name)].copy(), copy=False))
    return made


def _outputs_meant(having: exp.Expr, select: exp.Select, names: set[str]) -> list[exp.Column]:
    return [
        named
        for named in having.find_all(exp.Column)
        if not named.table
        and fold(named.name) in names
        and named.find_ancestor(exp.AggFunc, exp.Query) is select
    ]


def _name(output: exp.Expr) -> str:
    is_named = isinstance(output, exp.Alias | exp.Column)
    return output.alias_or_name if is_named else result_spelling(output)


def _numbered(names: list[str]) -> list[str]:
    """The names with a number behind each that was there before."""
    taken = {fold(name) for name in names}
    seen: dict[str, int] = {}
    found = []
    for name in names:
        number = seen[fold(name)] = seen.get(fold(name), -1) + 1
        while number and fold(f"{name}_{number}") in taken:
            number += 1
        found.append(f"{name}_{number}" if number else name)
        taken.add(fold(found[-1]))
    return found


def spell_place(node: exp.Expr, context: RewriteContext) -> exp.Expr | None:
    """``#1``: the first column of the relations in FROM."""
    select = node.find_ancestor(exp.Select)
    if select is None or not isinstance(node.this, exp.Literal):
        return None
    reach = ctes_in_reach(select, context)
    place = int(node.this.name) - 1
    for source in sources_of(select):
        names = source_names(source, context, reach)
        if names is None or not all(names):
            return None
        if place < len(names):
            return column(names[place], source.alias_or_name)
        place -= len(names)
    return None
