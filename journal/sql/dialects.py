"""sqlglot's tokenizers, parsers and generators, made once per thread and dialect.

Making them costs as much as a short statement's own work, and each may serve one statement at a
time. Knows no SQL of its own; pure.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import cache

import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.errors import ParseError, TokenError, UnsupportedError
from sqlglot.generator import Generator
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from journal.model.errors import Code, PalimpsestError
from journal.model.trees import Nodes
from journal.sql.duckdb_reading import ReadDuckDB, readable, unmarked
from journal.sql.list_places import COUNTING_FROM_ONE, count_from_one, has_places


class _DialectTools(threading.local):
    """What a thread has made before, by dialect."""

    def __init__(self) -> None:
        self.tokenizers: dict[str, Tokenizer] = {}
        self.parsers: dict[str, Parser] = {}
        self.generators: dict[str, Generator] = {}


_TOOLS = _DialectTools()

_LEFT_WHOLE: frozenset[type[exp.Expr]] = frozenset(
    {
        *(exp.Select, exp.Union, exp.Subquery, exp.From, exp.Where, exp.With, exp.CTE, exp.Order),
        *(exp.Ordered, exp.Limit, exp.Group, exp.Table, exp.TableAlias, exp.Column, exp.Identifier),
        *(exp.Alias, exp.Star, exp.Literal, exp.Placeholder, exp.Null, exp.Boolean, exp.Paren),
        *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is),
        *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Case, exp.If, exp.Exists, exp.Anonymous),
        *(exp.Count, exp.Sum, exp.Coalesce, exp.Tuple, exp.Cast, exp.DataType, exp.DataTypeParam),
        *(exp.Join, exp.In, exp.Window, exp.RowNumber, exp.Max, exp.Min, exp.Having, exp.Qualify),
        *(exp.Between, exp.Values, exp.NullSafeEQ, exp.NullSafeNEQ),
    }
)
"""Nodes that sqlglot's generator writes down as they are; for others it may change the tree."""
_LIKE_A_TAG = re.compile(r"\$\d[^\s$]*[^\s\d$][^\s$]*\$")
"""What sqlglot takes for the beginning of a dollar-quoted text: ``$1,$`` of ``VALUES ($1,$2)``."""
_PARAMETER = re.compile(r"(?<![\w$])\$(?=\d)")
_MARK = "\ue000"
"""Stands for the dollar of a parameter meanwhile, a sign that has no meaning."""


_FAILURES = (AssertionError, AttributeError, LookupError, TypeError, ValueError, TokenError)
"""What sqlglot raises where it takes for granted what is not there.

It reads names of types as texts of their own, in which a quote may be open.
"""


def tokens(sql: str, dialect: str) -> list[Token]:
    """Tokens of ``sql``; the words after which a tokenizer takes the rest as raw text are words.

    Raises sqlglot's TokenError.
    """
    found = _TOOLS.tokenizers.get(dialect)
    if found is None:
        found = _TOOLS.tokenizers[dialect] = _tokenizer(dialect)(dialect=dialect)
    if sql.endswith("''") and "$" in sql:
        # Behind a dollar sqlglot asks what follows a doubled quote.
        sql += " "
    if _LIKE_A_TAG.search(sql) is None or _MARK in sql:
        return found.tokenize(sql)
    return [_with_dollar(token) for token in found.tokenize(_PARAMETER.sub(_MARK, sql))]


def _with_dollar(token: Token) -> Token:
    if _MARK in token.text:
        token.text = token.text.replace(_MARK, "$")
    token.comments[:] = [comment.replace(_MARK, "$") for comment in token.comments]
    return token


def parsed(
    part: list[Token], text: str, dialect: str, into: type[exp.Expr] | None = None
) -> list[exp.Expr | None]:
    """What the tokens of a text say, as one kind of expression if one is given.

    Raises sqlglot's ParseError, also for a text on which the parser itself fails.
    """
    ready = readable(part, dialect)
    found = parsed_by(_parser(dialect), ready, text, into)
    if dialect in COUNTING_FROM_ONE and has_places(part):
        for ast in found:
            if ast is not None:
                count_from_one(ast)
    return found if ready is part else [ast and unmarked(ast) for ast in found]


def parsed_by(
    parser: Parser, part: list[Token], text: str, into: type[exp.Expr] | None = None
) -> list[exp.Expr | None]:
    """The same by a parser of the caller's, whose trees are left as they are."""
    try:
        return parser.parse(part, text) if into is None else parser.parse_into(into, part, text)
    except _FAILURES as error:
        raise ParseError("the statement cannot be read") from error


IN_POSTGRES = "in_postgres"
"""The call, and the mark of a node, that a text keeps in PostgreSQL's words: see native_words."""


def stored(text: str) -> exp.Expr:
    """A query or expression as the catalog keeps it, in DuckDB's SQL."""
    found = read_back(text, "duckdb")
    return _restored(found) if IN_POSTGRES in text.lower() else found


def read_back(text: str, dialect: str) -> exp.Expr:
    """The one statement or expression of a text."""
    found = parsed(tokens(text, dialect), text, dialect)[0]
    assert found is not None
    return found


def _restored(tree: exp.Expr) -> exp.Expr:
    """The tree with the nodes that calls keep, marked; the values stand in the text's columns."""
    holder = exp.Paren(this=tree)
    calls = [n for n in holder.find_all(exp.Anonymous) if str(n.this).lower() == IN_POSTGRES]
    for node in reversed(calls):
        words, *values = node.expressions
        if words.name.isidentifier():
            made: exp.Expr = exp.Anonymous(this=words.name, expressions=values)
        else:
            held = exp.Paren(this=read_back(words.name, "postgres"))
            for column in list(held.find_all(exp.Column)):
                column.replace(values[int(column.name.removeprefix("_")) - 1].copy())
            made = held.this.pop()
        made.meta[IN_POSTGRES] = True
        node.replace(made)
    found = holder.this
    assert isinstance(found, exp.Expr)
    return found.pop()


def _parser(dialect: str) -> Parser:
    """A parser for this thread; whoever uses it is done with the statement before."""
    found = _TOOLS.parsers.get(dialect)
    if found is None:
        found = _TOOLS.parsers[dialect] = _dialect(dialect).parser()
    return found


def text(ast: exp.Expr, nodes: Nodes | None, dialect: str) -> str:
    """A statement in a dialect; ``nodes`` are those of its AST, where they are known.

    Raises NOT_SUPPORTED for what the dialect cannot say, which sqlglot would leave out.
    """
    found = _TOOLS.generators.get(dialect)
    if found is None:
        made = _dialect(dialect).generator(unsupported_level=ErrorLevel.RAISE)
        found = _TOOLS.generators[dialect] = made
    is_copied = nodes is None or not nodes.by_type.keys() <= _LEFT_WHOLE
    if dialect == "duckdb" and is_copied and ast.find(exp.Extract) is not None:
        ast, is_copied = _with_moments_in_brackets(ast.copy()), False
    try:
        return generated(lambda: found.generate(ast, copy=is_copied))
    except UnsupportedError as error:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the store cannot run this: {what_is_lacking(error)}",
            advice="use functions and types that the store has; docs/index.md leads to its page",
        ) from error


def _with_moments_in_brackets(ast: exp.Expr) -> exp.Expr:
    """The tree with brackets around what EXTRACT takes from, in place.

    sqlglot refuses a part of an instant, which another engine than DuckDB takes in another zone.
    """
    for part in list(ast.find_all(exp.Extract)):
        part.set("expression", exp.Paren(this=part.expression))
    return ast


_LACKING = re.compile(r"Argument '(\w+)' is not supported for expression '(\w+)' when .*")


def what_is_lacking(error: UnsupportedError) -> str:
    """What a dialect cannot say, in words of SQL where sqlglot names a class of its own."""
    return _LACKING.sub(_taken_without, str(error)).rstrip(".")


def _taken_without(found: re.Match[str]) -> str:
    part, name = found.groups()
    kind = getattr(exp, name, None)
    if isinstance(kind, type) and issubclass(kind, exp.Func):
        name = kind.sql_name()
    return f"{name} takes no {part.upper()} there"


def generated(generate: Callable[[], str]) -> str:
    """The text that a generator of SQL gives.

    Raises sqlglot's UnsupportedError for what the dialect cannot say, and for a tree on which the
    generator itself fails.
    """
    try:
        return generate()
    except (*_FAILURES, ParseError) as error:
        raise UnsupportedError("its parts do not fit each other") from error


@cache
def _dialect(name: str) -> sqlglot.Dialect:
    return ReadDuckDB() if name == "duckdb" else sqlglot.Dialect.get_or_raise(name)


@cache
def _tokenizer(dialect: str) -> type[Tokenizer]:
    base = _dialect(dialect).tokenizer_class
    changed = {"COMMANDS": set(), "__module__": __name__}
    if TokenType.HEREDOC_STRING in {kind for _, kind in base._FORMAT_STRINGS.values()}:
        # Nothing else in the language begins with the mark.
        changed["SINGLE_TOKENS"] = {**base.SINGLE_TOKENS, _MARK: TokenType.PARAMETER}
    return type(base.__name__, (base,), changed)
