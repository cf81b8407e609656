"""ALTER TRIGGER x ON t RENAME TO y, with which the order changes in which triggers fire."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.triggers import (
    duplicate_trigger,
    put_triggers,
    trigger_named,
    unknown_trigger,
)
from rewriter.name_resolution import find_table
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader


@dataclass(frozen=True, slots=True)
class AlterTrigger(OwnStatement):
    """ALTER TRIGGER name ON t RENAME TO new."""

    name: str
    table: exp.Table
    new: str

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> AlterTrigger | None:
        """The statement, or None where something else is altered."""
        reader = TokenReader(tokens, parse, 1)
        if not reader.takes("TRIGGER"):
            return None
        name = reader.identifier().name
        if not reader.takes("ON"):
            raise reader.error("ON and a table were expected")
        table = reader.name()
        if not reader.takes("RENAME", "TO"):
            raise reader.error("RENAME TO was expected")
        new = reader.identifier().name
        reader.ends("nothing else stands behind the new name")
        return cls(name, table, new)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the table may."""
        access.owners.owned(self.table)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Give the trigger its new name."""
        table = find_table(self.table, context)
        found = trigger_named(table, self.name)
        if found is None:
            raise unknown_trigger(table, self.name, self.table)
        if trigger_named(table, self.new) is not None:
            raise duplicate_trigger(table, self.new, self.table)
        made = [replace(t, name=self.new) if t is found else t for t in table.triggers]
        return ddl_plan(put_triggers(table, made), "ALTER TRIGGER")


STATEMENT = AlterTrigger
