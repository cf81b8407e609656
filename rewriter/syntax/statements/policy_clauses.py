"""What statements say of a row policy: its name and table, and TO, USING and WITH CHECK."""

from __future__ import annotations

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from rewriter.syntax.statements.roles import role_names
from rewriter.syntax.statements.table_policies import parenthesized
from rewriter.syntax.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class PolicyClauses:
    """``roles`` by name, none where TO is left out; the conditions of present and of new rows."""

    roles: tuple[str, ...] = ()
    using: exp.Expr | None = None
    check: exp.Expr | None = None


def read_name(reader: TokenReader) -> tuple[str, exp.Table]:
    """The name of a policy and its table, ``name ON t``; raises SYNTAX."""
    name = reader.word()
    if not reader.takes("ON"):
        raise reader.error("ON and the table were expected")
    return name, reader.name()


def read_clauses(reader: TokenReader) -> PolicyClauses:
    """The clauses up to the end of the statement; raises SYNTAX."""
    roles: list[str] = []
    using = check = None
    if reader.takes("TO"):
        roles += role_names(reader)
    if reader.takes("USING"):
        using = parenthesized(reader, ("WITH",))
    if reader.takes("WITH", "CHECK"):
        check = parenthesized(reader)
    reader.ends("TO, USING (..) and WITH CHECK (..) stand in this order, each once")
    return PolicyClauses(tuple(roles), using, check)
