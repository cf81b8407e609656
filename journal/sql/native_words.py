"""What PostgreSQL's SQL alone says, within texts of DuckDB's. Pure.

The catalog keeps definitions as texts of DuckDB's SQL, which has no word for some of PostgreSQL's:
its ``/`` is another one, its DECIMAL has three digits behind the point. A node that such a text
would lose is marked, and a text keeps it as a call, of which ``dialects.stored`` makes it again:

    id / 2          in_postgres('"_1" / 2', id)
    x::numeric      in_postgres('CAST("_1" AS DECIMAL)', x)

Clients cannot call that function.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from journal.model.errors import Code, PalimpsestError
from journal.model.trees import copy_tree
from journal.sql import dialects
from journal.sql.builders import call
from journal.sql.relations import ident

_FAILURES = (SqlglotError, PalimpsestError, AssertionError, AttributeError, TypeError, ValueError)
_PARTS = (exp.Slice, exp.Kwarg, exp.PropertyEQ, exp.JSONKeyValue, exp.Interval, exp.Lambda)
"""What stands for no value by itself."""


def mark_kept(node: exp.Expr) -> None:
    """Mark a node that DuckDB's text would say as something else."""
    node.meta[dialects.IN_POSTGRES] = True


def mark_lost(node: exp.Expr) -> None:
    """Mark a node that DuckDB's text would lose and PostgreSQL's says."""
    shell, _ = _without_values(node)
    if _is_read(shell, "duckdb"):
        return
    # A function that a parser knows by another name is kept by its own.
    if isinstance(node, exp.Anonymous) or _is_read(shell, "postgres"):
        node.meta[dialects.IN_POSTGRES] = True


def with_kept_words(tree: exp.Expr) -> exp.Expr:
    """The tree with a call in the place of each marked node; the same if there is none.

    Raises NOT_SUPPORTED for such a call of a client's.
    """
    for called in tree.find_all(exp.Anonymous):
        if called.name.lower() == dialects.IN_POSTGRES:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"the function {dialects.IN_POSTGRES} is the catalog's own",
                advice="write what it stands for",
            )
    if not any(dialects.IN_POSTGRES in node.meta for node in tree.walk()):
        return tree
    holder = exp.Paren(this=copy_tree(tree))
    for node in reversed([n for n in holder.walk() if dialects.IN_POSTGRES in n.meta]):
        if isinstance(node, exp.Anonymous):
            text, values = node.name, node.expressions
        else:
            shell, values = _without_values(node)
            text = shell.sql(dialect="postgres")
        node.replace(call(dialects.IN_POSTGRES, text, *values))
    found = holder.this
    assert isinstance(found, exp.Expr)
    return found.pop()


def shown_text(text: str) -> str:
    """A text of the catalog as people read it, without such calls: what they keep may be lost.

    >>> shown_text("in_postgres('\"_1\" / 2', id) + 1")
    'id / 2 + 1'
    """
    if dialects.IN_POSTGRES not in text.lower():
        return text
    return dialects.stored(text).sql(dialect="duckdb")


def _without_values(node: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    """A node with numbered columns in the place of what is in it, but for constants; and these."""
    shell = node.copy()
    values: list[exp.Expr] = []
    waiting = [shell]
    while waiting:
        for part in list(waiting.pop().iter_expressions()):
            if _is_value(part):
                values.append(part.copy())
                part.replace(exp.Column(this=ident(f"_{len(values)}")))
            else:
                waiting.append(part)
    return shell, values


def _is_value(part: exp.Expr) -> bool:
    """True for what stands for a value by itself, but for constants that both read alike."""
    if isinstance(part, exp.Literal):
        return dialects.IN_POSTGRES in part.meta
    if isinstance(part.parent, exp.WithinGroup) and part.arg_key == "this":
        return False
    return isinstance(part, exp.Condition | exp.Query) and not isinstance(part, _PARTS)


def _is_read(shell: exp.Expr, dialect: str) -> bool:
    """True if the text of a node in a dialect means that node."""
    try:
        return dialects.read_back(shell.sql(dialect=dialect), dialect) == shell
    except _FAILURES:
        return False
