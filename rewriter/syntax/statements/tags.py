"""Tags of tables and columns, and their masks, recognised by their tokens.

ALTER TABLE [IF EXISTS] t [ALTER | MODIFY [COLUMN] c] SET TAG [=] (name, ..) | name
ALTER TABLE [IF EXISTS] t [ALTER | MODIFY [COLUMN] c] UNSET TAG [(name, ..) | name]
ALTER TAG name SET MASKING POLICY (expression) [FOR type]
ALTER TAG name DROP | UNSET MASKING POLICY [FOR type]
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from rewriter.statements.access import SetTagPolicy, SetTags
from rewriter.syntax.statements.table_policies import parenthesized
from rewriter.syntax.token_reader import Parse, TokenReader

_ADVICE = "see docs/roles.md for the form of the statement"
_VERBS = {("SET", "TAG"), ("UNSET", "TAG")}


def recognise_tags(tokens: list[Token], parse: Parse) -> SetTags | SetTagPolicy | None:
    """The statement if it sets or takes off tags, or the mask of one; else None."""
    words = [t.text.upper() for t in tokens]
    if words[1:2] == ["TAG"]:
        return _policy(TokenReader(tokens, parse, 2, _ADVICE))
    if words[1:2] != ["TABLE"] or not _VERBS & set(pairwise(words)):
        return None
    reader = TokenReader(tokens, parse, 2, _ADVICE)
    exists, table, column = reader.altered_place()
    adds = reader.takes("SET", "TAG")
    if not adds and not reader.takes("UNSET", "TAG"):
        return None
    reader.takes("=")
    tags = _names(reader, is_needed=adds)
    reader.ends("nothing else stands behind the tags")
    return SetTags(table, column, tags, adds, exists)


def _names(reader: TokenReader, *, is_needed: bool) -> tuple[str, ...]:
    if not is_needed and reader.place == len(reader.tokens):
        return ()
    in_parentheses = reader.takes("(")
    names = [reader.word()]
    while in_parentheses and reader.takes(","):
        names.append(reader.word())
    if in_parentheses and not reader.takes(")"):
        raise reader.error("a closing parenthesis was expected")
    return tuple(names)


def _policy(reader: TokenReader) -> SetTagPolicy:
    tag = reader.word()
    if reader.takes("SET", "MASKING", "POLICY"):
        return SetTagPolicy(tag, parenthesized(reader, {"FOR"}), _type(reader))
    for verb in ("DROP", "UNSET"):
        if reader.takes(verb, "MASKING", "POLICY"):
            return SetTagPolicy(tag, None, _type(reader))
    raise reader.error("SET MASKING POLICY (..) or DROP MASKING POLICY was expected")


def _type(reader: TokenReader) -> exp.DataType | None:
    found = reader.data_type() if reader.takes("FOR") else None
    reader.ends("nothing but FOR and a type stands here")
    return found
