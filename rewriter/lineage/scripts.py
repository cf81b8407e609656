"""Scripts of statements in any dialect that sqlglot reads: cut, parsed and traced one by one."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.lazy_dataclass import dataclass
from journal.sql.dialects import parsed_by
from rewriter.lineage.blocks import (
    first_of_block,
    procedure_made,
    statements_without_semicolons,
)
from rewriter.lineage.bodies import body_of, has_body, words_after
from rewriter.lineage.sources import Untraceable
from rewriter.lineage.statements import lineage_of
from rewriter.lineage.storage_clauses import end_of_group, simpler_forms, without_condition
from rewriter.lineage.table_changes import change_by_tokens
from rewriter.lineage.tables import KnownTables
from rewriter.lineage.targets import ColumnTarget
from rewriter.lineage.transfers import transfer_by_tokens

_NO_SEMICOLONS = frozenset({"TSQL", "Fabric"})
_AFTER_SCRIPT = frozenset(
    {"FROM", "WHERE", "DISTRIBUTE", "CLUSTER", "SORT", "ORDER", "GROUP", "LATERAL", "LIMIT"}
    | {"INSERT", "SELECT", "UNION", "ROW", "RECORDREADER", ")"}
)
_CHANGES = frozenset({"ALTER", "RENAME", "EXCHANGE", "EXEC", "EXECUTE", "SP_RENAME"})
_TRANSFERS = frozenset({"ALTER", "EXPORT", "IMPORT", "UNLOAD", "LOAD", "REFRESH"})
_CALLS = frozenset({"CALL", "EXEC", "EXECUTE"})
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "FROM", "WITH", "REPLACE", "COPY"}) | {
    *("UPSERT", "UNLOAD", "EXPORT", "IMPORT", "DO", "CALL", "EXEC", "EXECUTE", "PUT", "GET"),
}
_MADE = frozenset(
    {"TABLE", "VIEW", "PROCEDURE", "PROC", "TRIGGER", "TASK", "PIPE", "STREAM", "RULE"}
)
"""What CREATE may fill: with functions, roles and the like nothing is written."""


@dataclass(frozen=True, slots=True)
class TracedStatement:
    """A statement of a script: its number and line, from 1, its text, the columns that it writes.

    ``unknown`` says why nothing of it could be followed, for one that may write.
    """

    number: int
    line: int
    targets: tuple[ColumnTarget, ...] = ()
    unknown: str | None = None
    text: str = ""


def trace_script(text: str, tables: KnownTables) -> Iterator[TracedStatement]:
    """The statements of a script, one after the other; ``tables`` learns what they define.

    A statement that cannot be read is reported as unknown, and the others go on.

    >>> tables = KnownTables("hive")
    >>> (one,) = trace_script("CREATE TABLE t AS SELECT a + b AS c FROM s", tables)
    >>> [(s.column, s.subtype) for s in one.targets[0].sources]
    [('a', 'TRANSFORMATION'), ('b', 'TRANSFORMATION')]
    """
    dialect = Dialect.get_or_raise(tables.dialect or None)
    try:
        tokens = dialect.tokenize(text)
    except SqlglotError as error:
        yield TracedStatement(1, 1, unknown=_first_line(error))
        return
    called: set[str] = set()
    for number, one in enumerate(_all_traced(dialect, tokens, text, tables, called), start=1):
        yield replace(one, number=number)


def _all_traced(
    dialect: Dialect, tokens: list[Token], text: str, tables: KnownTables, called: set[str]
) -> Iterator[TracedStatement]:
    for whole in _parts(tokens):
        part = words_after(whole, dialect, text)
        made, body = procedure_made(part), body_of(part)
        if made is not None and (body is not None or not has_body(part)):
            called.add(made)
        if body is None:
            for one in _statements(dialect, first_of_block(part), text):
                yield _traced(dialect, one, text, tables, called)
            continue
        within, lines = body
        try:
            inner = dialect.tokenize(within)
        except SqlglotError as error:
            yield TracedStatement(1, part[0].line, unknown=_first_line(error))
            continue
        for traced in _all_traced(dialect, inner, within, tables, called):
            yield replace(traced, line=traced.line + lines)


def _statements(dialect: Dialect, part: list[Token], text: str) -> list[list[Token]]:
    """The statements of a part: one, but where T-SQL ends them without semicolons."""
    if type(dialect).__name__ not in _NO_SEMICOLONS:
        return [part]
    found = statements_without_semicolons(part)
    if len(found) == 1:
        return found
    try:
        if not isinstance(_parsed(dialect, part, text), exp.Command):
            return [part]
    except SqlglotError:
        pass
    return found


def _traced(
    dialect: Dialect, part: list[Token], text: str, tables: KnownTables, called: Set[str]
) -> TracedStatement:
    """One statement; ``called`` are procedures whose statements have been read where they stand."""
    line, said = part[0].line, text[part[0].start : part[-1].end + 1]
    first = part[0].text.upper()
    try:
        changed = change_by_tokens(_words(dialect, part), tables) if first in _CHANGES else None
        if changed is not None:
            return TracedStatement(1, line, changed, text=said)
        moved = transfer_by_tokens(part, tables) if first in _TRANSFERS else None
        if moved is not None:
            return TracedStatement(1, line, moved, text=said)
        if first in _CALLS:
            why = None if _called(part) in called else "what the procedure writes is not known"
            return TracedStatement(1, line, unknown=why, text=said)
        node = _parsed(dialect, part, text)
        targets = tuple(lineage_of(node, tables)) if node is not None else ()
    except (SqlglotError, RecursionError, Untraceable) as error:
        why = _first_line(error) if _may_write(part) else None
        return TracedStatement(1, line, unknown=why, text=said)
    if isinstance(node, exp.Command) and _may_write(part):
        return TracedStatement(1, line, unknown="the statement could not be parsed", text=said)
    return TracedStatement(1, line, targets, text=said)


def _called(part: list[Token]) -> str:
    """The name of the procedure that a CALL or EXEC runs, without its schema."""
    rest = " ".join(token.text for token in part[1:]).replace(" . ", ".")
    words = rest.replace("(", " ").split()
    return words[0].rpartition(".")[2].strip(';[]"`').lower() if words else ""


def _parts(tokens: list[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _words(dialect: Dialect, part: list[Token]) -> list[Token]:
    """The words of a statement, also of one whose rest the tokenizer leaves as one."""
    if part[0].text.upper() in {"RENAME", "EXCHANGE"} and len(part) == 2:
        return [part[0], *dialect.tokenize(part[1].text)]
    return part


def _parsed(dialect: Dialect, part: list[Token], text: str) -> exp.Expr | None:
    """The tree of a statement, without clauses of storage that the parser does not take."""
    part = with_plain_scripts(without_condition(part))
    failed: SqlglotError | None = None
    node: exp.Expr | None = None
    for form in (part, *simpler_forms(part)):
        try:
            node = _tree(dialect, form, text)
        except SqlglotError as error:
            failed = failed or error
            continue
        if not isinstance(node, exp.Command):
            return node
    if failed is not None:
        raise failed
    return node


def _tree(dialect: Dialect, part: list[Token], text: str) -> exp.Expr | None:
    return next(iter(parsed_by(dialect.parser(), part, text)), None)


def with_plain_scripts(part: list[Token]) -> list[Token]:
    """Scripts of Hive in the one form that the parser takes: SELECT TRANSFORM .. AS (names).

    MAP and REDUCE mean the same, and the parentheses around the names may be left out.
    """
    scripts = [place for place in range(len(part)) if _uses_script(part, place)]
    if not scripts:
        return part
    words = [token.text.upper() for token in part]
    before: dict[int, list[tuple[TokenType, str]]] = {}
    replaced: dict[int, list[tuple[TokenType, str]]] = {}
    for using in scripts:
        start = _start_of_inputs(part, using)
        if start is not None:
            select, transform = (TokenType.SELECT, "SELECT"), (TokenType.VAR, "TRANSFORM")
            replaced[start] = [select, transform, (TokenType.L_PAREN, "(")]
            before[using] = [(TokenType.R_PAREN, ")")]
        names = using + 2
        while names < len(part) and words[names] != "AS" and words[names] not in {")", "FROM"}:
            names += 1
        if names + 1 < len(part) and words[names] == "AS" and words[names + 1] != "(":
            end = names + 1
            while end < len(part) and words[end] not in _AFTER_SCRIPT:
                end = end_of_group(part, end)
            before[names + 1] = [(TokenType.L_PAREN, "(")]
            before.setdefault(end, []).append((TokenType.R_PAREN, ")"))
    found: list[Token] = []
    for place, token in enumerate(part):
        found += [_token_at(token, *one) for one in before.get(place, ())]
        found += [_token_at(token, *one) for one in replaced.get(place, ())] or [token]
    return found + [_token_at(part[-1], *one) for one in before.get(len(part), ())]


def _uses_script(part: list[Token], place: int) -> bool:
    """Whether USING and a string stand here, which only a script has."""
    return (
        part[place].token_type is TokenType.USING
        and place + 1 < len(part)
        and part[place + 1].token_type is TokenType.STRING
    )


def _start_of_inputs(part: list[Token], using: int) -> int | None:
    """The place of the MAP or REDUCE that a USING belongs to; None for a TRANSFORM."""
    depth = 0
    for place in range(using - 1, -1, -1):
        kind, word = part[place].token_type, part[place].text.upper()
        depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if depth < 0 or (depth == 0 and word in {"SELECT", "TRANSFORM", "FROM", "AS"}):
            # The AS of a CAST stands deeper.
            return None
        is_call = part[place + 1].token_type is TokenType.L_PAREN
        if depth == 0 and word in {"MAP", "REDUCE"} and not is_call:
            return place
    return None


def _token_at(place: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, place.line, place.col, place.start, place.end)


def _may_write(part: list[Token]) -> bool:
    words = [token.text.upper() for token in part]
    match words[0]:
        case "CREATE":
            return not _MADE.isdisjoint(words[:6])
        case "SELECT":
            return "INTO" in words
        case "LOAD":
            return words[1:2] == ["DATA"]
        case "EXPLAIN":
            # It runs the statement.
            return words[1:2] == ["ANALYZE"] and not _WRITES.isdisjoint(words[2:])
        case "ALTER":
            # Of ClickHouse, rows are changed by ALTER TABLE t UPDATE and DELETE.
            return words[1:2] == ["TABLE"] and bool({"UPDATE", "DELETE"} & set(words[3:6]))
        case first:
            return first in _WRITES


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
