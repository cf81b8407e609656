"""DROP MACRO [TABLE] [IF EXISTS] name [CASCADE | RESTRICT], which DuckDB also calls FUNCTION.

PostgreSQL's DROP FUNCTION names the types of arguments behind the name.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import DropDefinition
from journal.model.plan import Change, StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.macros import named_macro
from rewriter.definitions.new_relations import ddl_plan
from rewriter.name_resolution import position_of
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader


@dataclass(frozen=True, slots=True)
class DropMacro(OwnStatement):
    """DROP MACRO."""

    name: exp.Table
    is_table: bool = False
    exists: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> DropMacro | None:
        """The statement, or None where something else than a macro is dropped."""
        reader = TokenReader(tokens, parse, 1)
        is_function = reader.takes("FUNCTION")
        if not is_function and not reader.takes("MACRO"):
            return None
        is_table = reader.takes("TABLE")
        exists = reader.takes("IF", "EXISTS")
        name = reader.name()
        if is_function and reader.takes("("):
            if not reader.takes(")"):
                reader.part({")"})
                reader.takes(")")
        _ = reader.takes("CASCADE") or reader.takes("RESTRICT")
        reader.ends("DROP MACRO needs one name")
        return cls(name, is_table, exists)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns its schema may drop it, and everybody a temporary one of their own."""
        macro = named_macro(self.name, access.context, is_table=self.is_table)
        if macro is None or macro.name.key[0] != access.context.catalog.own:
            access.owners.owned_schema(self.name)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Of that name the macro for values goes, or else the one for tables."""
        kinds = [True] if self.is_table else [False, True]
        every = (named_macro(self.name, context, is_table=kind) for kind in kinds)
        found = next((macro for macro in every if macro is not None), None)
        if found is not None:
            return ddl_plan([Change(DropDefinition(found))], "DROP MACRO")
        if self.exists:
            return ddl_plan([], "DROP MACRO")
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            f"macro {self.name.name} does not exist",
            advice="check the spelling; system.macros lists macros",
            position=position_of(self.name),
        )


STATEMENT = DropMacro
