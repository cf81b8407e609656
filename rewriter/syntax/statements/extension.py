"""CREATE, DROP and COMMENT ON EXTENSION: those that change nothing, told from others. Pure.

CREATE EXTENSION [IF NOT EXISTS] name [WITH] [SCHEMA s] [VERSION v] [CASCADE]
DROP EXTENSION IF EXISTS name [CASCADE | RESTRICT]
COMMENT ON EXTENSION name IS '..'
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position
from rewriter.statement import StoreUpkeep
from rewriter.syntax.token_reader import Parse, TokenReader

_WITHOUT_EFFECT = frozenset({"plpgsql", "uuid-ossp", "pgcrypto"})
"""Which say nothing about tables and their rows.

Every PostgreSQL has the first. The others are made for the sake of uuid_generate_v4() and
gen_random_uuid(), which are there; calls of their other functions are refused.
"""
_ADVICE = {
    "citext": "leave it out: declare the column VARCHAR COLLATE NOCASE",
}


def recognise_extension(tokens: list[Token], parse: Parse) -> StoreUpkeep | None:
    """The statement if it is about an extension without effect; None for another statement.

    Raises NOT_SUPPORTED for one that would bring functions, types or operators along.
    """
    reader = TokenReader(tokens, parse, 1)
    is_comment = tokens[0].text.upper() == "COMMENT" and reader.takes("ON")
    if not reader.takes("EXTENSION"):
        return None
    if tokens[0].text.upper() == "DROP":
        return _drop(reader)
    if not is_comment:
        reader.takes("IF", "NOT", "EXISTS")
    at = tokens[min(reader.place, len(tokens) - 1)]
    name = reader.word()
    if name.lower() not in _WITHOUT_EFFECT:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the extension {name} is not supported: its functions and types are not here",
            advice=_ADVICE.get(name.lower(), "leave it out, and what needs it"),
            position=token_position(at),
        )
    if is_comment:
        if not reader.takes("IS"):
            raise reader.error("IS and a text were expected")
        _ = reader.takes("NULL") or reader.text()
        reader.ends("nothing else stands behind the text")
        return StoreUpkeep("COMMENT")
    reader.takes("WITH")
    while reader.takes("CASCADE") or reader.takes("SCHEMA") or reader.takes("VERSION"):
        if tokens[reader.place - 1].text.upper() != "CASCADE":
            reader.word()
    reader.ends("SCHEMA, VERSION or CASCADE was expected")
    return StoreUpkeep("CREATE EXTENSION")


def _drop(reader: TokenReader) -> StoreUpkeep:
    """DROP EXTENSION of what is not here, as programs send it that undo what they have made."""
    exists = reader.takes("IF", "EXISTS")
    name = reader.word()
    if not exists or name.lower() in _WITHOUT_EFFECT:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the extension {name} cannot be dropped",
            advice="leave it out: only DROP EXTENSION IF EXISTS of one that is not here is taken",
        )
    _ = reader.takes("CASCADE") or reader.takes("RESTRICT")
    reader.ends("nothing else stands behind the name")
    return StoreUpkeep("DROP EXTENSION")
