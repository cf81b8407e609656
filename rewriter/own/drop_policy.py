"""DROP POLICY: a row policy goes; without a permissive one left, a secured table shows no rows."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan
from rewriter.reading.policies.named import access_of, find_policy, put_policies, secured_table
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.policy_clauses import read_name
from rewriter.syntax.token_reader import Parse, TokenReader

TAG = "DROP POLICY"


@dataclass(frozen=True, slots=True)
class DropPolicy(OwnStatement):
    """DROP POLICY [IF EXISTS] name ON t [CASCADE | RESTRICT]."""

    name: str
    table: exp.Table
    exists: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> DropPolicy | None:
        """The statement, or None where something else than a policy is dropped."""
        reader = TokenReader(tokens, parse, 1, "see docs/roles.md for the form of the statement")
        if not reader.takes("POLICY"):
            return None
        exists = reader.takes("IF", "EXISTS")
        name, table = read_name(reader)
        _ = reader.takes("CASCADE") or reader.takes("RESTRICT")
        reader.ends("nothing else stands behind the table")
        return cls(name, table, exists)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the table may."""
        if not self.exists or access.owners.is_known(self.table):
            access.owners.owned(self.table)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Forget the policy."""
        try:
            table = secured_table(self.table, context)
            access = access_of(table, context)
            found = find_policy(access, self.name, table)
        except PalimpsestError as error:
            if self.exists and error.code in {Code.UNKNOWN_TABLE, Code.UNKNOWN_POLICY}:
                return ddl_plan([], TAG)
            raise
        kept = tuple(p for p in access.named_policies if p is not found)
        return put_policies(replace(access, named_policies=kept), TAG)


STATEMENT = DropPolicy
