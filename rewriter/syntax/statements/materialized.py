"""Materialised views, recognised by their tokens, as sqlglot knows half of the statements.

    CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] v [(columns)] AS query [WITH [NO] DATA]
    REFRESH MATERIALIZED VIEW [CONCURRENTLY] v [WITH [NO] DATA]
    ALTER MATERIALIZED VIEW [IF EXISTS] v RENAME TO w | SET SCHEMA s | SET POLICY (..)
    DROP MATERIALIZED VIEW [IF EXISTS] v, ..

All but REFRESH become the tree of the statement about a view, of the kind ``KIND``. Pure.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.statement import RefreshView, SqlStatement
from rewriter.syntax.statements.alter import recognise_alter
from rewriter.syntax.token_reader import Parse, TokenReader

KIND = "MATERIALIZED VIEW"


def recognise_materialized(tokens: list[Token], parse: Parse) -> SqlStatement | RefreshView | None:
    """The statement if it is about a materialised view, else None."""
    words = [t.text.upper() for t in tokens[:5]]
    if words[0] == "REFRESH":
        return _refresh(tokens, parse) if words[1:3] == ["MATERIALIZED", "VIEW"] else None
    place = 3 if words[1:3] == ["OR", "REPLACE"] else 1
    if words[place : place + 2] != ["MATERIALIZED", "VIEW"]:
        return None
    part = [*tokens[:place], *tokens[place + 1 :]]
    if words[0] == "ALTER":
        table = Token(TokenType.TABLE, "TABLE", *_place(tokens[place + 1]))
        found = recognise_alter([tokens[0], table, *tokens[place + 2 :]], parse)
        assert isinstance(found, SqlStatement)
        found.ast.set("kind", KIND)
        return found
    without_data = False
    if words[0] == "CREATE":
        last = [t.text.upper() for t in part[-3:]]
        without_data = last == ["WITH", "NO", "DATA"]
        part = part[:-3] if without_data else part[:-2] if last[1:] == ["WITH", "DATA"] else part
    ast = parse(part)
    ast.set("kind", KIND)
    if without_data:
        properties = ast.args.get("properties") or exp.Properties(expressions=[])
        properties.append("expressions", exp.WithDataProperty(no=True))
        ast.set("properties", properties)
    return SqlStatement(ast)


def _place(token: Token) -> tuple[int, int, int, int]:
    return token.line, token.col, token.start, token.end


def _refresh(tokens: list[Token], parse: Parse) -> RefreshView:
    reader = TokenReader(tokens, parse, 3)
    concurrently = reader.takes("CONCURRENTLY")
    name = reader.name()
    without_data = reader.takes("WITH", "NO", "DATA")
    if without_data and concurrently:
        raise reader.error("CONCURRENTLY and WITH NO DATA cannot be used together")
    if not without_data:
        reader.takes("WITH", "DATA")
    reader.ends("REFRESH MATERIALIZED VIEW takes nothing else")
    return RefreshView(name, with_data=not without_data, concurrently=concurrently)
