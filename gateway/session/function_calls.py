"""Runs functions in PL/pgSQL that return nothing: SELECT f(..), and PERFORM f(..) in a block.

Each argument is computed once; its value then stands for the parameter in the steps of the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from gateway.config import Settings
from gateway.session.blocks import BlockSession, run_block
from gateway.session.outcome import StatementOutcome
from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import Routine
from journal.model.schema import CatalogSnapshot, Table, TableName, fold
from journal.model.trees import copy_tree
from rewriter.definitions.routines import known_routine
from rewriter.definitions.trigger_bodies import expression_of
from rewriter.functions import function_name
from rewriter.statement import CalledRoutine, SelectedCall, SqlStatement
from rewriter.statements.blocks import Run
from rewriter.syntax.parsing import Parsed
from rewriter.syntax.statements.function_bodies import body_of, condition_of
from rewriter.syntax.statements.function_forms import REGCLASS


class RoutineSession(BlockSession, Protocol):
    """What of a session calls run on."""

    settings: Settings
    executor: Any
    """What makes outcomes of rows."""

    @property
    def catalog(self) -> CatalogSnapshot:
        """The definitions that the session sees."""

    def run_bound(self, parsed: Parsed, bound: Mapping[str, Any]) -> StatementOutcome:
        """Run a statement whose parameters have values."""


def with_called_routine(parsed: Parsed, catalog: CatalogSnapshot, settings: Settings) -> Parsed:
    """A SELECT of nothing but a function in PL/pgSQL as a call of it; others as they are."""
    ast = parsed.statement.ast if isinstance(parsed.statement, SqlStatement) else None
    if not isinstance(ast, exp.Select) or len(ast.expressions) != 1 or ast.args.get("from_"):
        return parsed
    call, schemas = ast.expressions[0].unalias(), [*settings.search_path, catalog.home]
    if isinstance(call, exp.Dot):
        schemas = [call.this.name]
        call = call.expression
    if not isinstance(call, exp.Anonymous):
        return parsed
    for schema in schemas:
        found = known_routine(TableName(schema, function_name(call)), catalog)
        if found is not None:
            column = SelectedCall(ast.expressions[0].alias or found.name.name, None, ())
            called = CalledRoutine((column,), None, found, tuple(call.expressions))
            return replace(parsed, statement=called)
    return parsed


def run_call(
    session: RoutineSession, called: CalledRoutine, bound: Mapping[str, Any]
) -> StatementOutcome:
    """Run the body of a function in the client's transaction, or in one of its own."""
    routine = called.routine
    if routine.is_trigger:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "trigger functions can only be called as triggers",
            advice="CREATE TRIGGER .. EXECUTE FUNCTION it",
        )
    try:
        values = _values(session, called, bound)
        block = _Filled(session, routine, values).of(body_of(routine.body, is_trigger=False))
        notices = run_block(session, block, "SELECT")
    except RecursionError:
        raise PalimpsestError(
            Code.NESTING_TOO_DEEP,
            f"functions call each other too deep: {routine.name.name}",
            advice="have it call itself under a condition",
        ) from None
    rows = pa.table({called.columns[0].name: pa.array([""], pa.string())})
    outcome: StatementOutcome = session.executor.table_outcome("SELECT", rows)
    outcome.notices = (*outcome.notices, *notices)
    return outcome


def _values(
    session: RoutineSession, called: CalledRoutine, bound: Mapping[str, Any]
) -> dict[str, exp.Expr]:
    """The value of each parameter, as a constant of its type."""
    routine, given = called.routine, called.arguments
    most, least = len(routine.parameters), sum(d is None for _, _, d in routine.parameters)
    if not least <= len(given) <= most or any(
        isinstance(g, exp.Kwarg | exp.PropertyEQ) for g in given
    ):
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            f"the call does not fit function {routine.name.name}, which takes {most} arguments",
            advice="give its arguments in their order",
        )
    if not routine.parameters:
        return {}
    outputs: list[exp.Expr] = []
    for place, (_, kind, default) in enumerate(routine.parameters):
        value = given[place] if place < len(given) else expression_of(condition_of(str(default)))
        value = copy_tree(value)
        if kind != REGCLASS:
            value = exp.cast(value, kind, dialect="postgres")
        text = exp.Cast(this=value, to=exp.DataType.build("TEXT"))
        outputs.append(exp.alias_(text, f"a{place}"))
    select = exp.Select(expressions=outputs)
    parsed = Parsed(SqlStatement(select), select.sql(dialect="postgres"), ())
    outcome = session.run_bound(parsed, bound)
    try:
        assert outcome.rows is not None
        found = outcome.rows.take(1)[0]
    finally:
        outcome.close()
    made: dict[str, exp.Expr] = {}
    for (name, kind, _), value in zip(routine.parameters, found, strict=True):
        made[fold(name)] = _constant(session, value, kind)
    return made


def _constant(session: RoutineSession, value: str | None, kind: str) -> exp.Expr:
    if kind == REGCLASS:
        return exp.Literal.string(_relation_name(session, value)) if value else exp.null()
    literal = exp.null() if value is None else exp.Literal.string(value)
    return exp.cast(literal, kind, dialect="postgres")


def _relation_name(session: RoutineSession, text: str) -> str:
    """A relation's name as a regclass shows it: with its schema where that is not searched."""
    named = exp.to_table(text, dialect="postgres")
    path = [*session.settings.search_path, session.catalog.home]
    schemas = [named.db] if named.db else path
    for schema in schemas:
        found = session.catalog.get(TableName(schema, named.name))
        if found is not None:
            is_near = fold(found.name.schema) in map(fold, path)
            shown = exp.table_(found.name.name, db=None if is_near else found.name.schema)
            return str(shown.sql(dialect="postgres", identify="safe"))
    raise PalimpsestError(
        Code.UNKNOWN_TABLE, f'relation "{text}" does not exist', advice="check the spelling"
    )


class _Filled:
    """A body with constants in the place of its parameters."""

    def __init__(
        self, session: RoutineSession, routine: Routine, values: dict[str, exp.Expr]
    ) -> None:
        self.session, self.routine, self.values = session, routine, values

    def of(self, part: Any) -> Any:
        """A step, or several, with constants."""
        if isinstance(part, Run):
            return self.run(part)
        if isinstance(part, tuple):
            return tuple(map(self.of, part))
        if is_dataclass(part) and not isinstance(part, type):
            changed = {f.name: self.of(getattr(part, f.name)) for f in fields(part)}
            return replace(part, **changed)
        return part

    def run(self, step: Run) -> Run:
        """A statement with constants; its text says which, since plans are kept by texts."""
        if not self.values or not isinstance(step.statement, SqlStatement):
            return step
        ast = copy_tree(step.statement.ast)
        used = [*self.names(ast)]
        if not used:
            return step
        self.check_columns(ast, {name for name, _ in used})
        for name, node in used:
            node.replace(self.values[name].copy())
        return Run(SqlStatement(ast), ast.sql(dialect="postgres"))

    def names(self, ast: exp.Expr) -> Iterator[tuple[str, exp.Column]]:
        """The places where parameters are named, by themselves or behind the function's name."""
        own = fold(self.routine.name.name)
        for used in list(ast.find_all(exp.Column)):
            if fold(used.name) in self.values and fold(used.table) in {"", own}:
                yield fold(used.name), used

    def check_columns(self, ast: exp.Expr, names: set[str]) -> None:
        """Raise AMBIGUOUS_COLUMN for a parameter that may be a column of the statement."""
        columns = {fold(alias.alias) for alias in ast.find_all(exp.Alias)}
        columns |= {fold(c.name) for a in ast.find_all(exp.TableAlias) for c in a.columns}
        path = [*self.session.settings.search_path, self.session.catalog.home]
        for node in ast.find_all(exp.Table):
            for schema in [node.db] if node.db else path:
                found = self.session.catalog.get(TableName(schema, node.name))
                if isinstance(found, Table):
                    columns |= {fold(column.name) for column in found.columns}
                elif found is not None:
                    columns |= set(map(fold, found.columns))
        for name in sorted(names & columns):
            raise PalimpsestError(
                Code.AMBIGUOUS_COLUMN,
                f'column reference "{name}" is ambiguous: it is a parameter of'
                f" {self.routine.name.name}, and may be a column",
                advice="give the parameter another name",
            )
