"""CREATE [OR REPLACE] [TEMP] SEQUENCE [IF NOT EXISTS] name [options]."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.number_source import LARGEST
from journal.model.plan import Change, StatementPlan, Step
from journal.model.schema import Sequence
from journal.model.sequence_changes import DropSequence, PutSequence
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.new_relations import ddl_plan, new_definition_name
from rewriter.definitions.sequence_definition import defined_sequence, invalid_sequence
from rewriter.definitions.sequences import check_unused
from rewriter.definitions.skipping import made_before
from rewriter.name_resolution import position_of
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.sequence_options import SequenceOptions, SequenceReader
from rewriter.syntax.token_reader import Parse


@dataclass(frozen=True, slots=True)
class CreateSequence(OwnStatement):
    """CREATE SEQUENCE."""

    makes_ids: ClassVar[bool] = True
    name: exp.Table
    options: SequenceOptions
    temporary: bool = False
    exists: bool = False
    replace: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> CreateSequence | None:
        """The statement, or None where something else than a sequence is made."""
        reader = SequenceReader(tokens, parse, 1)
        replaces = reader.takes("OR", "REPLACE")
        temporary = reader.takes_temporary()
        if not reader.takes("SEQUENCE"):
            return None
        exists = reader.takes("IF", "NOT", "EXISTS")
        name = reader.name()
        return cls(name, reader.options(), temporary, exists, replaces)

    def check(self, access: StatementAccess) -> None:
        """Whoever may make relations in its schema may make one; to a column nobody ties it."""
        access.owners.may_create(self.name, is_temporary=self.temporary)
        if self.replace:
            access.owners.sequence(self.name, is_optional=True)
        if self.options.owner is not None:
            access.owners.refuse("to tie a sequence to a column", self.name)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Put the sequence into the catalog; numbers are counted elsewhere."""
        node = self.name
        name = new_definition_name(node, context, temporary=self.temporary)
        known = context.catalog.sequences.get(name.key)
        steps: list[Step] = []
        if known is not None and self.exists:
            return ddl_plan([], "CREATE SEQUENCE", [made_before("relation", name.name)])
        if known is not None and self.replace:
            check_unused([known.name], context, node)
            steps.append(Change(DropSequence(known.name)))
        elif known is not None or context.catalog.get(name) is not None:
            raise PalimpsestError(
                Code.DUPLICATE_TABLE,
                f"{'sequence' if known else 'table'} {name} exists already",
                advice="use IF NOT EXISTS, or another name",
                position=position_of(node),
            )
        if "restart" in self.options.said:
            raise invalid_sequence("RESTART is for ALTER SEQUENCE", "write START WITH", node)
        empty = Sequence(context.new_table_id, name, "BIGINT", 1, 1, 1, LARGEST, 1)
        made = defined_sequence(empty, self.options, context, node, is_new=True)
        return ddl_plan([*steps, Change(PutSequence(made))], "CREATE SEQUENCE")


STATEMENT = CreateSequence
