"""DROP SEQUENCE [IF EXISTS] name, .. [CASCADE | RESTRICT]."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Change, StatementPlan
from journal.model.schema import TableName
from journal.model.sequence_changes import DropSequence
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.sequences import (
    check_unused,
    find_sequence,
    unknown_sequence,
    without_defaults,
)
from rewriter.definitions.skipping import none_to_drop
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader


@dataclass(frozen=True, slots=True)
class DropSequences(OwnStatement):
    """DROP SEQUENCE."""

    names: tuple[exp.Table, ...]
    exists: bool = False
    cascade: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> DropSequences | None:
        """The statement, or None where something else than sequences is dropped."""
        reader = TokenReader(tokens, parse, 1)
        if not reader.takes("SEQUENCE"):
            return None
        exists = reader.takes("IF", "EXISTS")
        names = [reader.name()]
        while reader.takes(","):
            names.append(reader.name())
        cascade = reader.takes("CASCADE")
        _ = cascade or reader.takes("RESTRICT")
        reader.ends("DROP SEQUENCE needs names, and CASCADE or RESTRICT behind them")
        return cls(tuple(names), exists, cascade)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the sequences may drop them."""
        for name in self.names:
            access.owners.sequence(name, is_optional=self.exists)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Take the sequences out of the catalog, with CASCADE the defaults that use them, too."""
        names: list[TableName] = []
        told: list[str] = []
        for node in self.names:
            found = find_sequence(node, context)
            if found is not None:
                names.append(found.name)
            elif not self.exists:
                raise unknown_sequence(node, context)
            else:
                told.append(none_to_drop("sequence", node.name))
        if not self.cascade:
            check_unused(names, context, self.names[0])
        steps = [*without_defaults(names, context), *(Change(DropSequence(n)) for n in names)]
        return ddl_plan(list(steps), "DROP SEQUENCE", told)


STATEMENT = DropSequences
