"""DROP TYPE | DOMAIN [IF EXISTS] name, .. [CASCADE | RESTRICT].

As in DuckDB a type may go that columns were declared with, unless RESTRICT is said: they keep what
it stood for. As in PostgreSQL, where that is the dialect, it may not.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import DOMAIN, DropDefinition, UserType
from journal.model.plan import Change, StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.skipping import none_to_drop
from rewriter.definitions.type_changes import check_type_unused, without_columns, without_types
from rewriter.definitions.user_types import named_type, type_to_change, unknown_type
from rewriter.dialect_semantics import semantics_of
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader


@dataclass(frozen=True, slots=True)
class DropTypes(OwnStatement):
    """DROP TYPE or DOMAIN."""

    makes_ids: ClassVar[bool] = True
    names: tuple[exp.Table, ...]
    is_domain: bool = False
    exists: bool = False
    cascade: bool = False
    restrict: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> DropTypes | None:
        """The statement, or None where something else than types is dropped."""
        reader = TokenReader(tokens, parse, 1)
        is_domain = reader.takes("DOMAIN")
        if not is_domain and not reader.takes("TYPE"):
            return None
        exists = reader.takes("IF", "EXISTS")
        names = [reader.name()]
        while reader.takes(","):
            names.append(reader.name())
        cascade = reader.takes("CASCADE")
        restrict = not cascade and reader.takes("RESTRICT")
        reader.ends("DROP needs names, and CASCADE or RESTRICT behind them")
        return cls(tuple(names), is_domain, exists, cascade, restrict)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the schemas may drop them; the columns of a type only an administrator."""
        for name in self.names:
            access.owners.owned_schema(name)
        if self.cascade:
            access.owners.refuse("to drop a type with the columns of it", self.names[0])

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Take the types out of the catalog; with CASCADE the columns declared with them, too."""
        gone: list[UserType] = []
        told: list[str] = []
        for node in self.names:
            found = named_type(node, context)
            if found is not None and (found.kind == DOMAIN or not self.is_domain):
                gone.append(found)
            elif found is not None:
                type_to_change(node, self.is_domain, context)
            elif not self.exists:
                raise unknown_type(node, context)
            else:
                told.append(none_to_drop("type", node.name))
        names = [found.name for found in gone]
        restrict = self.restrict or semantics_of(context.dialect).types_hold
        if restrict and not self.cascade:
            check_type_unused(names, context, self.names[0])
        drops = self.cascade and semantics_of(context.dialect).types_hold
        steps = without_columns(names, context) if drops else without_types(gone, context)
        steps += [Change(DropDefinition(found)) for found in gone]
        return ddl_plan(steps, f"DROP {'DOMAIN' if self.is_domain else 'TYPE'}", told)


STATEMENT = DropTypes
