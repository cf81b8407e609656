"""Accepts DROP .. IF EXISTS of objects that cannot exist here, as dumps send it. Pure.

DROP RULE IF EXISTS name ON table [CASCADE | RESTRICT]
DROP PROCEDURE | ROUTINE | AGGREGATE | OPERATOR | CAST | COLLATION | STATISTICS | EVENT TRIGGER
  | FOREIGN TABLE | PUBLICATION | SUBSCRIPTION | SERVER IF EXISTS name [(..)] [CASCADE | RESTRICT]
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from rewriter.statement import StoreUpkeep
from rewriter.syntax.token_reader import Parse, TokenReader

_KINDS = (
    *(("RULE",), ("PROCEDURE",), ("ROUTINE",), ("AGGREGATE",), ("OPERATOR",)),
    *(("COLLATION",), ("STATISTICS",), ("EVENT", "TRIGGER"), ("FOREIGN", "TABLE")),
    *(("PUBLICATION",), ("SUBSCRIPTION",), ("SERVER",)),
)
_ON_TABLES = (("RULE",),)


def recognise_absent(tokens: list[Token], parse: Parse) -> StoreUpkeep | None:
    """The statement, which changes nothing; None for any other, and for one without IF EXISTS."""
    reader = TokenReader(tokens, parse, 1)
    if tokens[0].text.upper() != "DROP":
        return None
    kind = next((words for words in _KINDS if reader.takes(*words)), None)
    if kind is None or not reader.takes("IF", "EXISTS"):
        return None
    if kind in _ON_TABLES:
        reader.word()
        if not reader.takes("ON"):
            raise reader.error("ON and a table were expected")
        reader.name()
    else:
        # Names, and the types that tell one from another, up to the end.
        reader.part({"CASCADE", "RESTRICT"})
    _ = reader.takes("CASCADE") or reader.takes("RESTRICT")
    reader.ends("nothing else stands behind the name")
    return StoreUpkeep(f"DROP {' '.join(kind)}")
