"""CREATE TRIGGER .. BEFORE .. FOR EACH ROW: a function that changes rows before they are written.

CREATE TRIGGER touch BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION set_updated_at()

Triggers of other kinds are refused: what they would do happens behind the statement's back.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan
from journal.model.schema import Table
from journal.model.triggers import INSERT, UPDATE, Trigger
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.macros import named_macro
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.routines import named_routine
from rewriter.definitions.trigger_bodies import expression_of
from rewriter.definitions.trigger_columns import condition_columns
from rewriter.definitions.triggers import duplicate_trigger, put_triggers, trigger_named
from rewriter.dialect_semantics import DIALECTS
from rewriter.name_resolution import find_table, position_of, unknown_column
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.function_bodies import ROWS, condition_of
from rewriter.syntax.token_reader import Parse, TokenReader
from rewriter.writing.trigger_words import trigger_program

_TAG = "CREATE TRIGGER"
_ADVICE = "docs/definitions.md has the form of triggers"
_CHANGES = "read system.changes or table_changes('t', from, to) for what has been written"
_LITERALS = (TokenType.STRING, TokenType.NUMBER)


@dataclass(frozen=True, slots=True)
class CreateTrigger(OwnStatement):
    """CREATE TRIGGER; ``columns`` are those of UPDATE OF, ``condition`` the text of WHEN."""

    name: str
    table: exp.Table
    function: exp.Table
    events: tuple[str, ...]
    columns: tuple[exp.Identifier, ...] = ()
    condition: str | None = None
    arguments: tuple[str, ...] = ()
    replace: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> CreateTrigger | None:
        """The statement, or None where something else is created."""
        reader = TokenReader(tokens, parse, 1, _ADVICE)
        replaces = reader.takes("OR", "REPLACE")
        if reader.takes("CONSTRAINT", "TRIGGER"):
            reader.place -= 2
            advice = "declare a CHECK or a foreign key, or raise in a BEFORE trigger"
            raise reader.refused("a CONSTRAINT TRIGGER", advice)
        if not reader.takes("TRIGGER"):
            return None
        name = reader.identifier().name
        _check_timing(reader)
        events, columns = _events(reader)
        if not reader.takes("ON"):
            raise reader.error("ON and a table were expected")
        table = reader.name()
        _check_rows(reader)
        condition = _condition(reader) if reader.takes("WHEN") else None
        if not reader.takes("EXECUTE", "FUNCTION") and not reader.takes("EXECUTE", "PROCEDURE"):
            raise reader.error("EXECUTE FUNCTION was expected")
        function = reader.name()
        arguments = _arguments(reader)
        reader.ends("nothing else stands behind the function")
        return cls(name, table, function, events, columns, condition, arguments, replaces)

    def check(self, access: StatementAccess) -> None:
        """Whoever owns the table may."""
        access.owners.owned(self.table)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Put the trigger into the table's definition."""
        if DIALECTS.get(context.dialect) != "postgres":
            message = "CREATE TRIGGER is PostgreSQL's"
            raise _error(Code.NOT_SUPPORTED, message, "use the postgres dialect", self.table)
        table = find_table(self.table, context)
        if table.materialized is not None:
            message = f"{table.name} is a materialized view, which has no triggers"
            raise _error(Code.WRONG_OBJECT, message, "put it on a table", self.table)
        routine = named_routine(self.function, context)
        if routine is None and named_macro(self.function, context, is_table=False) is not None:
            message = f"function {self.function.name} must return type trigger"
            advice = "create one that does, LANGUAGE plpgsql"
            raise _error(Code.INVALID_TRIGGER, message, advice, self.function)
        if routine is None or routine.parameters:
            message = f"function {self.function.name}() does not exist"
            advice = "CREATE FUNCTION .. RETURNS trigger LANGUAGE plpgsql before"
            raise _error(Code.UNKNOWN_FUNCTION, message, advice, self.function)
        if not routine.is_trigger:
            message = f"function {routine.name.name} must return type trigger"
            advice = "create a function that does"
            raise _error(Code.INVALID_TRIGGER, message, advice, self.function)
        known = trigger_named(table, self.name)
        if known is not None and not self.replace:
            raise duplicate_trigger(table, self.name, self.table)
        self._check_condition(table)
        made = Trigger(
            self.name,
            self.events,
            (routine.name.schema, routine.name.name),
            tuple(self._physical(table, node) for node in self.columns),
            self.condition,
            self.arguments,
            comment=None if known is None else known.comment,
        )
        _check_program(made, table, context)
        others = [t for t in table.triggers if t is not known]
        return ddl_plan(put_triggers(table, [*others, made]), _TAG)

    def _physical(self, table: Table, node: exp.Identifier) -> str:
        stored = table.find(node.name)
        if stored is None:
            raise unknown_column(node.name, table, node)
        return stored.physical

    def _check_condition(self, table: Table) -> None:
        """Raise for a WHEN over what the rows of these events have not."""
        if self.condition is None:
            return
        expression_of(condition_of(self.condition))
        for row, name in sorted(condition_columns(self.condition)):
            if row not in ROWS:
                raise unknown_column(name, table, self.table)
            if row == "old" and INSERT in self.events:
                message = "INSERT trigger's WHEN condition cannot reference OLD values"
                advice = "make a trigger of its own for UPDATE"
                raise _error(Code.INVALID_TRIGGER, message, advice, self.table)
            stored = table.find(name)
            if name != "*" and stored is None:
                raise unknown_column(name, table, self.table)
            if row == "new" and stored is not None and stored.generated is not None:
                message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns"
                advice = f"ask for what {stored.name} is computed from"
                raise _error(Code.INVALID_TRIGGER, message, advice, self.table)


STATEMENT = CreateTrigger


def _check_program(trigger: Trigger, table: Table, context: RewriteContext) -> None:
    """Raise for what no row could be written with; what the table lacks is told when one is."""
    for event in trigger.events:
        try:
            trigger_program(trigger, event, table, context)
        except PalimpsestError as error:
            if error.code is Code.NOT_SUPPORTED:
                raise


def _check_timing(reader: TokenReader) -> None:
    if reader.takes("BEFORE"):
        return
    for words in (("AFTER",), ("INSTEAD", "OF")):
        if reader.takes(*words):
            reader.place -= len(words)
            raise reader.refused(f"a trigger {' '.join(words)}", _CHANGES)
    raise reader.error("BEFORE was expected")


def _events(reader: TokenReader) -> tuple[tuple[str, ...], tuple[exp.Identifier, ...]]:
    events: list[str] = []
    columns: list[exp.Identifier] = []
    while True:
        for word in ("DELETE", "TRUNCATE"):
            if reader.takes(word):
                reader.place -= 1
                raise reader.refused(f"a trigger BEFORE {word}", _CHANGES)
        event = next((e for e in (INSERT, UPDATE) if reader.takes(e)), None)
        if event is None or event in events:
            raise reader.error("INSERT or UPDATE was expected")
        events.append(event)
        if event == UPDATE and reader.takes("OF"):
            columns.append(reader.identifier())
            while reader.takes(","):
                columns.append(reader.identifier())
        if not reader.takes("OR"):
            return tuple(events), tuple(columns)


def _check_rows(reader: TokenReader) -> None:
    if reader.takes("REFERENCING"):
        raise reader.refused("REFERENCING", _CHANGES)
    is_row = reader.takes("FOR", "EACH", "ROW") or reader.takes("FOR", "ROW")
    if not is_row:
        raise reader.refused("a trigger FOR EACH STATEMENT", f"write FOR EACH ROW, or {_CHANGES}")


def _condition(reader: TokenReader) -> str:
    if not reader.takes("("):
        raise reader.error("a condition in parentheses was expected")
    part = reader.part()
    if not reader.takes(")"):
        raise reader.error("a parenthesis was expected")
    found, end = "", part[0].start
    for token in part:
        found += " " if token.start > end else ""
        found += _token_text(token)
        end = token.end + 1
    return found


def _token_text(token: Token) -> str:
    """A token as it is written."""
    if token.token_type is TokenType.IDENTIFIER:
        return exp.to_identifier(token.text, quoted=True).sql(dialect="postgres")
    is_text = token.token_type in {TokenType.STRING, TokenType.HEREDOC_STRING}
    return exp.Literal.string(token.text).sql(dialect="postgres") if is_text else token.text


def _arguments(reader: TokenReader) -> tuple[str, ...]:
    if not reader.takes("("):
        raise reader.error("the arguments of the function were expected")
    found: list[str] = []
    while not reader.takes(")"):
        token = reader.tokens[min(reader.place, len(reader.tokens) - 1)]
        found.append(token.text if token.token_type in _LITERALS else reader.identifier().name)
        reader.place += token.token_type in _LITERALS
        if not reader.takes(",") and not (reader.place < len(reader.tokens)):
            raise reader.error("a parenthesis was expected")
    return tuple(found)


def _error(code: Code, message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(code, message, advice=advice, position=position_of(node))
