"""Text to statements: tokens, parameters in every style, own syntax, then sqlglot's AST.

Parameters (``?``, ``%s``, ``%(n)s``, ``:n``, ``$n``) are renamed among the tokens, so positions
stay those of the client's text and literals are never touched. Unknown syntax is an error here; the
``exp.Command`` that sqlglot makes of it never leaves this module. Pure: no I/O.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from journal.errors import Code, PalimpsestError, Position
from journal.plan import USER_PARAMETER
from rewriter import own_syntax
from rewriter.allowed import check_some
from rewriter.insert_syntax import set_marks, without_marks
from rewriter.limits import Limits
from rewriter.nesting import check_nesting, too_deep
from rewriter.statement import SqlStatement, Statement

DIALECTS = {
    "duckdb": "duckdb",
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mysql",
    "spark": "spark",
    "hive": "hive",
    "ansi": "",
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """One statement: what it is, its text, and its parameters in the order of the text.

    ``parameters`` holds positions (int, 0-based) or names, as the client must supply them.
    """

    statement: Statement
    text: str
    parameters: tuple[int | str, ...]


def parse(text: str, dialect: str, limits: Limits, *, placeholders: bool = True) -> list[Parsed]:
    """All statements of ``text``; raises SYNTAX, NOT_SUPPORTED or a limit's error."""
    if len(text) > limits.statement_chars:
        raise PalimpsestError(
            Code.STATEMENT_TOO_LONG,
            f"the statement has {len(text):,} characters, at most {limits.statement_chars:,}"
            " are taken",
            advice="load bulk data with COPY or executemany, or raise max_statement_chars",
        )
    return [
        _statement(text, part, dialect, limits, placeholders)
        for part in _split(_apart(_tokens(text, dialect)))
        if part
    ]


_RAW = frozenset({TokenType.COMMAND, TokenType.SHOW})
"""Tokens behind which some dialects read raw text."""


def _tokens(text: str, dialect: str) -> list[Token]:
    """Tokens of ``text``; words behind which sqlglot reads raw text are tokenised as well."""
    masked = text
    words: dict[int, str] = {}
    while True:
        try:
            tokens = sqlglot.tokenize(masked, read=DIALECTS[dialect])
        except TokenError as error:
            raise PalimpsestError(
                Code.SYNTAX,
                _first_line(str(error)),
                advice="check that every quote and comment is closed",
            ) from error
        command = next((t for i, t in enumerate(tokens) if _reads_raw(tokens, i)), None)
        if command is None:
            break
        words[command.start] = command.text
        end = command.start + len(command.text)
        masked = masked[: command.start] + "_" * len(command.text) + masked[end:]
    return (
        [_token(t.token_type, words.get(t.start, t.text), t) for t in tokens] if words else tokens
    )


def _reads_raw(tokens: list[Token], index: int) -> bool:
    """True for a word behind which the rest of the statement may be one raw text token."""
    kind = tokens[index].token_type
    first = index == 0 or tokens[index - 1].token_type is TokenType.SEMICOLON
    return kind in _RAW or (kind is TokenType.REPLACE and first)


def find_text(text: str, wanted: str, dialect: str) -> Position | None:
    """Where a word, quoted name or literal first stands in a statement's text."""
    for token in _tokens(text, dialect):
        if token.text.casefold() == wanted.casefold():
            # A literal's quotes are part of its place, though not of its text.
            return Position(token.line, max(1, token.col - (token.end - token.start)))
    return None


def _apart(tokens: list[Token]) -> list[Token]:
    """``?::``, which sqlglot takes for one operator, as a placeholder and the cast behind it."""
    if all(token.token_type is not TokenType.QDCOLON for token in tokens):
        return tokens
    result: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.QDCOLON:
            result.append(token)
            continue
        start, line, col = token.start, token.line, token.col
        result.append(Token(TokenType.PLACEHOLDER, "?", line, col - 2, start, start))
        result.append(Token(TokenType.DCOLON, "::", line, col, start + 1, token.end))
    return result


def _split(tokens: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _statement(
    text: str, tokens: list[Token], dialect: str, limits: Limits, placeholders: bool
) -> Parsed:
    check_nesting(tokens, limits)
    own_text = text[tokens[0].start : tokens[-1].end + 1]
    renamed, parameters = _rename(tokens, dialect) if placeholders else (tokens, ())
    parser = sqlglot.Dialect.get_or_raise(DIALECTS[dialect]).parser()

    def parse_tokens(part: list[Token], into: type[exp.Expr] | None = None) -> exp.Expr:
        try:
            if into is not None:
                found = parser.parse_into(into, part, text)
            else:
                found = parser.parse(part, text)
        except ParseError as error:
            raise _syntax_error(error) from error
        except RecursionError:
            raise too_deep(limits) from None
        if len(found) != 1 or found[0] is None:
            raise PalimpsestError(Code.SYNTAX, "one statement was expected")
        return found[0]

    own = own_syntax.recognise(renamed, parse_tokens, dialect)
    if own is not None:
        return Parsed(own, own_text, parameters)
    normal, marks = without_marks(own_syntax.normalise(renamed))
    ast = set_marks(parse_tokens(normal), marks, tokens[0])
    if isinstance(ast, exp.Command):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the statement {tokens[0].text.upper()} is not supported",
            advice="see docs/sql.md for the statements that are",
            position=position_of(tokens[0]),
        )
    if isinstance(ast, exp.Update):
        # Here, so that it comes before anything the state of the transaction has to say.
        check_some(ast.expressions, ast.this)
    return Parsed(SqlStatement(ast), own_text, parameters)


def _rename(tokens: list[Token], dialect: str) -> tuple[list[Token], tuple[int | str, ...]]:
    result: list[Token] = []
    names: dict[int | str, None] = {}
    count = 0
    index = 0
    sigil = _SIGILS.get(dialect, (TokenType.COLON, ":"))
    while index < len(tokens):
        found = _parameter(tokens, index)
        if found is None:
            result.append(tokens[index])
            index += 1
            continue
        name, width = found
        if name == "":
            key: int | str = count
            count += 1
        else:
            key = int(name) - 1 if name.isdigit() else name
        names[key] = None
        first = tokens[index]
        shown = f"{USER_PARAMETER}{key}"
        result.append(_token(*sigil, first))
        result.append(_token(TokenType.VAR, shown, first))
        index += width
    return result, tuple(names)


_SIGILS = {"duckdb": (TokenType.PARAMETER, "$")}
"""How a named parameter begins, where it is not with a colon."""


def _token(kind: TokenType, text: str, at: Token) -> Token:
    return Token(kind, text, at.line, at.col, at.start, at.end)


_NAME_TOKENS = frozenset({TokenType.VAR, TokenType.NUMBER, TokenType.IDENTIFIER})


def _parameter(tokens: list[Token], index: int) -> tuple[str, int] | None:
    """Name and width in tokens of the parameter that starts here; "" when it has no name."""
    token = tokens[index]
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    touching = after is not None and after.start == token.end + 1
    if token.token_type is TokenType.PLACEHOLDER and token.text == "?":
        return "", 1
    if not touching or after is None:
        return None
    if token.text == "$" and token.token_type is TokenType.PARAMETER:
        return after.text, 2
    if token.text == ":" and _free_colon(tokens, index) and _is_name(after):
        return after.text, 2
    if token.text == "%" and after.text.lower() == "s" and _after_operator(tokens, index):
        return "", 2
    if token.text == "%" and after.text == "(" and index + 4 < len(tokens):
        name, close, kind = tokens[index + 2 : index + 5]
        if close.text == ")" and kind.text.lower() == "s" and kind.start == close.end + 1:
            return name.text, 5
    return None


def _is_name(token: Token) -> bool:
    return token.text.isidentifier() or token.text.isdigit()


def _free_colon(tokens: list[Token], index: int) -> bool:
    """False for the colon of a slice or a struct, which follows a value without a space."""
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.end + 1 == tokens[index].start:
        return before.text in {"(", ",", "=", "<", ">", "+", "-", "*", "/", "<=", ">=", "<>", "!="}
    return True


_VALUE_ENDS = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN, TokenType.R_BRACKET}
)


def _after_operator(tokens: list[Token], index: int) -> bool:
    """True where ``%s`` cannot be a modulo: not behind a value."""
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.token_type in _VALUE_ENDS:
        return False
    if before.token_type in {TokenType.VAR, TokenType.IDENTIFIER}:
        return before.end + 1 != tokens[index].start
    return True


def position_of(token: Token) -> Position:
    """Line and column at which a token starts."""
    return Position(token.line, max(1, token.col - len(token.text) + 1))


def _syntax_error(error: ParseError) -> PalimpsestError:
    detail = error.errors[0] if error.errors else {}
    line, col = detail.get("line"), detail.get("col")
    near = str(detail.get("highlight") or "").strip()
    position = None
    if line is not None and col is not None:
        position = Position(line, max(1, col - max(len(near), 1) + 1))
    what = _plain(_first_line(str(detail.get("description") or error)))
    message = f'{what} near "{near}"' if near else what
    return PalimpsestError(
        Code.SYNTAX, message, advice="check the statement at this place", position=position
    )


_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")
_EXPECTED = re.compile(r"Expected ([\w ]+) but got <Token .*")


def _plain(description: str) -> str:
    """A parser's message without the names of its classes."""
    missing = _MISSING.search(description)
    if missing is not None:
        return f"something is missing in or behind {missing.group(1).upper()}"
    expected = _EXPECTED.search(description)
    if expected is not None:
        return f"a {expected.group(1)} was expected"
    return description.rstrip(".")


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0]
