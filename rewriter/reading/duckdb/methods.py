"""Calls behind a dot, and names behind ``alias``, in DuckDB's dialect on a PostgreSQL store. Pure.

SELECT s.upper().left(2) FROM t               left(upper(s), 2)
SELECT a + 1 AS b FROM t WHERE alias.b > 2    asks for the output b, also if t has a column b
"""

from __future__ import annotations

from contextlib import suppress

from sqlglot import exp
from sqlglot.errors import ParseError

from journal.model.schema import fold
from journal.model.trees import copy_tree
from journal.sql import dialects
from journal.sql.builders import sources_of
from journal.sql.relations import column
from rewriter.context import RewriteContext
from rewriter.reading.spelling import result_spelling

_OF_OUTPUTS = "alias"
_HOLDING_NAMES = (exp.Column, exp.Table, exp.TableAlias, exp.Alias, exp.DataType, exp.Dot)
_SYSTEM_SCHEMAS = frozenset({"main", "public", "pg_catalog", "information_schema", "system"})


def with_calls_in_front(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """The tree with functions before what they are called of, and outputs for their names."""
    if not any(_is_call(dot) for dot in tree.find_all(exp.Dot)) and not _named_outputs(tree):
        return tree
    schemas = {fold(schema) for schema in context.catalog.schemas} | _SYSTEM_SCHEMAS
    holder = exp.Paren(this=copy_tree(tree))
    for dot in reversed(list(holder.find_all(exp.Dot))):
        made = _call_in_front(dot, schemas) if _is_call(dot) else None
        if made is not None:
            _replace(dot, made)
    for named in _named_outputs(holder):
        select = named.parent_select
        output = None if select is None else _outputs(select, named).get(fold(named.name))
        if output is not None and not _has_source(named, _OF_OUTPUTS):
            _replace(named, exp.Paren(this=output.copy()))
    found = holder.this
    assert isinstance(found, exp.Expr)
    return found.pop()


def _is_call(dot: exp.Dot) -> bool:
    return isinstance(dot.expression, exp.Anonymous)


def _replace(node: exp.Expr, made: exp.Expr) -> None:
    """Put a tree in the place of a node; an output keeps the name that it has by its text."""
    if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
        made = exp.alias_(made, exp.to_identifier(result_spelling(node), quoted=True), copy=False)
    node.replace(made)


def _call_in_front(dot: exp.Dot, schemas: set[str]) -> exp.Expr | None:
    """The call with what stands before the dot as its first argument; None for one of a schema."""
    names = _names(dot.this)
    called = dot.expression
    if not str(called.this).isidentifier():
        return None
    if names is not None and len(names) > _NAMES_MAX:
        return None
    if names is not None and fold(names[-1]) in schemas and not _has_source(dot, names[0]):
        return None
    of = _as_value(dot.this) if names is None else column(*reversed(names))
    arguments = {f"a{place}": part for place, part in enumerate([of, *called.expressions])}
    with suppress(ParseError):
        name = _OF_TEXT_FIRST.get(str(called.this).lower(), called.this)
        found = dialects.read_back(f"SELECT {name}({', '.join(arguments)})", "duckdb")
        for named in list(found.find_all(exp.Column)):
            named.replace(arguments[named.name].copy())
        return found.expressions[0].pop()  # type: ignore[no-any-return]
    return None


_OF_TEXT_FIRST = {"position": "strpos"}
"""What is another function where the text that is searched comes first."""
_NAMES_MAX = 2
"""Of a column before a dot, as in DuckDB: its own and that of its table."""


def _names(value: exp.Expr) -> list[str] | None:
    """The names of a column that stand before a call; None for other values."""
    if isinstance(value, exp.Identifier):
        return [value.name]
    if isinstance(value, exp.Column):
        return [part.name for part in value.parts]
    if isinstance(value, exp.Dot) and isinstance(value.expression, exp.Identifier):
        before = _names(value.this)
        return None if before is None else [*before, value.expression.name]
    return None


def _as_value(value: exp.Expr) -> exp.Expr:
    """A value whose columns are columns again: before a dot the parser takes them for names."""
    holder = exp.Paren(this=value.copy())
    variables = {name.name for one in holder.find_all(exp.Lambda) for name in one.expressions}
    for part in list(holder.find_all(exp.Identifier, exp.Dot)):
        if isinstance(part.parent, (*_HOLDING_NAMES, exp.Lambda, exp.Kwarg, exp.PropertyEQ)):
            continue
        names = _names(part)
        if names is not None and len(names) <= _NAMES_MAX and names[0] not in variables:
            part.replace(column(*reversed(names)))
    found = holder.this
    assert isinstance(found, exp.Expr)
    return found.pop()


def _named_outputs(tree: exp.Expr) -> list[exp.Column]:
    """The columns of a tree that begin with ``alias``."""
    return [c for c in tree.find_all(exp.Column) if not c.db and fold(c.table) == _OF_OUTPUTS]


def _outputs(select: exp.Select, named: exp.Expr) -> dict[str, exp.Expr]:
    """The outputs of a query that a column of it may name: within one of them, those before it."""
    found: dict[str, exp.Expr] = {}
    for output in select.expressions:
        if any(part is named for part in output.walk()):
            break
        if isinstance(output, exp.Alias):
            found[fold(output.alias)] = output.this
    return found


def _has_source(node: exp.Expr, name: str) -> bool:
    """True if a query around a node reads a relation of that name."""
    select = node.find_ancestor(exp.Select)
    while select is not None:
        if any(fold(source.alias_or_name) == fold(name) for source in sources_of(select)):
            return True
        select = select.find_ancestor(exp.Select)
    return False
