"""BLAME, which is a query of table_blame.

BLAME t [COLUMNS] [VERSION | TIMESTAMP AS OF point] [WHERE ..] [ORDER BY ..] [LIMIT ..]
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.statement import SqlStatement
from rewriter.syntax.token_reader import Parse, TokenReader

_ADVICE = "write BLAME t [COLUMNS] [VERSION AS OF n] [WHERE ..] [ORDER BY ..] [LIMIT n]"
_CLAUSES = frozenset({"from_", "expressions", "where", "order", "limit", "offset", "kind"})


def recognise_blame(tokens: list[Token], parse: Parse) -> SqlStatement:
    """The query that a BLAME stands for: its clauses go by the columns of table_blame."""
    reader = TokenReader(tokens, parse, 1, _ADVICE)
    reader.name()
    named = tokens[1 : reader.place]
    by_column = reader.takes("COLUMNS")
    head = [_like(tokens[0], *word) for word in _SELECT_ALL]
    query = parse([*head, *named, *tokens[reader.place :]])
    source = query.args.get("from_")
    table = None if source is None else source.this
    others = [name for name, value in query.args.items() if value and name not in _CLAUSES]
    if not isinstance(query, exp.Select) or not isinstance(table, exp.Table) or others:
        raise reader.error("BLAME takes one table, and conditions on its rows")
    version = table.args.get("version")
    name = exp.Table(**{part: table.args.get(part) for part in ("this", "db", "catalog")})
    arguments: list[exp.Expr] = [exp.Literal.string(name.sql(dialect="duckdb"))]
    if version is not None:
        if str(version.args.get("kind")).upper() != "AS OF":
            raise reader.error("BLAME takes one point in time")
        arguments.append(version.expression)
    if by_column:
        arguments.append(exp.Kwarg(this=exp.var("columns"), expression=exp.true()))
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    called = exp.Anonymous(this="table_blame", expressions=arguments)
    table.replace(exp.Table(this=called, alias=alias))
    return SqlStatement(query)


_SELECT_ALL = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
