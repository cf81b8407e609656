"""Policies on rows and columns, recognised by their tokens.

ALTER TABLE [IF EXISTS] t SET ROW POLICY (condition)
ALTER TABLE [IF EXISTS] t DROP | UNSET ROW POLICY
ALTER TABLE [IF EXISTS] t ALTER | MODIFY [COLUMN] c SET MASKING POLICY (expression)
ALTER TABLE [IF EXISTS] t ALTER | MODIFY [COLUMN] c DROP | UNSET MASKING POLICY
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from rewriter.statements.access import SetTablePolicy
from rewriter.syntax.token_reader import Parse, TokenReader

_ADVICE = "see docs/roles.md for the form of the statement"


def recognise_table_policy(tokens: list[Token], parse: Parse) -> SetTablePolicy | None:
    """The statement if it sets or drops a policy on rows or a column, else None."""
    words = [t.text.upper() for t in tokens]
    pairs = set(pairwise(words))
    if words[1:2] != ["TABLE"] or not pairs & {("ROW", "POLICY"), ("MASKING", "POLICY")}:
        return None
    reader = TokenReader(tokens, parse, 2, _ADVICE)
    exists, table, column = reader.altered_place()
    what = "ROW" if column is None else "MASKING"
    if reader.takes("SET", what, "POLICY"):
        return SetTablePolicy(table, column, parenthesized(reader), exists)
    if not (reader.takes("DROP", what, "POLICY") or reader.takes("UNSET", what, "POLICY")):
        raise reader.error(f"SET {what} POLICY (..) or DROP {what} POLICY was expected")
    reader.ends("nothing else stands behind POLICY")
    return SetTablePolicy(table, column, None, exists)


def parenthesized(reader: TokenReader, ends: Collection[str] = ()) -> exp.Expr:
    """The expression in parentheses up to one of some words, or to the end, without them."""
    if not reader.takes("("):
        raise reader.error("an expression in parentheses was expected")
    reader.place -= 1
    return reader.value(ends).unnest()
