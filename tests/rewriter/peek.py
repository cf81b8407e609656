"""PEEK TABLE t: a statement as a newcomer adds one, in a module, for ``test_own_statement``."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.rules.select import rewrite_select
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader


@dataclass(frozen=True, slots=True)
class Peek(OwnStatement):
    """PEEK TABLE t: one row of it."""

    table: exp.Table

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> Peek:
        reader = TokenReader(tokens, parse, 1)
        if not reader.takes("TABLE"):
            raise reader.error("PEEK TABLE needs a table")
        table = reader.name()
        reader.ends("nothing else stands behind the table")
        return cls(table)

    def check(self, access: StatementAccess) -> None:
        access.reads.check(self._query())

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        return rewrite_select(self._query(), context)

    def _query(self) -> exp.Select:
        return exp.select("*").from_(self.table.copy()).limit(1)


STATEMENT = Peek
