"""CREATE RECURSIVE VIEW, which SQL defines by an ordinary view: that of WITH RECURSIVE. Pure."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position


def spell_out_recursive_view(tokens: list[Token]) -> list[Token]:
    """``CREATE RECURSIVE VIEW v (a) AS q`` as the view of a query whose CTE is called ``v``.

    Other tokens as they are. Raises SYNTAX for a view that does not name its columns.
    """
    words = [token.text.upper() for token in tokens[:6]]
    view = words.index("VIEW") if "VIEW" in words else 0
    if words[0] != "CREATE" or "RECURSIVE" not in words[:view]:
        # One behind the name belongs to the query: CREATE VIEW v AS WITH RECURSIVE ..
        return tokens
    kinds = [token.token_type for token in tokens]
    begin = kinds.index(TokenType.L_PAREN) if TokenType.L_PAREN in kinds else 0
    end = kinds.index(TokenType.R_PAREN) if TokenType.R_PAREN in kinds else 0
    if kinds[end + 1 : end + 2] != [TokenType.ALIAS] or begin > end:
        first = tokens[view]
        raise PalimpsestError(
            Code.SYNTAX,
            "a recursive view names its columns",
            advice="write CREATE RECURSIVE VIEW v (a, b) AS SELECT ..",
            position=token_position(first),
        )
    columns, query = tokens[begin : end + 1], tokens[end + 2 :]
    name, last = tokens[begin - 1], tokens[-1]

    def word(kind: TokenType, text: str) -> Token:
        return Token(kind, text, last.line, last.col, last.start, last.end)

    return [
        *(token for token in tokens[:view] if token.text.upper() != "RECURSIVE"),
        *tokens[view : end + 2],
        *(word(TokenType.WITH, "WITH"), word(TokenType.RECURSIVE, "RECURSIVE"), name, *columns),
        *(word(TokenType.ALIAS, "AS"), word(TokenType.L_PAREN, "("), *query),
        *(word(TokenType.R_PAREN, ")"), word(TokenType.SELECT, "SELECT"), *columns[1:-1]),
        *(word(TokenType.FROM, "FROM"), name),
    ]
