"""The WHEN clauses of a MERGE, read into actions: kind, condition, and values by column. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import ROW_ID, Column, Table, fold
from journal.model.trees import is_nested
from journal.sql.relations import column, ident
from journal.sql.sql import cast
from rewriter.context import RewriteContext
from rewriter.definitions.generated_values import check_writable, writable_columns
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of
from rewriter.reading.output_names import output_names
from rewriter.syntax.statements.merge import BY_NAME, ERROR
from rewriter.syntax.value_places import WrongValueCount
from rewriter.writing.assignments import assignments
from rewriter.writing.target import (
    AliasedTable,
    convert_value,
    default_value,
    distinct_columns,
    is_default,
)

JOINED = "_palimpsest_joined"
"""The alias of a source that is a join without one, whose relations keep their own names."""


@dataclass(frozen=True, slots=True)
class MergeClause:
    """One clause. ``kind`` is INSERT, UPDATE, DELETE, ERROR, or empty for DO NOTHING.

    ``error`` is the text of an ERROR, NULL where it has none.
    """

    place: int
    kind: str
    matched: bool
    by_source: bool
    condition: exp.Expr | None
    values: dict[str, exp.Expr]
    error: exp.Expr | None = None

    @property
    def words(self) -> str:
        """How the clause begins."""
        if self.matched:
            return "WHEN MATCHED"
        return "WHEN NOT MATCHED BY SOURCE" if self.by_source else "WHEN NOT MATCHED"


@dataclass(slots=True)
class Actions:
    """All clauses in order; ``generated`` says which clauses leave a column to its numbers."""

    all: list[MergeClause] = field(default_factory=list)
    generated: dict[str, list[int]] = field(default_factory=dict)

    @property
    def inserts(self) -> bool:
        """True when a source row without a match may be inserted."""
        return any(not a.matched and not a.by_source for a in self.all)

    @property
    def by_source(self) -> bool:
        """True if a clause applies to target rows without a match."""
        return any(a.by_source for a in self.all)


def read_actions(
    ast: exp.Merge, target: AliasedTable, alias: str, context: RewriteContext
) -> Actions:
    """The clauses of a MERGE; raises for those that have no meaning, or that no row reaches."""
    whens = ast.args["whens"].expressions
    source = _Source(ast, alias, context)
    actions = Actions()
    ended: set[str] = set()
    for place, when in enumerate(whens, start=1):
        action = _action(when, place, target, source, actions)
        if action.words in ended:
            raise PalimpsestError(
                Code.SYNTAX,
                f"no row reaches this {action.words}, as one before it has no condition",
                advice="give the one before it AND and a condition, or put it last",
                position=position_of(when),
            )
        if action.condition is None:
            ended.add(action.words)
        actions.all.append(action)
    return actions


def _action(
    when: exp.When, place: int, target: AliasedTable, source: _Source, actions: Actions
) -> MergeClause:
    matched = bool(when.args.get("matched"))
    by_source = not matched and bool(when.args.get("source"))
    then = when.args["then"]
    kind, values = "", {}
    word = then.name.upper() if isinstance(then, exp.Var) else ""
    by_name, error = when.args.get(BY_NAME), when.args.get(ERROR)
    if error is not None:
        kind = "ERROR"
    elif isinstance(then, exp.Update):
        kind, values = "UPDATE", _update(then, target, source, by_name)
    elif isinstance(then, exp.Insert):
        given = source.named_row(target.table) if by_name else None
        kind, values = "INSERT", _insert(then, place, target.table, source, actions, given)
    elif word == "DELETE":
        kind = "DELETE"
    elif word != "DO NOTHING":
        raise _refusal(f"{then.sql()} in a MERGE is not supported", when)
    inserts = not matched and not by_source
    if kind not in {"", "ERROR"} and inserts != (kind == "INSERT"):
        which = "WHEN NOT MATCHED" if inserts else "a clause for rows that are there"
        raise PalimpsestError(
            Code.SYNTAX,
            f"{kind} does not fit {which}",
            advice="INSERT goes with WHEN NOT MATCHED, UPDATE and DELETE with the other clauses",
            position=position_of(when),
        )
    condition = when.args.get("condition")
    if not matched:
        sides = (target.alias, source.alias) if by_source else (source.alias, target.alias)
        values = {c: _scoped_columns(v, target.table, *sides) for c, v in values.items()}
        if condition is not None:
            condition = _scoped_columns(condition.copy(), target.table, *sides)
        if error is not None:
            error = _scoped_columns(error.copy(), target.table, *sides)
    return MergeClause(place, kind, matched, by_source, condition, values, error)


def _scoped_columns(node: exp.Expr, table: Table, alias: str, hidden: str) -> exp.Expr:
    """Bare columns mean the one side there is, even where both sides have the name."""
    holder = exp.Paren(this=node)
    for used in list(holder.find_all(exp.Column)):
        if fold(used.table) == fold(hidden) and not is_nested(used, holder):
            raise PalimpsestError(
                Code.UNKNOWN_TABLE,
                f'"{used.sql()}" names a row of {hidden}, and this clause has none',
                advice=f"use columns of {alias}",
                position=position_of(used),
            )
        is_bare = not used.table and not is_nested(used, holder)
        if is_bare and alias != JOINED and table.find(used.name) is not None:
            used.set("table", ident(alias))
    found: exp.Expr = holder.this
    return found


def _update(
    then: exp.Update, target: AliasedTable, source: _Source, by_name: bool | None
) -> dict[str, exp.Expr]:
    nodes = then.expressions if isinstance(then.args.get("expressions"), list) else []
    if by_name:
        given = source.named_row(target.table)
        check_writable(target.table, [c for c in target.table.columns if c.physical in given])
        return given
    if not nodes or isinstance(nodes[0], exp.Star):
        return source.row(target.table)
    return assignments(target.table, nodes, target.alias).values


def _insert(
    then: exp.Insert,
    place: int,
    table: Table,
    source: _Source,
    actions: Actions,
    given: dict[str, exp.Expr] | None,
) -> dict[str, exp.Expr]:
    listed = then.this if isinstance(then.this, exp.Expr) else None
    values = then.expression if isinstance(then.expression, exp.Expr) else None
    if given is not None:
        pass
    elif values is None and isinstance(listed, exp.Tuple) and _only_default(listed):
        given = {}
    elif values is None and (listed is None or isinstance(listed, exp.Star)):
        given = source.row(table)
    elif values is None:
        raise _refusal("INSERT in a MERGE needs VALUES", then)
    else:
        given = _given_values(table, listed, values, source.short_rows)
    for stored in table.columns:
        if stored.generated is not None and is_default(given.get(stored.physical, exp.null())):
            del given[stored.physical]
    check_writable(table, [c for c in table.columns if c.physical in given])
    overriding = str(then.args.get("overriding") or "")
    for stored in table.columns:
        value = given.get(stored.physical)
        if stored.identity is not None and (
            value is None or is_default(value) or overriding == "USER"
        ):
            actions.generated.setdefault(stored.physical, []).append(place)
            given[stored.physical] = exp.Null()
        elif value is None or is_default(value):
            given[stored.physical] = default_value(stored)
        elif stored.identity is not None and stored.identity.always and not overriding:
            raise PalimpsestError(
                Code.GENERATED_COLUMN,
                f'column "{stored.name}" of {table.name} is GENERATED ALWAYS',
                advice="leave it out, give DEFAULT, or write OVERRIDING SYSTEM VALUE",
                position=position_of(then),
            )
    converted = {c.physical: convert_value(given[c.physical].copy(), c) for c in table.columns}
    if table.hidden_key:
        converted[ROW_ID] = cast(exp.Null(), "BIGINT")
    return converted


def _only_default(listed: exp.Tuple) -> bool:
    return len(listed.expressions) == 1 and is_default(listed.expressions[0])


def _given_values(
    table: Table, listed: exp.Expr | None, values: exp.Expr, short_rows: bool
) -> dict[str, exp.Expr]:
    columns: Sequence[Column] = writable_columns(table.columns)
    if listed is not None:
        nodes = listed.expressions if isinstance(listed, exp.Tuple) else [listed]
        columns = distinct_columns(
            table, [n.this if isinstance(n, exp.Paren) else n for n in nodes]
        )
    if isinstance(values, exp.Paren):
        values = exp.Tuple(expressions=[values.this])
    cells = values.expressions if isinstance(values, exp.Tuple) else [values]
    if listed is None and short_rows and len(cells) < len(columns):
        columns = columns[: len(cells)]
    elif listed is None and len(cells) == len(table.columns):
        columns = table.columns
    if len(cells) != len(columns):
        raise WrongValueCount(table.name, len(columns), len(cells), 0, position_of(values))
    return {c.physical: v for c, v in zip(columns, cells, strict=True)}


class _Source:
    """The source as ``UPDATE SET *`` and ``INSERT *`` see it: by position or by name."""

    def __init__(self, ast: exp.Merge, alias: str, context: RewriteContext) -> None:
        self.alias = alias
        self._by_name = semantics_of(context.dialect).stars_by_name
        self.short_rows = semantics_of(context.dialect).short_rows
        self._node = ast
        self._context = context

    def row(self, table: Table) -> dict[str, exp.Expr]:
        """A value for every column of the table, taken from the source."""
        columns = writable_columns(table.columns)
        if self.alias == JOINED:
            raise _refusal("a star in a MERGE over a join is not supported", self._node)
        if self._by_name:
            return {c.physical: convert_value(column(c.name, self.alias), c) for c in columns}
        names = self._names()
        if len(names) != len(columns):
            raise PalimpsestError(
                Code.COLUMN_COUNT,
                f"{table.name} has {len(columns)} columns, the source has {len(names)}",
                advice="name the columns: UPDATE SET a = s.a, .."
                " or INSERT (a, ..) VALUES (s.a, ..)",
                position=position_of(self._node),
            )
        return {
            c.physical: convert_value(exp.column(ident(n), table=ident(self.alias)), c)
            for c, n in zip(columns, names, strict=True)
        }

    def named_row(self, table: Table) -> dict[str, exp.Expr]:
        """The source's columns by the names of the table's; raises UNKNOWN_COLUMN for others."""
        if self.alias == JOINED:
            raise _refusal("BY NAME in a MERGE over a join is not supported", self._node)
        nodes: list[exp.Expr] = [exp.column(ident(name)) for name in self._names()]
        return {
            c.physical: convert_value(exp.column(ident(n.name), table=ident(self.alias)), c)
            for c, n in zip(distinct_columns(table, nodes), nodes, strict=True)
        }

    def _names(self) -> list[str]:
        probe = exp.select("*").from_(self._node.args["using"].copy())
        if self._node.args.get("with_") is not None:
            probe.set("with_", self._node.args["with_"].copy())
        names = output_names(probe, self._context)
        if names is None or len(set(names)) != len(names) or not all(names):
            raise _refusal(
                "a star needs a source whose columns have known, distinct names", self._node
            )
        return list(names)


def _refusal(message: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        message,
        advice="name the columns and values",
        position=position_of(node),
    )
