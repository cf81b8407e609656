"""DROP TRIGGER [IF EXISTS] x ON t [CASCADE | RESTRICT]."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from journal.model.schema import Table
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.skipping import none_to_drop
from rewriter.definitions.triggers import put_triggers, trigger_named, unknown_trigger
from rewriter.name_resolution import find_table, table_name
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader

_TAG = "DROP TRIGGER"


@dataclass(frozen=True, slots=True)
class DropTrigger(OwnStatement):
    """DROP TRIGGER."""

    name: str
    table: exp.Table
    exists: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> DropTrigger | None:
        """The statement, or None where something else is dropped."""
        reader = TokenReader(tokens, parse, 1)
        if not reader.takes("TRIGGER"):
            return None
        exists = reader.takes("IF", "EXISTS")
        name = reader.identifier().name
        if not reader.takes("ON"):
            raise reader.error("ON and a table were expected")
        table = reader.name()
        _ = reader.takes("CASCADE") or reader.takes("RESTRICT")
        reader.ends("nothing else stands behind the table")
        return cls(name, table, exists)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the table may."""
        if not self.exists or access.owners.is_known(self.table):
            access.owners.owned(self.table)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Take the trigger out of the table's definition."""
        if self.exists and not isinstance(
            context.catalog.get(table_name(self.table, context)), Table
        ):
            return ddl_plan([], _TAG, [none_to_drop("relation", self.table.name)])
        table = find_table(self.table, context)
        found = trigger_named(table, self.name)
        if found is None and self.exists:
            of = f'"{self.name}" for relation "{table.name.name}"'
            return ddl_plan([], _TAG, [f"trigger {of} does not exist, skipping"])
        if found is None:
            raise unknown_trigger(table, self.name, self.table)
        return ddl_plan(put_triggers(table, [t for t in table.triggers if t is not found]), _TAG)


STATEMENT = DropTrigger
