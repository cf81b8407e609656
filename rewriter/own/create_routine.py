"""PostgreSQL's CREATE FUNCTION .. LANGUAGE plpgsql, for triggers and for blocks with parameters.

CREATE FUNCTION set_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.updated_at = now(); RETURN NEW; END $$
CREATE FUNCTION forget(n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN DELETE FROM t WHERE id = n; END $$

The body is kept as it was written, once it is known that it can run.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import PutDefinition, Routine
from journal.model.plan import Change, StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan, new_definition_name
from rewriter.definitions.routines import known_routine
from rewriter.definitions.trigger_bodies import check_body
from rewriter.dialect_semantics import DIALECTS
from rewriter.functions import is_function_of_sql
from rewriter.name_resolution import position_of
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.function_bodies import body_of
from rewriter.syntax.statements.function_forms import FunctionForm, is_in_plpgsql, read_function
from rewriter.syntax.token_reader import Parse, TokenReader

_TAG = "CREATE FUNCTION"


@dataclass(frozen=True, slots=True)
class CreateRoutine(OwnStatement):
    """CREATE FUNCTION .. LANGUAGE plpgsql; ``body`` is its text."""

    name: exp.Table
    form: FunctionForm
    replace: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> CreateRoutine | None:
        """The statement, or None where something else is made, or in another language."""
        reader = TokenReader(tokens, parse, 1, "docs/definitions.md has its form")
        replaces = reader.takes("OR", "REPLACE")
        if not reader.takes("FUNCTION") or not is_in_plpgsql(tokens):
            return None
        name = reader.name()
        if not reader.takes("("):
            return None
        form = read_function(reader)
        if form.parameters and form.result.in_plpgsql == "trigger":
            message = "trigger functions cannot have declared arguments"
            raise _invalid(name, message, "the arguments of a trigger are in TG_ARGV")
        if form.is_strict:
            raise _invalid(name, "a function in PL/pgSQL that is STRICT", "leave STRICT out")
        return cls(name, form, replaces)

    def check(self, access: StatementAccess) -> None:
        """Whoever may make relations in its schema may make one, and its owner may replace it."""
        access.owners.may_create(self.name, is_temporary=False)
        if self.replace:
            access.owners.owned_schema(self.name)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Put the function into the catalog; triggers do from now on what it says."""
        if DIALECTS.get(context.dialect) != "postgres":
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "CREATE FUNCTION .. LANGUAGE plpgsql is PostgreSQL's",
                advice="use the postgres dialect",
                position=position_of(self.name),
            )
        name = new_definition_name(self.name, context, temporary=False)
        taken = any(
            context.catalog.definitions.get((kind, *name.key)) for kind in ("macro", "table macro")
        )
        known = known_routine(name, context.catalog)
        if is_function_of_sql(self.name.name, context.dialect):
            message = f"{self.name.name} is a function of SQL, which no other can hide"
            raise _invalid(self.name, message, "rename it")
        if taken or (known is not None and not self.replace):
            raise PalimpsestError(
                Code.DUPLICATE_FUNCTION,
                f"function {name.name} exists already with the same parameters",
                advice="use OR REPLACE, or another name",
                position=position_of(self.name),
            )
        form = self.form
        parameters = tuple(
            (n, kind.sql("postgres"), None if value is None else value.sql("postgres"))
            for (n, value), kind in zip(form.parameters, form.types, strict=True)
        )
        said = None if known is None else known.comment
        made = Routine(name, parameters, form.result.in_plpgsql, form.body, said)
        block = body_of(form.body, is_trigger=made.is_trigger)
        if made.is_trigger:
            check_body(block)
        self._check_replaces(known, made)
        return ddl_plan([Change(PutDefinition(made, known))], _TAG)

    def _check_replaces(self, known: Routine | None, made: Routine) -> None:
        """Raise for a function that another one with other parameters, or another result, has."""
        if known is None:
            return
        if [p[1] for p in known.parameters] != [p[1] for p in made.parameters]:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"functions {made.name.name} in PL/pgSQL cannot differ by their parameters alone",
                advice="give it another name, or drop the other one first",
                position=position_of(self.name),
            )
        is_same = [p[0] for p in known.parameters] == [p[0] for p in made.parameters]
        if not is_same or known.returns != made.returns:
            what = "return type of the" if is_same else "names of the parameters of an"
            advice = f"use DROP FUNCTION {made.name.name} first"
            raise _invalid(self.name, f"cannot change the {what} existing function", advice)


STATEMENT = CreateRoutine


def _invalid(node: exp.Expr, message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(
        Code.INVALID_FUNCTION, message, advice=advice, position=position_of(node)
    )
