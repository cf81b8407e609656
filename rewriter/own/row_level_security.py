"""ALTER TABLE .. ROW LEVEL SECURITY: whether the row policies of a table count, and for its owner.

Once enabled, a table without a policy shows no rows to roles other than its owner.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan
from rewriter.reading.policies.named import access_of, put_policies, secured_table
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader

TAG = "ALTER TABLE"
_ACTIONS = {
    ("ENABLE",): ("secures_rows", True),
    ("DISABLE",): ("secures_rows", False),
    ("FORCE",): ("forces_rows", True),
    ("NO", "FORCE"): ("forces_rows", False),
}


@dataclass(frozen=True, slots=True)
class RowLevelSecurity(OwnStatement):
    """ALTER TABLE [IF EXISTS] [ONLY] t ENABLE | DISABLE | [NO] FORCE ROW LEVEL SECURITY, .."""

    table: exp.Table
    changes: tuple[tuple[str, bool], ...]
    exists: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> RowLevelSecurity | None:
        """The statement, or None where something else of a table is altered."""
        words = [t.text.upper() for t in tokens]
        if words[1:2] != ["TABLE"] or ("LEVEL", "SECURITY") not in set(pairwise(words)):
            return None
        reader = TokenReader(tokens, parse, 2, "see docs/roles.md for the form of the statement")
        exists = reader.takes("IF", "EXISTS")
        reader.takes("ONLY")
        table = reader.name()
        changes = [_change(reader)]
        while reader.takes(","):
            changes.append(_change(reader))
        reader.ends("nothing else stands behind ROW LEVEL SECURITY")
        return cls(table, tuple(changes), exists)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the table may."""
        if not self.exists or access.owners.is_known(self.table):
            access.owners.owned(self.table)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Keep what the table does with its policies from now on."""
        try:
            table = secured_table(self.table, context)
        except PalimpsestError as error:
            if self.exists and error.code is Code.UNKNOWN_TABLE:
                return ddl_plan([], TAG)
            raise
        access, said = access_of(table, context), dict(self.changes)
        secures = said.get("secures_rows", access.secures_rows)
        forces = said.get("forces_rows", access.forces_rows)
        return put_policies(replace(access, secures_rows=secures, forces_rows=forces), TAG)


STATEMENT = RowLevelSecurity


def _change(reader: TokenReader) -> tuple[str, bool]:
    for words, change in _ACTIONS.items():
        if reader.takes(*words, "ROW", "LEVEL", "SECURITY"):
            return change
    raise reader.error("ENABLE, DISABLE, FORCE or NO FORCE ROW LEVEL SECURITY was expected")
