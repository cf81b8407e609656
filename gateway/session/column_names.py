"""Names of result columns without an alias, as the client's dialect gives them on every store.

PostgreSQL says ``count`` and ``?column?``; source: ``FigureColname`` of its parser. DuckDB writes
the expression out, in its own spelling of the client's text. Other dialects' clients get the names
that the store gives, but for the names under which the gateway sends parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from gateway.session.outcome import StatementOutcome
from gateway.session.request import StatementRequest
from journal.local_engine.spelling import SPELLING
from journal.model.plan import USER_PARAMETER
from journal.model.result_column import ResultColumn
from journal.sql import dialects
from rewriter.dialect_semantics import DIALECTS
from rewriter.reading.output_names import expands
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed
from rewriter.syntax.postgres_names import postgres_name

_UNNAMED = "?column?"
_AS_WRITTEN = (
    *(
        exp.Column,
        exp.Literal,
        exp.Boolean,
        exp.Null,
        exp.Count,
        exp.Sum,
        exp.Min,
        exp.Max,
        exp.Avg,
    ),
    *(exp.Star, exp.Identifier, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Paren, exp.EQ, exp.LT),
    *(exp.GT, exp.LTE, exp.GTE, exp.And, exp.Or, exp.Coalesce, exp.Lower, exp.Upper, exp.Distinct),
)
"""Nodes that the gateway sends to DuckDB in the words in which clients write them."""
_DISTINCT = re.compile(r"^DISTINCT (ON \(.*?\) )?(?!ON )")
_PARAMETER = re.compile(rf"\${USER_PARAMETER}(?=\w)")


def with_client_names(
    outcome: StatementOutcome, request: StatementRequest, *, in_duckdb: bool
) -> StatementOutcome:
    """An outcome, changed in place, whose columns have the names that the dialect gives them.

    ``in_duckdb`` says whether the store has named them as DuckDB would.
    """
    if outcome.columns is not None:
        outcome.columns = client_names(
            request.parsed, outcome.columns, request.dialect, in_duckdb=in_duckdb
        )
        if outcome.rows is not None:
            outcome.rows.names = [column.name for column in outcome.columns]
    return outcome


def client_names(
    parsed: Parsed, columns: Sequence[ResultColumn], dialect: str, *, in_duckdb: bool
) -> list[ResultColumn]:
    """The columns of a statement under the names that a dialect gives them."""
    language = DIALECTS.get(dialect)
    if language == "postgres":
        return postgres_names(parsed, columns)
    found = list(columns)
    nodes = _output(parsed)
    if all(isinstance(node, exp.Alias | exp.Column | exp.Star) for node in nodes):
        return found
    written = _written_names(parsed, nodes, in_duckdb=in_duckdb) if language == "duckdb" else ()
    found = [replace(column, name=_PARAMETER.sub("$", column.name)) for column in found]
    if len(written) != len(nodes):
        return found
    for number, place in _places(nodes, len(found)):
        if not isinstance(nodes[number].unnest(), exp.Alias | exp.Column | exp.PositionalColumn):
            found[place] = replace(found[place], name=written[number])
    return found


def postgres_names(parsed: Parsed | None, columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """The columns of a statement under the names that PostgreSQL would give them."""
    found = list(columns)
    nodes = _output(parsed)
    if parsed is not None and _is_list_of_values(parsed):
        return [replace(column, name=f"column{n}") for n, column in enumerate(found, 1)]
    if parsed is None or all(isinstance(node, exp.Alias | exp.Column | exp.Star) for node in nodes):
        return found
    return _named(found, nodes, _calls_in(parsed.text))


def catalog_names(query: exp.Expr, columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """The columns of a query that never reaches the rewriter, as PostgreSQL would name them."""
    return _named(list(columns), _query_output(query), ())


def _named(
    columns: list[ResultColumn], nodes: Sequence[exp.Expr], words: Sequence[str | None]
) -> list[ResultColumn]:
    """The columns, changed in place; ``words`` are the functions as the client wrote them."""
    called = words if len(words) == len(nodes) else [None] * len(nodes)
    for number, place in _places(nodes, len(columns)):
        node = nodes[number]
        if not isinstance(node, exp.Alias):
            word = None if isinstance(node, _OPERATORS) else called[number]
            name = word or postgres_name(node) or _UNNAMED
            columns[place] = replace(columns[place], name=name)
    return columns


def _places(nodes: Sequence[exp.Expr], width: int) -> Iterator[tuple[int, int]]:
    """The numbers of outputs, and their places among ``width`` columns; not those between stars."""
    stars = [number for number, node in enumerate(nodes) if node.is_star or expands(node)]
    before, behind = (stars[0], len(nodes) - stars[-1] - 1) if stars else (len(nodes), 0)
    if before + behind > width or (not stars and before != width):
        return
    yield from ((number, number) for number in range(before))
    yield from ((len(nodes) - back, width - back) for back in range(behind, 0, -1))


def _is_list_of_values(parsed: Parsed) -> bool:
    ast = parsed.statement.ast if isinstance(parsed.statement, SqlStatement) else None
    while isinstance(ast, exp.SetOperation | exp.Subquery):
        ast = ast.this
    return isinstance(ast, exp.Values)


def _output(parsed: Parsed | None) -> list[exp.Expr]:
    """The expressions whose values a statement gives."""
    if parsed is None or not isinstance(parsed.statement, SqlStatement):
        return []
    return _query_output(parsed.statement.ast)


def _query_output(ast: exp.Expr) -> list[exp.Expr]:
    while isinstance(ast, exp.SetOperation | exp.Subquery):
        ast = ast.this
    if isinstance(ast, exp.Select):
        return list(ast.expressions)
    returning = ast.args.get("returning")
    return [] if returning is None else list(returning.expressions)


def _written_names(parsed: Parsed, nodes: Sequence[exp.Expr], *, in_duckdb: bool) -> Sequence[str]:
    """The names that DuckDB gives the outputs of a text; none where it cannot read the text.

    Only outputs that are not named yet, and those that the gateway may have sent in other words,
    are asked for: it costs DuckDB's parser, once for a text.
    """
    if in_duckdb and all(isinstance(part, _AS_WRITTEN) for node in nodes for part in node.walk()):
        return ()
    return _names_in(parsed.text)


@lru_cache(maxsize=256)
def _names_in(text: str) -> tuple[str, ...]:
    said = SPELLING.respell(text) or _outputs_respelled(text)
    if said is None:
        return ()
    found = [_name_of_item(said, item) for item in _items(said, "duckdb") if item]
    first, *others = found or ("",)
    return (_DISTINCT.sub("", first), *others)


def _outputs_respelled(text: str) -> str | None:
    """The outputs of a query alone, whose sources DuckDB cannot read, such as a table's past."""
    items = [item for item in _items(text, "duckdb") if item]
    if not items:
        return None
    return SPELLING.respell(f"SELECT {text[items[0][0].start : items[-1][-1].end + 1]}")


def _name_of_item(said: str, item: Sequence[Token]) -> str:
    if len(item) > 2 and item[-2].token_type is TokenType.ALIAS:
        return item[-1].text
    return said[item[0].start : item[-1].end + 1]


@lru_cache(maxsize=256)
def _calls_in(text: str) -> tuple[str | None, ...]:
    """For each output of a text in PostgreSQL's dialect: the function that it is a call of."""
    return tuple(map(_called, _items(text, "postgres")))


def _called(item: Sequence[Token]) -> str | None:
    kinds = [token.token_type for token in item]
    if TokenType.L_PAREN not in kinds[1:]:
        return None
    opens = kinds.index(TokenType.L_PAREN)
    depth = closes = 0
    for closes in range(opens, len(item)):
        depth += (kinds[closes] in _OPENING) - (kinds[closes] in _CLOSING)
        if depth == 0:
            break
    behind = item[closes + 1] if closes + 1 < len(item) else None
    if behind and behind.token_type not in _BEHIND_CALL and behind.text.upper() != "WITHIN":
        return None
    qualified = opens == 3 and kinds[1] is TokenType.DOT
    word = item[opens - 1].text.lower()
    known = word not in _OWN_SYNTAX and (word.isidentifier() and (opens == 1 or qualified))
    return word if known else None


_OPERATORS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In, exp.Between),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.DPipe, exp.Connector, exp.Like, exp.ILike),
    *(exp.RegexpLike, exp.RegexpILike, exp.SimilarTo, exp.NullSafeEQ, exp.NullSafeNEQ),
)
"""What stands behind a call makes something else of it: ``rank() OVER w = 1``."""
_OWN_SYNTAX = frozenset(
    {"array", "any", "all", "case", "cast", "convert", "exists", "not", "row", "trim", "distinct"}
)
"""Words before a bracket that call no function, or one of another name."""
_BEHIND_CALL = {
    *(TokenType.DCOLON, TokenType.OVER, TokenType.FILTER, TokenType.COLLATE),
}


def _items(text: str, dialect: str) -> list[list[Token]]:
    """The tokens between the commas of a query's first SELECT, which brackets may stand around."""
    try:
        tokens = dialects.tokens(text, dialect)
    except TokenError:
        return []
    kinds = [token.token_type for token in tokens]
    home = next((i for i, kind in enumerate(kinds) if kind is not TokenType.L_PAREN), 0)
    depth = 0
    found: list[list[Token]] = []
    for kind, token in zip(kinds, tokens, strict=True):
        if depth == home and kind in _CHANGES:
            return []
        if found and depth == home and kind in _ENDING:
            break
        if depth == home and found and kind is TokenType.COMMA:
            found.append([])
        elif found:
            found[-1].append(token)
        elif depth == home and kind is TokenType.SELECT:
            found.append([])
        depth += (kind in _OPENING) - (kind in _CLOSING)
    return found


_CHANGES = {TokenType.INSERT, TokenType.UPDATE, TokenType.DELETE, TokenType.MERGE}
"""What a text begins with whose outputs stand behind RETURNING."""
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_ENDING = {
    *(TokenType.FROM, TokenType.WHERE, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT),
    *(TokenType.ORDER_BY, TokenType.LIMIT, TokenType.GROUP_BY, TokenType.HAVING, TokenType.WINDOW),
    *(TokenType.QUALIFY, TokenType.OFFSET, TokenType.R_PAREN, TokenType.SEMICOLON),
}
