"""ERASE FROM t WHERE .. [SCOPE KEY] [ON DEPENDENTS CASCADE] [REASON 'text'], by its tokens.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.dependents import read_dependents
from journal.model.errors import Code, PalimpsestError
from journal.model.suppression import read_suppression
from rewriter.name_resolution import token_position
from rewriter.statement import Erase

_MORE = "SCOPE, ON DEPENDENTS and REASON"


def recognise_erase(tokens: list[Token], parse: Callable[..., exp.Expr]) -> Erase:
    """The statement; without a condition it is refused."""
    words = [t.text.upper() for t in tokens]
    if words[1:2] != ["FROM"] or len(words) < 3:
        raise _syntax_error(tokens[-1], "ERASE needs FROM and a table")
    if "WHERE" not in words:
        raise _syntax_error(tokens[-1], "ERASE needs a condition: WHERE .., or WHERE TRUE for all")
    where = words.index("WHERE")
    end, reason = len(tokens), None
    if words[-2:-1] == ["REASON"] and tokens[-1].token_type is TokenType.STRING:
        end, reason = end - 2, tokens[-1].text
    dependents = None
    if words[end - 3 : end - 1] == ["ON", "DEPENDENTS"]:
        end, dependents = end - 3, read_dependents(tokens[end - 1].text)
    suppression = None
    if words[end - 2 : end - 1] == ["SCOPE"] and end - 2 > where:
        end, suppression = end - 2, read_suppression(tokens[end - 1].text)
    if end == where + 1:
        raise _syntax_error(tokens[-1], "WHERE needs a condition")
    like = tokens[where]
    select = Token(TokenType.SELECT, "SELECT", like.line, like.col, like.start, like.end)
    star = Token(TokenType.STAR, "*", like.line, like.col, like.start, like.end)
    query = parse([select, star, *tokens[1:end]])
    table = query.args["from_"].this
    if not isinstance(table, exp.Table) or _has_argument(table, "this", "db", "catalog", "alias"):
        raise _syntax_error(tokens[2], "ERASE FROM needs one table")
    # A LIMIT, or whatever else a query may have, would erase other rows than it seems to.
    if _has_argument(query, "expressions", "from_", "where"):
        raise _syntax_error(tokens[where], f"ERASE takes nothing behind its condition but {_MORE}")
    return Erase(table, query.args["where"].this, reason, dependents, suppression)


def _has_argument(node: exp.Expr, *known: str) -> bool:
    return any(value for name, value in node.args.items() if name not in known)


def _syntax_error(token: Token, message: str) -> PalimpsestError:
    position = token_position(token)
    return PalimpsestError(
        Code.SYNTAX, message, advice="ERASE FROM t WHERE k = 1", position=position
    )
