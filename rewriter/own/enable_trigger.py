"""ALTER TABLE [IF EXISTS] [ONLY] t ENABLE | DISABLE TRIGGER x | ALL | USER."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.skipping import none_to_drop
from rewriter.definitions.storage_actions import check_references_stay
from rewriter.definitions.triggers import put_triggers, trigger_named, unknown_trigger
from rewriter.name_resolution import find_table, table_name
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader

_TAG = "ALTER TABLE"


@dataclass(frozen=True, slots=True)
class EnableTrigger(OwnStatement):
    """``name`` is that of one trigger, None means all; ``every``: those of foreign keys too."""

    table: exp.Table
    name: str | None
    enabled: bool
    every: bool = False
    exists: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> EnableTrigger | None:
        """The statement, or None where something else of a table is altered."""
        reader = TokenReader(tokens, parse, 1)
        if not reader.takes("TABLE"):
            return None
        exists = reader.takes("IF", "EXISTS")
        reader.takes("ONLY")
        words = [t.text.upper() for t in tokens]
        if "TRIGGER" not in words[reader.place : reader.place + 7]:
            return None
        table = reader.name()
        enabled = reader.takes("ENABLE", "TRIGGER") or reader.takes("ENABLE", "ALWAYS", "TRIGGER")
        if not enabled and not reader.takes("DISABLE", "TRIGGER"):
            return None
        is_every = reader.takes("ALL")
        name = None
        if not is_every and not reader.takes("USER"):
            name = reader.identifier().name
        reader.ends("nothing else stands behind the trigger: alter the table in two statements")
        return cls(table, name, enabled, is_every, exists)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the table may."""
        if not self.exists or access.owners.is_known(self.table):
            access.owners.owned(self.table)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Switch the triggers on or off."""
        if self.exists and context.catalog.get(table_name(self.table, context)) is None:
            return ddl_plan([], _TAG, [none_to_drop("relation", self.table.name)])
        table = find_table(self.table, context)
        if self.every and not self.enabled:
            check_references_stay(table, context, self.table)
        if self.name is not None and trigger_named(table, self.name) is None:
            raise unknown_trigger(table, self.name, self.table)
        made = [
            replace(t, enabled=self.enabled) if self.name in {None, t.name} else t
            for t in table.triggers
        ]
        return ddl_plan(put_triggers(table, made) if made != [*table.triggers] else [], _TAG)


STATEMENT = EnableTrigger
