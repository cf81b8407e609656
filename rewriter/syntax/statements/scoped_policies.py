"""Policies of schemas and of the whole database, recognised by their tokens. Pure.

ALTER SCHEMA [IF EXISTS] s SET POLICY (RETENTION = 90 DAYS ON COLUMN ds, HISTORY = 7 YEARS)
ALTER DATABASE | WAREHOUSE [name] SET POLICY (..)
.. UNSET POLICY [(RETENTION, ..)]
ALTER TABLE t ALTER [COLUMN] c SET POLICY (..)      refused: a column has masks and tags
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.policy_scope import ScopeKind
from rewriter.name_resolution import token_position
from rewriter.statements.scoped_policies import SetScopedPolicy
from rewriter.syntax.statements.properties import properties_action
from rewriter.syntax.token_reader import Parse, TokenReader

_ADVICE = "see docs/jobs.md for the form of the statement"
_KINDS = {
    "SCHEMA": ScopeKind.SCHEMA,
    "DATABASE": ScopeKind.DATABASE,
    "WAREHOUSE": ScopeKind.DATABASE,
}
_COLUMN_WORDS = frozenset({"ALTER", "MODIFY"})
_VERBS = frozenset({("SET", "POLICY"), ("UNSET", "POLICY")})


def recognise_scoped_policy(tokens: list[Token], parse: Parse) -> SetScopedPolicy | None:
    """The statement if it changes the policy of a schema or the database, else None.

    Raises NOT_SUPPORTED for the policy of a column, which nothing would obey.
    """
    words = [t.text.upper() for t in tokens]
    if not _VERBS & set(pairwise(words)):
        return None
    if words[1:2] == ["TABLE"]:
        _refuse_column(tokens, words)
        return None
    kind = _KINDS.get(words[1])
    if kind is None:
        return None
    reader = TokenReader(tokens, parse, 2, _ADVICE)
    exists = kind is ScopeKind.SCHEMA and reader.takes("IF", "EXISTS")
    is_named = kind is ScopeKind.SCHEMA or words[2] not in {"SET", "UNSET"}
    name = reader.name() if is_named else None
    action = properties_action(tokens[reader.place :])
    if action is None or words[reader.place + 1] != "POLICY":
        raise reader.error("SET POLICY (..) or UNSET POLICY was expected")
    return SetScopedPolicy(kind, name, action, exists)


def _refuse_column(tokens: list[Token], words: list[str]) -> None:
    verb = next(i for i, pair in enumerate(pairwise(words)) if pair in _VERBS)
    if _COLUMN_WORDS & set(words[2:verb]) and "," not in words[2:verb]:
        at = tokens[verb + 1]
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "a column has no POLICY of its own: rows go as a whole",
            advice="set the policy on the table, or SET MASKING POLICY (..) or SET TAG on the"
            " column",
            position=token_position(at),
        )
