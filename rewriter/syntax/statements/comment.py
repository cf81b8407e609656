"""COMMENT ON what sqlglot knows no comments of, recognised by its tokens.

COMMENT ON SEQUENCE | TYPE | DOMAIN | SCHEMA | DATABASE | ROLE | MACRO [TABLE] | FUNCTION
  | MATERIALIZED VIEW name IS text | NULL
COMMENT ON CONSTRAINT | POLICY | TRIGGER name ON table IS text | NULL
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position
from rewriter.statement import SqlStatement
from rewriter.syntax.token_reader import Parse, TokenReader

_KINDS = {
    ("SEQUENCE",): "SEQUENCE",
    ("TYPE",): "TYPE",
    ("DOMAIN",): "TYPE",
    ("SCHEMA",): "SCHEMA",
    ("DATABASE",): "DATABASE",
    ("ROLE",): "ROLE",
    ("MACRO", "TABLE"): "MACRO",
    ("MACRO",): "MACRO",
    ("FUNCTION",): "MACRO",
    ("MATERIALIZED", "VIEW"): "VIEW",
    ("CONSTRAINT",): "CONSTRAINT",
    ("POLICY",): "POLICY",
    ("TRIGGER",): "TRIGGER",
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
    of = reader.word() if kind in {"CONSTRAINT", "POLICY"} else None
    of = reader.identifier().name if kind == "TRIGGER" else of
    if of is not None and not reader.takes("ON"):
        raise reader.error("ON and the table were expected")
    if kind == "CONSTRAINT" and reader.takes("DOMAIN"):
        raise _of_domain(reader)
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


def _of_domain(reader: TokenReader) -> PalimpsestError:
    at = reader.tokens[reader.place - 1]
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        "COMMENT ON CONSTRAINT of a domain is not supported",
        advice="comment on the domain",
        position=token_position(at),
    )
