"""DROP SCHEMA [IF EXISTS] name, .. [CASCADE | RESTRICT], of which sqlglot knows one name. Pure."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from rewriter.statement import SqlStatement
from rewriter.syntax.token_reader import Parse, TokenReader


def recognise_drop_schema(tokens: list[Token], parse: Parse) -> SqlStatement | None:
    """The statement if schemas are dropped, else None."""
    reader = TokenReader(tokens, parse, 1)
    if tokens[0].text.upper() != "DROP" or not reader.takes("SCHEMA"):
        return None
    exists = reader.takes("IF", "EXISTS")
    names = [_schema(reader.name())]
    while reader.takes(","):
        names.append(_schema(reader.name()))
    cascade = reader.takes("CASCADE")
    _ = cascade or reader.takes("RESTRICT")
    reader.ends("DROP SCHEMA needs names, and CASCADE or RESTRICT behind them")
    return SqlStatement(exp.Drop(tables=names, kind="SCHEMA", exists=exists, cascade=cascade))


def _schema(named: exp.Table) -> exp.Table:
    """What was read as a table's name, as that of a schema."""
    return exp.Table(db=named.this, catalog=named.args.get("db"))
