"""COMMENT ON what sqlglot knows no comments of, recognised by its tokens.

COMMENT ON SEQUENCE | TYPE | DOMAIN | SCHEMA | MACRO [TABLE] | FUNCTION | MATERIALIZED VIEW name
  IS text | NULL
COMMENT ON CONSTRAINT name ON table IS text | NULL
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from rewriter.statement import SqlStatement
from rewriter.syntax.token_reader import Parse, TokenReader

_KINDS = {
    ("SEQUENCE",): "SEQUENCE",
    ("TYPE",): "TYPE",
    ("DOMAIN",): "TYPE",
    ("SCHEMA",): "SCHEMA",
    ("MACRO", "TABLE"): "MACRO",
    ("MACRO",): "MACRO",
    ("FUNCTION",): "MACRO",
    ("MATERIALIZED", "VIEW"): "VIEW",
    ("CONSTRAINT",): "CONSTRAINT",
}


def recognise_comment(tokens: list[Token], parse: Parse) -> SqlStatement | None:
    """The statement if it is about one of these kinds, else None."""
    reader = TokenReader(tokens, parse, 1)
    if not reader.takes("ON"):
        return None
    kind = next((kind for words, kind in _KINDS.items() if reader.takes(*words)), None)
    if kind is None:
        return None
    exists = reader.takes("IF", "EXISTS")
    of = reader.word() if kind == "CONSTRAINT" else None
    if of is not None and not reader.takes("ON"):
        raise reader.error("ON and the table were expected")
    name = reader.name()
    if kind == "MACRO" and reader.takes("("):
        # The types of the arguments, which tell PostgreSQL one function from another.
        while not reader.takes(")"):
            reader.part({","})
            _ = reader.takes(",")
    if not reader.takes("IS"):
        raise reader.error("IS and a text were expected")
    text = "" if reader.takes("NULL") else reader.text()
    reader.ends("nothing else stands behind the text")
    said = exp.Literal.string(text)
    found = exp.Comment(this=name, kind=kind, expression=said, exists=exists)
    found.set("constraint", of)
    return SqlStatement(found)
