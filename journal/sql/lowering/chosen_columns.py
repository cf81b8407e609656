"""``COLUMNS(..)`` written out as the columns that it chooses, for stores that lack it.

    COLUMNS('^a'), COLUMNS(['a', 'b']), COLUMNS(* EXCLUDE (a)), COLUMNS(t.*)
    max(COLUMNS(..)) + 1    one output for each column, under its name
    WHERE COLUMNS(..) > 5   all of the conditions

Pure; copies the trees that it is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from journal.model.trees import is_nested

Starred = Callable[[exp.Expr], list[tuple[str, str]] | None]
"""Gives alias and name of each column that a star stands for; None where they are not known."""
_SIDES = 2
"""Of a join."""
_GROUP = re.compile(r"\\(\d)")


def has_columns(item: exp.Expr) -> bool:
    """True for an expression with COLUMNS that is not that of a query inside."""
    return any(True for _ in _uses(item))


def chosen_outputs(item: exp.Expr, starred: Starred) -> list[exp.Expr]:
    """The outputs that one with COLUMNS stands for."""
    shared = _shared(item)
    outputs: list[exp.Expr] = []
    for column in chosen(shared, starred):
        made = _with_column(item, column)
        if isinstance(made, exp.Alias):
            made.set("alias", exp.to_identifier(_named(made.alias, shared, column), quoted=True))
        elif not isinstance(item, exp.Columns):
            made = exp.alias_(made, column.alias_or_name, quoted=True)
        outputs.append(made)
    return outputs


def all_hold(condition: exp.Expr, starred: Starred) -> exp.Expr:
    """A condition with COLUMNS as one that holds for each of the columns."""
    found = chosen(_shared(condition), starred)
    return exp.and_(*(exp.paren(_with_column(condition, column)) for column in found))


def chosen(item: exp.Columns, starred: Starred) -> list[exp.Expr]:
    """The columns that COLUMNS chooses, at least one."""
    what = item.this
    star = what.this if isinstance(what, exp.Column) else what
    columns = starred(what if isinstance(star, exp.Star) else exp.Star())
    if columns is None or item.args.get("unpack"):
        raise _refused("COLUMNS(..) like this", "list the columns")
    if isinstance(star, exp.Star):
        found = columns_of_star(star, columns)
    elif isinstance(what, exp.Literal) and what.is_string:
        found = [_column(*column) for column in columns if _matches(what.name, column[1])]
    elif isinstance(what, exp.Array) and all(name.is_string for name in what.expressions):
        found = [_column(*_of_name(name.name, columns)) for name in what.expressions]
    else:
        raise _refused("COLUMNS(..) like this", "give a regular expression, or list the columns")
    if not found:
        raise PalimpsestError(
            Code.UNKNOWN_COLUMN,
            f"no column matches {item.sql(dialect='duckdb')}",
            advice="DESCRIBE shows the columns",
        )
    return found


def columns_of_star(star: exp.Expr, columns: Sequence[tuple[str, str]]) -> list[exp.Expr]:
    """What a star with EXCLUDE, REPLACE or RENAME stands for, of columns by alias and name."""
    left_out = star.args.get("except_") or ()
    replaced = {fold(e.alias): e for e in star.args.get("replace") or ()}
    renamed = star.args.get("rename") or ()
    kept: list[exp.Expr] = []
    for alias, name in columns:
        if _is_joined_and_left_out(left_out, alias, name):
            continue
        if any(_is_meant(e, alias, name) for e in left_out):
            continue
        if fold(name) in replaced:
            kept.append(replaced[fold(name)].copy())
            continue
        column = _column(alias, name)
        names = [e.alias for e in renamed if _is_meant(e.this, alias, name)]
        kept.append(exp.alias_(column, names[0], quoted=True) if names else column)
    return kept


def _is_joined_and_left_out(left_out: Sequence[exp.Expr], alias: str, name: str) -> bool:
    """True for a column joined by name that ``EXCLUDE (t.a, u.a)`` names on both sides."""
    sides = {fold(e.text("table")) for e in left_out if fold(e.name) == fold(name)}
    return not alias and len(sides - {""}) == _SIDES


def _is_meant(named: exp.Expr, alias: str, name: str) -> bool:
    """True for a column that ``EXCLUDE (t.a)`` or ``EXCLUDE (a)`` names.

    Raises NOT_SUPPORTED for ``t.a`` where the column is joined by name, as that of both.
    """
    of = named.text("table")
    if fold(named.name) != fold(name):
        return False
    if of and not alias:
        raise _refused("EXCLUDE of one side of a joined column", "list the columns")
    return not of or fold(of) == fold(alias)


def _uses(item: exp.Expr) -> list[exp.Columns]:
    inside = item.find_all(exp.Columns)
    return [use for use in inside if use is item or not is_nested(use, item)]


def _shared(item: exp.Expr) -> exp.Columns:
    """The one COLUMNS of an expression, which may stand there several times."""
    first, *others = _uses(item)
    if any(other != first for other in others):
        raise _refused("different COLUMNS(..) in one expression", "list the columns")
    return first


def _with_column(item: exp.Expr, column: exp.Expr) -> exp.Expr:
    if isinstance(item, exp.Columns):
        return column
    made = item.copy()
    for use in _uses(made):
        use.replace(column.unalias().copy())
    return made


def _named(alias: str, item: exp.Columns, column: exp.Expr) -> str:
    """An alias whose ``\\1`` stands for a group of the regular expression."""
    what = item.this
    if "\\" not in alias or not (isinstance(what, exp.Literal) and what.is_string):
        return alias
    match = re.search(what.name, column.alias_or_name)
    groups = match.re.groups if match is not None else 0

    def group(found: re.Match[str]) -> str:
        number = int(found[1])
        return (match[number] or "") if match is not None and number <= groups else ""

    return _GROUP.sub(group, alias)


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error as error:
        raise _refused(f"COLUMNS({pattern!r}), which is not a regular expression", "") from error


def _of_name(name: str, columns: Sequence[tuple[str, str]]) -> tuple[str, str]:
    for column in columns:
        if fold(column[1]) == fold(name):
            return column
    raise PalimpsestError(
        Code.UNKNOWN_COLUMN,
        f'column "{name}" does not exist',
        advice="DESCRIBE shows the columns",
    )


def _column(alias: str, name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=alias or None)


def _refused(what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, f"this store has no {what}", advice=advice)
