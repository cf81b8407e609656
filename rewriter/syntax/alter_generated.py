"""How ALTER TABLE changes a generated column, by its tokens. Pure.

ALTER [COLUMN] c DROP EXPRESSION [IF EXISTS] | SET EXPRESSION AS (expression)
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.syntax.token_reader import Parse, TokenReader

EXPRESSION, DROPS_EXPRESSION, IF_GENERATED = "expression", "drops_expression", "if_generated"
"""Arguments of an altered column: what it is computed by from now on; that nothing computes it any
more; that nothing is wrong if nothing did."""


def generated_action(part: list[Token], parse: Parse) -> exp.AlterColumn | None:
    """An action about a generated column; None for any other."""
    reader = TokenReader(part, parse, 0)
    if not reader.takes("ALTER"):
        return None
    reader.takes("COLUMN")
    if reader.place >= len(part):
        return None
    token = part[reader.place]
    name = exp.to_identifier(reader.word(), quoted=token.token_type is TokenType.IDENTIFIER)
    name.update_positions(token)
    found = exp.AlterColumn(this=name)
    if reader.takes("DROP", "EXPRESSION"):
        found.set(DROPS_EXPRESSION, True)
        found.set(IF_GENERATED, reader.takes("IF", "EXISTS"))
    elif reader.takes("SET", "EXPRESSION", "AS"):
        found.set(EXPRESSION, reader.value().unnest())
    else:
        return None
    reader.ends("nothing else stands here")
    return found
