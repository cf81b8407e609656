"""The bodies of functions in PL/pgSQL: blocks with variables, assignments and RETURN. Pure."""

from __future__ import annotations

from functools import lru_cache

from sqlglot.tokenizer_core import TokenType

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from rewriter.limits import DEFAULT_LIMITS
from rewriter.statements.blocks import (
    Assign,
    Block,
    DeclaredVariable,
    Raise,
    RaiseAgain,
    Return,
    Run,
    RunText,
    Step,
)
from rewriter.syntax import parsing
from rewriter.syntax.statements.blocks import BlockReader, block_error, refused_part

ROWS = frozenset({"new", "old"})
_WITHOUT = "name its parameters, and what is computed of them where it is used"
_COMPUTES = "it computes from NEW and OLD alone; read system.changes for what has been written"


@lru_cache(maxsize=256)
def body_of(text: str, *, is_trigger: bool) -> Block:
    """The block of a function's body; raises SYNTAX, NOT_SUPPORTED, and what parsing raises."""
    reader = _FunctionReader.of(text, _read_sql)
    reader.is_trigger = is_trigger
    return reader.whole_block()


@lru_cache(maxsize=256)
def condition_of(text: str) -> Run:
    """The condition of WHEN."""
    return _read_sql(f"SELECT {text}")


def _read_sql(sql: str) -> Run:
    found = parsing.parse(sql, "postgres", DEFAULT_LIMITS, placeholders=False)
    if len(found) != 1:
        raise PalimpsestError(
            Code.SYNTAX, "one statement was expected", advice="end each with a semicolon"
        )
    return Run(found[0].statement, found[0].text)


def _why_not(step: Step | None) -> str | None:
    """What of a step no trigger can do while a row is written."""
    match step:
        case Run() | RunText():
            return "a statement"
        case Raise(is_error=False):
            return "a notice"
        case RaiseAgain() | Block(handlers=(_, *_)):
            return "EXCEPTION"
        case _:
            return None


class _FunctionReader(BlockReader):
    """Reads what functions have besides what blocks of DO have."""

    is_trigger = False

    def variables(self) -> tuple[DeclaredVariable, ...]:
        """``name [CONSTANT] type [:= value];`` up to BEGIN."""
        if not self.is_trigger:
            raise refused_part(self.next_token(), "a variable of a function", _WITHOUT)
        if self.depth:
            raise refused_part(
                self.next_token(),
                "DECLARE in an inner block",
                "declare the variables of a function before its first BEGIN",
            )
        found: list[DeclaredVariable] = []
        while not self.stands("BEGIN"):
            name = self.name()
            self.takes("CONSTANT")
            kind = self.slice(";", ":=", "=", "DEFAULT", stays=True)
            words = kind.upper().split()
            if words[-2:] == ["NOT", "NULL"] or "%" in kind:
                what = "NOT NULL" if "%" not in kind else "a type taken from a column"
                raise refused_part(self.next_token(), f"{what} of a variable", "write its type")
            value = None
            if not self.takes(";"):
                self.place += 1
                value = self.value(";")
                self.expect(";")
            found.append(DeclaredVariable(name, self.read_sql(f"SELECT NULL::{kind}"), value))
        return tuple(found)

    def name(self) -> str:
        """The next token as a name: folded unless it is quoted."""
        token = self.next_token()
        self.place += 1
        is_quoted = token.token_type is TokenType.IDENTIFIER
        return str(token.text) if is_quoted else fold(token.text)

    def step(self) -> Step | None:
        """One step with the semicolon behind it; None for NULL."""
        if self.stands("RETURN"):
            return self.returned()
        first = self.next_token()
        target = self.target()
        if target is not None and not self.is_trigger:
            raise refused_part(first, "a variable of a function", _WITHOUT)
        if target is not None:
            value = self.value(";")
            self.expect(";")
            return Assign(target, value)
        token = self.next_token()
        found = super().step()
        if self.is_trigger and _why_not(found) is not None:
            raise refused_part(token, f"{_why_not(found)} in a function of triggers", _COMPUTES)
        return found

    def returned(self) -> Return:
        """RETURN, and behind it a row or NULL in functions of triggers."""
        token = self.next_token()
        self.place += 1
        row = None
        if self.is_trigger:
            row = fold(self.next_token().text)
            if row not in {*ROWS, "null"}:
                raise refused_part(
                    self.next_token(), "RETURN of a computed row", "return NEW, OLD or NULL"
                )
            self.place += 1
        if not self.takes(";"):
            raise block_error(token, "a function that returns void returns no value")
        return Return(None if row == "null" else row)

    def target(self) -> tuple[str, ...] | None:
        """What is assigned to, if the next step is an assignment."""
        start, names = self.place, [self.name()]
        while self.takes("."):
            names.append(self.name())
        if self.takes(":=") or self.takes("="):
            return tuple(names)
        self.place = start
        return None
