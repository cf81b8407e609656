"""The expressions of a trigger in words of the store, typed by the table whose rows it changes.

They are read as PostgreSQL reads them, whatever the dialect of the client that writes. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, fold
from journal.model.trees import copy_tree
from journal.model.triggers import INSERT, Trigger
from journal.sql.relations import ident
from journal.sql.sql import cast, named, relation
from rewriter.checks.allowed import check_allowed
from rewriter.context import RewriteContext
from rewriter.definitions.macros import expand_macros
from rewriter.definitions.routines import function_of
from rewriter.definitions.trigger_bodies import expression_of, expressions_of, refused, steps_of
from rewriter.definitions.user_types import expand_types
from rewriter.reading.enum_texts import text_enums
from rewriter.reading.enum_values import type_enum_values
from rewriter.reading.postgres.dialect import in_words_of_the_store
from rewriter.reading.user_words import read_user_words
from rewriter.statement import SqlStatement
from rewriter.statements.blocks import Block, Raise, Run
from rewriter.syntax.statements.function_bodies import body_of, condition_of
from rewriter.writing.trigger_programs import (
    NEW,
    OLD,
    VARIABLES,
    RowProgram,
    no_field,
    program_of,
    whole_rows,
)


def trigger_program(
    trigger: Trigger, event: str, table: Table, context: RewriteContext
) -> RowProgram:
    """What a trigger makes of the rows of a table that a statement inserts or updates."""
    routine = function_of(trigger, context.catalog)
    if routine is None:
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            f"function {trigger.function[1]} of trigger {trigger.name} does not exist",
            advice="drop the trigger, or create the function again",
        )
    block = body_of(routine.body, is_trigger=True)
    reader = _Reader(trigger, event, table, block)
    condition = None if trigger.condition is None else condition_of(trigger.condition)
    runs = [*expressions_of(block), *([] if condition is None else [condition])]
    kinds = {v.name: copy_tree(expression_of(v.kind)) for v in block.variables}
    shown = {id(value) for raised in _raised(block) for value in raised.values}
    found = [reader.named(run, is_shown=id(run) in shown) for run in runs]
    spelled = dict(zip(map(id, runs), _store_words(found, kinds, table, context), strict=True))
    if event == INSERT:
        for value in spelled.values():
            _without_old(value, table)
    meaning = _of(spelled)
    when = None if condition is None else meaning(condition)
    return program_of(block, table, when, meaning, has_old=event != INSERT)


class _Reader:
    """Says of each name in an expression what it means."""

    def __init__(self, trigger: Trigger, event: str, table: Table, block: Block) -> None:
        self.table, self.trigger = table, trigger
        self.variables = {variable.name for variable in block.variables}
        self.words = {
            "tg_op": event,
            "tg_name": trigger.name,
            "tg_when": "BEFORE",
            "tg_level": "ROW",
            "tg_table_name": table.name.name,
            "tg_relname": table.name.name,
            "tg_table_schema": table.name.schema,
        }

    def named(self, run: Run, *, is_shown: bool) -> exp.Expr:
        """An expression whose columns are of NEW, of OLD or variables; ``is_shown``: its text."""
        holder = exp.Paren(this=copy_tree(expression_of(run)))
        for part in list(holder.find_all(exp.Bracket)):
            if isinstance(part.this, exp.Column) and fold(part.this.name) == "tg_argv":
                part.replace(self.argument(part))
        whole_rows(holder, self.table)
        for used in list(holder.find_all(exp.Column)):
            used.replace(self.meaning(used))
        found: exp.Expr = holder.this
        if not is_shown:
            return found
        return exp.Cast(this=exp.paren(found), to=exp.DataType.build("TEXT"))

    def argument(self, used: exp.Bracket) -> exp.Expr:
        """What TG_ARGV[n] is."""
        place = used.expressions[0]
        if not isinstance(place, exp.Literal) or not place.name.isdigit():
            raise refused("a computed place in TG_ARGV", "write TG_ARGV[0]")
        # The parser counts from 1 as arrays do, where it has not typed the name.
        number = int(place.name) + int(used.args.get("offset") is None)
        given = self.trigger.arguments[number : number + 1]
        return exp.Literal.string(given[0]) if given else exp.null()

    def meaning(self, used: exp.Column) -> exp.Expr:
        """What a name means."""
        if used.args.get("db") is not None:
            raise refused("a field of a column", "compute it in the statement that writes")
        name, owner = used.name, used.table
        if owner in {NEW, OLD}:
            stored = self.table.find(name)
            if stored is None:
                raise no_field(owner, name)
            return exp.column(ident(stored.name), owner)
        if not owner and name in self.variables:
            return exp.column(ident(name), VARIABLES)
        if not owner and fold(name) == "tg_nargs":
            return exp.Literal.number(len(self.trigger.arguments))
        if not owner and fold(name) in self.words:
            return exp.Literal.string(self.words[fold(name)])
        raise PalimpsestError(
            Code.UNKNOWN_COLUMN,
            f'column "{name}" does not exist',
            advice=f"the function {self.trigger.function[1]} knows NEW, OLD and its variables",
        )


def _raised(block: Block) -> list[Raise]:
    return [step for step in steps_of(block.steps) if isinstance(step, Raise)]


def _of(spelled: dict[int, exp.Expr]) -> Callable[[Run], exp.Expr]:
    return lambda run: spelled[id(run)]


def _store_words(
    values: Sequence[exp.Expr], kinds: dict[str, exp.Expr], table: Table, context: RewriteContext
) -> list[exp.Expr]:
    """Expressions in words of the store, in their order."""
    if not values:
        return []
    outputs = [named(value, f"v{place}") for place, value in enumerate(values)]
    rows = exp.Table(this=ident(table.name.name), db=ident(table.name.schema))
    query = exp.Select(expressions=outputs, from_=exp.From(this=_aliased(rows, NEW)))
    query.append("joins", exp.Join(this=_aliased(rows.copy(), OLD), kind="CROSS"))
    if kinds:
        declared = exp.Select(expressions=[named(kind, name) for name, kind in kinds.items()])
        query.append("joins", exp.Join(this=relation(declared, VARIABLES), kind="CROSS"))
    as_postgres = replace(context, dialect="postgres")
    statement = in_words_of_the_store(SqlStatement(query), as_postgres)
    assert isinstance(statement, SqlStatement)
    found = copy_tree(statement.ast)
    expand_macros(found, as_postgres)
    read_user_words(check_allowed(found, context.limits), as_postgres)
    type_enum_values(found, as_postgres)
    text_enums(found, as_postgres)
    expand_types(found, as_postgres)
    by_name = {output.alias: output.this for output in found.expressions}
    made = [by_name[f"v{place}"] for place in range(len(values))]
    for value in made:
        for _ in value.find_all(exp.Query):
            raise refused("a query in a function of triggers")
    return made


def _aliased(table: exp.Table, alias: str) -> exp.Table:
    table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return table


def _without_old(value: exp.Expr, table: Table) -> None:
    """Put NULL in the place of each column of OLD, which an INSERT has not."""
    for used in list(value.find_all(exp.Column)):
        stored = table.find(used.name) if used.table == OLD else None
        if stored is not None:
            used.replace(cast(exp.null(), stored.type))
