"""Text to statements: tokens, parameters in every style, own syntax, then sqlglot's AST.

Unknown syntax is an error here; the ``exp.Command`` that sqlglot makes of it never leaves this
module. Pure: no I/O.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError, Position
from journal.model.lazy_dataclass import dataclass
from journal.sql import bytea, dialects
from rewriter.checks.allowed import check_some
from rewriter.checks.clauses_in_order import check_clause_order
from rewriter.checks.lost_arguments import check_arguments
from rewriter.checks.misspelled_keywords import misspelled_keyword
from rewriter.checks.refusals import check_one_way_to_replace, refusal
from rewriter.dialect_semantics import DIALECTS
from rewriter.limits import Limits
from rewriter.name_resolution import token_position
from rewriter.query_settings import keep_marks, mark_last
from rewriter.statement import Explain, Prepare, SqlStatement, Statement
from rewriter.statements.blocks import DoBlock, Run
from rewriter.syntax import own_statements
from rewriter.syntax.cte_order import in_reading_order
from rewriter.syntax.interval_units import spell_out_units
from rewriter.syntax.leading_from import hang_joins
from rewriter.syntax.nesting import check_nesting, too_deep
from rewriter.syntax.next_value import spell_next_value
from rewriter.syntax.numbered_sources import number_rows
from rewriter.syntax.parameters import renamed_parameters
from rewriter.syntax.pivots import bracket_pivot, group_instead
from rewriter.syntax.postgres_spellings import with_known_spellings
from rewriter.syntax.postgres_tokens import as_scanned
from rewriter.syntax.postgres_words import with_words_spelled_out
from rewriter.syntax.qualified_calls import without_catalog_schema, without_engine_schema
from rewriter.syntax.query_table import TABLE_NAMING_CALLS, name_tables
from rewriter.syntax.repeated_values import spell_out_repeated
from rewriter.syntax.statements.blocks import is_do, read_do
from rewriter.syntax.statements.constraints import without_not_deferrable
from rewriter.syntax.statements.entities import recognise_entity
from rewriter.syntax.statements.explain import explained
from rewriter.syntax.statements.function_forms import in_atomic_body, with_body_as_text
from rewriter.syntax.statements.generated import spell_out_generated
from rewriter.syntax.statements.identity_options import with_ordered_identities
from rewriter.syntax.statements.index import set_index, spell_out_index
from rewriter.syntax.statements.insert import set_marks, without_marks
from rewriter.syntax.statements.merge import bracket_source, set_actions, spell_out_actions
from rewriter.syntax.statements.prepared import head_of_prepare
from rewriter.syntax.statements.recursive_view import spell_out_recursive_view
from rewriter.syntax.statements.select_into import into_as_table
from rewriter.syntax.statements.session_calls import session_calls
from rewriter.syntax.statements.temporary import set_on_commit, without_on_commit
from rewriter.syntax.tied_rows import spell_out_limits
from rewriter.syntax.token_reader import Parse, TokenReader
from rewriter.syntax.tokens import check_commas, tokenize
from rewriter.syntax.type_suffixes import bracket_array_types
from rewriter.syntax.values import bracket_values

_BARE_AS_OF = re.compile(r"\bas\s+of\s*$", re.IGNORECASE)


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
    tokens = tokenize(text, DIALECTS[dialect])
    if DIALECTS[dialect] == "postgres":
        tokens = as_scanned(tokens, text)
    return [
        _statement(text, part, dialect, limits, placeholders) for part in _split(tokens) if part
    ]


def find_text(text: str, wanted: str, dialect: str) -> Position | None:
    """Where a word, quoted name or literal first stands in a statement's text."""
    for token in tokenize(text, DIALECTS[dialect]):
        if token.text.casefold() == wanted.casefold():
            # A literal's quotes are part of its place, though not of its text.
            return token_position(token)
    return None


_NO_PART = frozenset({TokenType.SEMICOLON, TokenType.HINT, TokenType.QDCOLON})


def _split(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        kind = token.token_type
        if kind not in _NO_PART or (kind is TokenType.SEMICOLON and in_atomic_body(parts[-1])):
            parts[-1].append(token)
        elif kind is TokenType.SEMICOLON:
            parts.append([])
        elif kind is TokenType.QDCOLON:
            parts[-1] += _split_cast(token)
        # A hint speaks to an engine that is not the store: a comment.
    return parts


def _split_cast(token: Token) -> tuple[Token, Token]:
    """``?::``, which sqlglot takes for one operator, as a placeholder and the cast behind it."""
    start, line, col = token.start, token.line, token.col
    return (
        Token(TokenType.PLACEHOLDER, "?", line, col - 2, start, start),
        Token(TokenType.DCOLON, "::", line, col, start + 1, token.end),
    )


def _statement(
    text: str, tokens: list[Token], dialect: str, limits: Limits, placeholders: bool
) -> Parsed:
    check_nesting(tokens, limits)
    check_commas(tokens, DIALECTS[dialect])
    check_clause_order(tokens, DIALECTS[dialect])
    check_one_way_to_replace(tokens)
    own_text = text[tokens[0].start : tokens[-1].end + 1]
    if tokens[0].text.upper() == "PREPARE":
        return Parsed(_prepare(text, tokens, dialect, limits), own_text, ())
    of_entity = recognise_entity(tokens, text)
    if of_entity is not None:
        return Parsed(of_entity, own_text, ())
    if DIALECTS[dialect] == "postgres" and is_do(tokens):
        return Parsed(_do(tokens, dialect, limits), own_text, ())
    if tokens[0].text.upper() == "EXPLAIN":
        return _explain(text, tokens, dialect, limits, placeholders)
    if DIALECTS[dialect] == "postgres":
        tokens = with_known_spellings(without_catalog_schema(tokens))
    tokens = with_body_as_text(tokens, text)
    renamed, parameters = renamed_parameters(tokens, dialect) if placeholders else (tokens, ())
    parse_tokens = _parser(text, dialect, limits)
    renamed = bracket_array_types(renamed)
    renamed = with_ordered_identities(without_not_deferrable(renamed))
    recognised = own_statements.recognise(renamed, parse_tokens)
    if recognised is not None:
        if DIALECTS[dialect] == "postgres" and isinstance(recognised, SqlStatement):
            recognised = replace(recognised, ast=_as_in_postgres(recognised.ast, own_text))
        return Parsed(recognised, own_text, parameters)
    normal, marks = without_marks(
        spell_next_value(spell_out_recursive_view(own_statements.normalise(renamed)))
    )
    normal, drops = without_on_commit(spell_out_generated(normal))
    normal, is_marked = mark_last(normal)
    normal, indexes = spell_out_index(normal)
    normal, actions = spell_out_actions(bracket_source(bracket_values(bracket_pivot(normal))))
    try:
        ast = set_marks(parse_tokens(normal), marks, tokens[0])
        check_arguments(normal, ast, DIALECTS[dialect])
        if is_marked:
            ast = keep_marks(ast)
        if indexes:
            ast = set_index(ast)
        if drops:
            ast = set_on_commit(ast)
        if actions:
            ast = set_actions(ast, actions, parse_tokens)
        if DIALECTS[dialect] == "postgres":
            ast = _as_in_postgres(into_as_table(ast), own_text)
        if DIALECTS[dialect] == "duckdb":
            ast = without_engine_schema(spell_out_repeated(ast))
            ast = number_rows(group_instead(hang_joins(ast)))
        if any(call in own_text.lower() for call in TABLE_NAMING_CALLS):
            name_tables(ast)
    except PalimpsestError as error:
        raise refusal(tokens, None) or error from error
    refused = refusal(tokens, ast)
    if refused is not None:
        raise refused
    calls = session_calls(ast) if DIALECTS[dialect] == "postgres" else None
    if calls is not None:
        return Parsed(calls, own_text, parameters)
    if isinstance(ast, exp.Update):
        # Here, so that it comes before anything the state of the transaction has to say.
        check_some(ast.expressions, ast.this)
    return Parsed(SqlStatement(ast), own_text, parameters)


def _as_in_postgres(ast: exp.Expr, text: str) -> exp.Expr:
    """A statement in words that every store takes."""
    ast = in_reading_order(with_words_spelled_out(ast))
    return bytea.mark(ast) if bytea.may_be_marked(text) else ast


def _parser(text: str, dialect: str, limits: Limits) -> Parse:
    """What parses tokens of a text."""

    def parse_tokens(part: list[Token], into: type[exp.Expr] | None = None) -> exp.Expr:
        try:
            found = dialects.parsed(part, text, DIALECTS[dialect], into)
        except ParseError as error:
            raise _syntax_error(error) from error
        except RecursionError:
            raise too_deep(limits) from None
        if len(found) != 1 or found[0] is None:
            raise PalimpsestError(
                Code.SYNTAX,
                "one statement was expected",
                advice="write one; several run one after another, each by itself",
            )
        if any(token.token_type is TokenType.INTERVAL for token in part):
            spell_out_units(found[0])
        if any(token.token_type in (TokenType.FETCH, TokenType.LIMIT) for token in part):
            return spell_out_limits(found[0])
        return found[0]

    return parse_tokens


def _do(tokens: list[Token], dialect: str, limits: Limits) -> DoBlock:
    """A block, whose statements are read like those of clients."""

    def read_sql(sql: str) -> Run:
        found = parse(sql, dialect, limits, placeholders=False)
        if len(found) != 1:
            raise PalimpsestError(
                Code.SYNTAX, "one statement was expected", advice="end each with a semicolon"
            )
        return Run(found[0].statement, found[0].text)

    return read_do(tokens, read_sql)


def _explain(
    text: str, tokens: list[Token], dialect: str, limits: Limits, placeholders: bool
) -> Parsed:
    """EXPLAIN and its statement, which is read as it would be without."""
    rest, options = explained(tokens, dialect)
    found = _statement(text, rest, dialect, limits, placeholders)
    if not isinstance(found.statement, SqlStatement):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"EXPLAIN {rest[0].text.upper()} is not supported",
            advice="EXPLAIN takes queries, and statements that change rows or tables",
            position=token_position(rest[0]),
        )
    own_text = text[tokens[0].start : tokens[-1].end + 1]
    return Parsed(Explain(found.statement, options), own_text, found.parameters)


def _prepare(text: str, tokens: list[Token], dialect: str, limits: Limits) -> Prepare:
    """A statement that is kept under a name, with parameters of its own."""
    head = head_of_prepare(tokens)
    kept = _statement(text, tokens[head.width :], dialect, limits, placeholders=True)
    if not isinstance(kept.statement, SqlStatement):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "PREPARE takes queries and changes of rows only",
            advice="send the statement by itself",
            position=token_position(tokens[head.width]),
        )
    types: list[exp.DataType] = []
    for part in head.types:
        types.append(TokenReader(part, _parser(text, dialect, limits), 0).data_type())
    return Prepare(head.name, tuple(types), kept.statement, kept.text, kept.parameters)


def _syntax_error(error: ParseError) -> PalimpsestError:
    detail = error.errors[0] if error.errors else {}
    line, col = detail.get("line"), detail.get("col")
    near = str(detail.get("highlight") or "").strip()
    position = None
    if line is not None and col is not None:
        position = Position(line, max(1, col - max(len(near), 1) + 1))
    what = _plain_message(_first_line(str(detail.get("description") or error)))
    before = str(detail.get("start_context") or "")
    slip = misspelled_keyword(before)
    advice = _advice_near(near, before)
    if slip is not None:
        near, advice = slip.word, f"did you mean {slip.meant}?"
        position = None if position is None else _position_within(before, slip.place, position)
    message = f'{what} near "{near}"' if near else what
    return PalimpsestError(Code.SYNTAX, message, advice=advice, position=position)


def _advice_near(near: str, before: str) -> str:
    """What to do about a text that cannot be parsed from ``near`` on, behind ``before``."""
    if near.startswith("\\") and not before.strip():
        return "commands with a backslash are the shell's: palimpsest shell -c '\\d t'"
    if _BARE_AS_OF.search(before):
        return "write t TIMESTAMP AS OF '2024-05-01 12:00', or t VERSION AS OF 7"
    return "check the statement at this place"


def _position_within(text: str, place: int, end: Position) -> Position:
    """The position of a place in a text that ends at a position."""
    lines = text.count("\n", place)
    if not lines:
        return Position(end.line, max(1, end.column - len(text) + place))
    return Position(end.line - lines, place - text.rfind("\n", 0, place))


_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")
_OPERATORS = {
    "ADD": "+",
    "DIV": "/",
    "DPIPE": "||",
    "EQ": "=",
    "GT": ">",
    "GTE": ">=",
    "LT": "<",
    "LTE": "<=",
    "MOD": "%",
    "MUL": "*",
    "NEQ": "<>",
    "SUB": "-",
}
"""What the parser's names of operators are written as."""
_EXPECTED = re.compile(r"Expected ([\w ]+) but got <Token .*")


def _plain_message(description: str) -> str:
    """A parser's message without the names of its classes."""
    missing = _MISSING.search(description)
    if missing is not None:
        part = missing.group(1).upper()
        return f"something is missing in or behind {_OPERATORS.get(part, part)}"
    expected = _EXPECTED.search(description)
    if expected is not None:
        return f"a {expected.group(1)} was expected"
    return description.rstrip(".")


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0]
