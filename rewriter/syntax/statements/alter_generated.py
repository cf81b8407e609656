"""How ALTER TABLE changes a generated column, by its tokens. Pure.

ALTER [COLUMN] c DROP EXPRESSION [IF EXISTS] | SET EXPRESSION AS (expression)
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from rewriter.syntax.token_reader import Parse, TokenReader

EXPRESSION, DROPS_EXPRESSION, IF_GENERATED = "expression", "drops_expression", "if_generated"
"""Arguments of an altered column: what it is computed by from now on; that nothing computes it any
more; that nothing is wrong if nothing did."""


def generated_action(part: list[Token], parse: Parse) -> exp.AlterColumn | None:
    """An action about a generated column; None for any other."""
    reader = TokenReader(part, parse, 0)
    found = reader.altered_column()
    if found is None:
        return None
    if reader.takes("DROP", "EXPRESSION"):
        found.set(DROPS_EXPRESSION, True)
        found.set(IF_GENERATED, reader.takes("IF", "EXISTS"))
    elif reader.takes("SET", "EXPRESSION", "AS"):
        found.set(EXPRESSION, reader.value().unnest())
    else:
        return None
    reader.ends("nothing else stands here")
    return found
