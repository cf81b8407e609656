"""Spellings of CREATE TEMPORARY TABLE that sqlglot does not know: LOCAL, and ON COMMIT DROP.

LOCAL says nothing, since there is no other kind; what ON COMMIT DROP says becomes a property of the
table that is created. Pure.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.schema import DROP, ON_COMMIT

_TEMPORARY = frozenset({"TEMP", "TEMPORARY"})
_DROP = ["ON", "COMMIT", "DROP"]


def without_on_commit(tokens: list[Token]) -> tuple[list[Token], bool]:
    """The tokens that sqlglot can parse, and whether they lost an ON COMMIT DROP."""
    if tokens[0].text.upper() != "CREATE":
        return tokens, False
    words = [token.text.upper() for token in tokens]
    if _TEMPORARY.isdisjoint(words[1:5]):
        return tokens, False
    kept = list(tokens)
    drops = next((i for i in range(len(words)) if words[i : i + 3] == _DROP), None)
    if drops is not None:
        del kept[drops : drops + 3]
    if words[1] == "LOCAL":
        del kept[1]
    return kept, drops is not None


def set_on_commit(ast: exp.Expr) -> exp.Expr:
    """Set the removed ON COMMIT as a property."""
    properties = ast.args.get("properties")
    if isinstance(ast, exp.Create) and properties is not None:
        name, value = exp.Literal.string(ON_COMMIT), exp.Literal.string(DROP)
        properties.append("expressions", exp.Property(this=name, value=value))
    return ast
