"""PostgreSQL's CREATE FUNCTION .. LANGUAGE plpgsql, for triggers.

CREATE FUNCTION set_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.updated_at = now(); RETURN NEW; END $$

The body is kept as it was written, once it is known that a trigger can be made of it.
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
from rewriter.syntax.function_bodies import body_of
from rewriter.syntax.function_forms import is_in_plpgsql, read_function
from rewriter.syntax.token_reader import Parse, TokenReader

_TAG = "CREATE FUNCTION"


@dataclass(frozen=True, slots=True)
class CreateRoutine(OwnStatement):
    """CREATE FUNCTION .. LANGUAGE plpgsql; ``body`` is its text."""

    name: exp.Table
    body: str
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
        if form.parameters:
            message = "trigger functions cannot have declared arguments"
            raise _invalid(name, message, "the arguments of a trigger are in TG_ARGV")
        return cls(name, form.body, replaces)

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
        check_body(body_of(self.body, is_trigger=True))
        made = Routine(name, (), "trigger", self.body, None if known is None else known.comment)
        return ddl_plan([Change(PutDefinition(made, known))], _TAG)


STATEMENT = CreateRoutine


def _invalid(node: exp.Expr, message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(
        Code.INVALID_FUNCTION, message, advice=advice, position=position_of(node)
    )
