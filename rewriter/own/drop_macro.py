"""DROP MACRO [TABLE] [IF EXISTS] name [CASCADE | RESTRICT], which DuckDB also calls FUNCTION.

PostgreSQL's DROP FUNCTION names the types of arguments behind the name.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import (
    DefinitionKey,
    DropDefinition,
    Macro,
    MacroBody,
    PutDefinition,
    Routine,
    definition_key,
)
from journal.model.plan import Change, DropRelation, StatementPlan, Step
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.kept_calls import views_of_function
from rewriter.definitions.macros import named_macro
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.routines import callers_of, named_routine
from rewriter.definitions.triggers import put_triggers
from rewriter.name_resolution import position_of
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader


@dataclass(frozen=True, slots=True)
class DropMacro(OwnStatement):
    """DROP MACRO of ``names``, each with how many parameters it has; None: of any."""

    names: tuple[tuple[exp.Table, int | None], ...]
    is_table: bool = False
    exists: bool = False
    is_function: bool = False
    cascade: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> DropMacro | None:
        """The statement, or None where something else than a macro is dropped."""
        reader = TokenReader(tokens, parse, 1)
        is_function = reader.takes("FUNCTION")
        if not is_function and not reader.takes("MACRO"):
            return None
        is_table = reader.takes("TABLE")
        exists = reader.takes("IF", "EXISTS")
        names = [(reader.name(), _width(reader) if is_function else None)]
        while is_function and reader.takes(","):
            names.append((reader.name(), _width(reader)))
        cascade = reader.takes("CASCADE")
        _ = cascade or reader.takes("RESTRICT")
        reader.ends("DROP MACRO needs one name")
        return cls(tuple(names), is_table, exists, is_function, cascade)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns its schema may drop it, and everybody a temporary one of their own."""
        for name, _ in self.names:
            macro = named_macro(name, access.context, is_table=self.is_table)
            if macro is None or macro.name.key[0] != access.context.catalog.own:
                access.owners.owned_schema(name)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Of a name the macro for values goes, or else the one for tables."""
        kinds = [True] if self.is_table else [False, True]
        left: dict[DefinitionKey, tuple[Macro, tuple[MacroBody, ...]]] = {}
        routines: list[Routine] = []
        for name, width in self.names:
            routine = named_routine(name, context) if self.is_function else None
            if routine is not None and width in {None, len(routine.parameters)}:
                routines.append(routine)
                continue
            every = (named_macro(name, context, is_table=kind) for kind in kinds)
            found = next((macro for macro in every if macro is not None), None)
            if found is None:
                if self.exists:
                    continue
                what = "function" if self.is_function else "macro"
                raise _unknown(name, f"{what} {name.name} does not exist")
            key = definition_key(found)
            _, bodies = left.get(key, (found, found.bodies))
            left[key] = (found, _without(found, bodies, name, width, exists=self.exists))
        steps: list[Step] = []
        for found, bodies in left.values():
            gone = tuple(body for body in found.bodies if body not in bodies)
            node = self.names[0][0]
            views = views_of_function(found, gone, node, context, cascade=self.cascade)
            steps += [Change(DropRelation(view.name)) for view in views]
            kept = replace(found, bodies=bodies)
            steps.append(Change(PutDefinition(kept, found) if bodies else DropDefinition(found)))
        tag = "DROP FUNCTION" if self.is_function else "DROP MACRO"
        return ddl_plan([*steps, *self._without_routines(routines, context)], tag)

    def _without_routines(self, routines: list[Routine], context: RewriteContext) -> list[Step]:
        """Steps that drop functions in PL/pgSQL, with CASCADE the triggers that call them too."""
        steps: list[Step] = [Change(DropDefinition(routine)) for routine in routines]
        gone = {
            (table.id, trigger.name)
            for routine in routines
            for table, trigger in callers_of(routine, context.catalog)
        }
        for table in context.catalog.tables():
            kept = [t for t in table.triggers if (table.id, t.name) not in gone]
            if len(kept) == len(table.triggers):
                continue
            if not self.cascade:
                lost = next(t for t in table.triggers if t not in kept)
                raise PalimpsestError(
                    Code.DEPENDENT_OBJECTS,
                    f"cannot drop function {lost.function[1]}() because other objects depend on"
                    f" it: trigger {lost.name} on table {table.name.name}",
                    advice="use CASCADE to drop the trigger too",
                    position=position_of(self.names[0][0]),
                )
            steps += put_triggers(table, kept)
        return steps


def _width(reader: TokenReader) -> int | None:
    """How many parameters stand behind a name in parentheses; None without these."""
    if not reader.takes("("):
        return None
    width = 0
    while not reader.takes(")"):
        reader.part({","})
        reader.takes(",")
        width += 1
    return width


def _without(
    macro: Macro,
    bodies: tuple[MacroBody, ...],
    name: exp.Table,
    width: int | None,
    *,
    exists: bool,
) -> tuple[MacroBody, ...]:
    """The forms that stay: of a function all with another number of parameters."""
    if not macro.bodies[0].is_function:
        return ()
    if width is None:
        if len(bodies) > 1:
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f"function name {name.name} is not unique",
                advice=f"write the types of its parameters, {name.name}(..)",
                position=position_of(name),
            )
        return ()
    left = tuple(body for body in bodies if len(body.parameters) != width)
    if len(left) == len(bodies) and not exists:
        message = f"function {name.name} with {width} parameters does not exist"
        raise _unknown(name, message)
    return left


def _unknown(name: exp.Table, message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.UNKNOWN_FUNCTION,
        message,
        advice="check the spelling; system.macros lists macros",
        position=position_of(name),
    )


STATEMENT = DropMacro
