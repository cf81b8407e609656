"""COMMENT ON what sqlglot knows no comments of, recognised by its tokens.

COMMENT ON SEQUENCE | TYPE | DOMAIN | SCHEMA | MACRO [TABLE] | FUNCTION | MATERIALIZED VIEW name
  IS text | NULL
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
    return SqlStatement(exp.Comment(this=name, kind=kind, expression=said, exists=exists))
