"""Prepares the tokens of DuckDB's and PostgreSQL's SQL for sqlglot; runs nothing.

sqlglot reads to translate: it settles units and paths that are known only when a statement runs,
drops arguments that other engines do not have, and takes some names for types. Its parsers cannot
be derived from, so the tokens are put into a form that leaves one reading. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError, Position
from journal.model.plan import USER_PARAMETER

_PLAIN_PATH = re.compile(r"\w+|\$(\.\w+|\[\d+\])*")
_SUM = re.compile(r"([\d.]+[eE]\d+)([+-])([\d.]+)")
_ONE_AMOUNT = re.compile(r"\s*-?\d+(\.\d+)?\s*[a-zA-Z]*\s*")
_TYPED = frozenset(
    {
        *("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
        *("TIMESTAMP_US", "DATETIME", "TIME", "TIMETZ", "TIME_NS", "ZONE"),
    }
)
_MARK = exp.SQLGLOT_ANONYMOUS
_PART = "palimpsest_date_part"
"""What ``date_part`` is called while sqlglot reads it, which has one node for it and EXTRACT."""
_LITERALS = frozenset({TokenType.STRING, TokenType.NUMBER})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING})
_QUOTED = frozenset({*(kind for kind in TokenType if "STRING" in kind.name), TokenType.IDENTIFIER})
_OPEN = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSE = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})


class ReadDuckDB(DuckDB):
    """sqlglot's DuckDB, but for JSON paths that it reads otherwise: these stay texts."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """The path as sqlglot knows it, or as it was written."""
        if path is not None and path.is_string and _PLAIN_PATH.fullmatch(path.name) is None:
            return path
        return super().to_json_path(path)


def readable(tokens: list[Token], dialect: str) -> list[Token]:
    """The tokens of a statement in the form that is read as what they say.

    Only DuckDB's and PostgreSQL's are changed; what came in is returned where nothing is.
    """
    changes = _CHANGES.get(dialect)
    if changes is None:
        return tokens
    found = [
        (index, change)
        for index, token in enumerate(tokens)
        if (change := changes.get(token.token_type) or changes.get(_word(token)))
    ]
    if not found:
        return tokens
    result = list(tokens)
    # From behind, so that what is put in moves nothing that is still to be looked at.
    for index, change in reversed(found):
        change(result, index)
    return result


def _word(token: Token) -> str:
    """A token's text in capitals; nothing of a text and of a name in quotes, which are no words."""
    return "" if token.token_type in _QUOTED else token.text.upper()


def unmarked(ast: exp.Expr) -> exp.Expr:
    """What was parsed, without the marks that ``readable`` has put in."""
    # The mark of a call with an alias is the alias's.
    for node in ast.walk():
        if node.comments is not None:
            node.comments = [comment for comment in node.comments if comment != _MARK] or None
        if isinstance(node, exp.Anonymous) and node.name == _PART:
            node.set("this", "date_part")
    return ast


Change = Callable[[list[Token], int], None]


def _kind(tokens: list[Token], index: int) -> TokenType | None:
    return tokens[index].token_type if 0 <= index < len(tokens) else None


def _token_like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


def _arguments(tokens: list[Token], index: int) -> list[list[Token]]:
    """The arguments of the call whose name stands at ``index``; none without parentheses."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[index + 1 :]:
        if token.token_type in _CLOSE:
            depth -= 1
            if depth == 0:
                return found if found != [[]] else []
        if depth == 1 and token.token_type is TokenType.COMMA:
            found.append([])
        elif depth > 0:
            found[-1].append(token)
        if token.token_type in _OPEN:
            depth += 1
        if depth == 0:
            break
    return []


def _end_of_bracket(tokens: list[Token], index: int) -> int:
    """Index behind the bracket that closes the one at ``index``."""
    depth = 0
    for place in range(index, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind in _OPEN) - (kind in _CLOSE)
        if depth == 0:
            return place + 1
    return len(tokens)


def _enclose(tokens: list[Token], start: int, end: int) -> None:
    tokens.insert(end, _token_like(tokens[end - 1], TokenType.R_PAREN, ")"))
    tokens.insert(start, _token_like(tokens[start], TokenType.L_PAREN, "("))


def _keep_call(tokens: list[Token], index: int) -> None:
    """Mark a call so that it is read as one of a function that sqlglot does not know."""
    if _kind(tokens, index + 1) is TokenType.L_PAREN:
        place = _end_of_bracket(tokens, index + 1) - 1
        close = tokens[place]
        tokens[place] = Token(
            close.token_type, close.text, close.line, close.col, close.start, close.end, [_MARK]
        )


def _keep_part(tokens: list[Token], index: int) -> None:
    """``date_part(unit, t)`` is a function: its unit may be computed, and t a date."""
    if _kind(tokens, index + 1) is TokenType.L_PAREN:
        tokens[index] = _token_like(tokens[index], TokenType.VAR, _PART)


def _apply(tokens: list[Token], index: int) -> None:
    """``apply(l, f)`` is a function; sqlglot has the word for CROSS APPLY."""
    before = tokens[index - 1].text.upper() if index else ""
    if _kind(tokens, index + 1) is TokenType.L_PAREN and before not in {"CROSS", "OUTER"}:
        tokens[index] = _token_like(tokens[index], TokenType.VAR, tokens[index].text)
        _keep_call(tokens, index)


def _keep_computed_unit(tokens: list[Token], index: int) -> None:
    """A unit that is no literal is known only when the statement runs; texts may be instants."""
    unit, *rest = _arguments(tokens, index) or [[]]
    literal = len(unit) == 1 and unit[0].token_type is TokenType.STRING
    if not literal or any(len(a) == 1 and a[0].token_type is TokenType.STRING for a in rest):
        _keep_call(tokens, index)


def _keep_longer(count: int) -> Change:
    def change(tokens: list[Token], index: int) -> None:
        """Of more arguments sqlglot would drop some."""
        if len(_arguments(tokens, index)) > count:
            _keep_call(tokens, index)

    return change


def _keep_unnamed(tokens: list[Token], index: int) -> None:
    """Fields that are not named by ``:=`` are named by the store."""
    arguments = _arguments(tokens, index)
    if any(_kind(argument, 1) is not TokenType.COLON_EQ for argument in arguments):
        _keep_call(tokens, index)


def _name(tokens: list[Token], index: int) -> None:
    """``range < 5`` compares a column; a type has its fields in parentheses."""
    if _kind(tokens, index + 1) is TokenType.LT:
        tokens[index] = _token_like(tokens[index], TokenType.VAR, tokens[index].text)


def _cast(tokens: list[Token], index: int) -> None:
    """``DATE '..' :: t`` casts the date, not its text."""
    typed = index >= 2 and tokens[index - 2].text.upper() in _TYPED
    if typed and _kind(tokens, index - 1) is TokenType.STRING:
        start = index - 2
        if tokens[start].text.upper() == "ZONE":
            start -= 3
        if start >= 0 and _kind(tokens, start - 1) is not TokenType.ALIAS:
            _enclose(tokens, start, index)


def _interval(tokens: list[Token], index: int) -> None:
    """A text of more than amount and unit stays whole; what is added to an interval is none."""
    operand = _kind(tokens, index + 1)
    if operand is None or _kind(tokens, index - 1) is TokenType.DCOLON:
        return
    end = _end_of_bracket(tokens, index + 1) if operand in _OPEN else index + 2
    unit = end < len(tokens) and tokens[end].text.upper() in DuckDB.VALID_INTERVAL_UNITS
    if operand is TokenType.STRING and not unit:
        text = tokens[index + 1]
        if _ONE_AMOUNT.fullmatch(text.text) is None:
            tokens[index : index + 2] = [
                _token_like(text, TokenType.VAR, "CAST"),
                _token_like(text, TokenType.L_PAREN, "("),
                text,
                _token_like(text, TokenType.ALIAS, "AS"),
                _token_like(text, TokenType.INTERVAL, "INTERVAL"),
                _token_like(text, TokenType.R_PAREN, ")"),
            ]
            return
    end += bool(unit)
    if _kind(tokens, end) is TokenType.PLUS and _kind(tokens, end + 1) in _LITERALS:
        _enclose(tokens, index, end)


def _arrow(tokens: list[Token], index: int) -> None:
    """``f(j -> 'a')`` looks into JSON: no lambda has a text or a number right behind it."""
    before = _kind(tokens, index - 2)
    begins = before is TokenType.L_PAREN or before is TokenType.COMMA
    if begins and _kind(tokens, index - 1) in _NAMES and _kind(tokens, index + 1) in _LITERALS:
        _enclose(tokens, index - 1, index + 2)


def _slice(tokens: list[Token], index: int) -> None:
    """``a[:n]`` and ``a[:n:2]`` end at column n; sqlglot would take ``:n`` for a parameter.

    A step that is negative begins at the other end, and is left as it is.
    """
    if _kind(tokens, index + 1) is not TokenType.COLON:
        return
    inside = tokens[index + 1 : _end_of_bracket(tokens, index)]
    colons = [place for place, t in enumerate(inside) if t.token_type is TokenType.COLON]
    goes_back = len(colons) == 2 and _kind(inside, colons[1] + 1) is TokenType.DASH
    if len(colons) <= 2 and not goes_back:
        if _kind(tokens, index + 2) in (TokenType.VAR, TokenType.IDENTIFIER):
            tokens.insert(index + 1, _token_like(tokens[index], TokenType.NUMBER, "1"))


def _slice_in_postgres(tokens: list[Token], index: int) -> None:
    """The same, where a client's parameter is spelled ``:n`` as well, and known by its name."""
    if not (index + 2 < len(tokens) and tokens[index + 2].text.startswith(USER_PARAMETER)):
        _slice(tokens, index)


def _in_list(tokens: list[Token], index: int) -> None:
    """``x IN [..]`` asks whether a list has x, and is never NULL for a NULL in it."""
    place = index + 1
    if _kind(tokens, place) is TokenType.L_BRACKET:
        close = _end_of_bracket(tokens, place) - 1
        tokens[close] = _token_like(tokens[close], TokenType.R_PAREN, ")")
        tokens[place : place + 1] = [
            _token_like(tokens[place], TokenType.VAR, "list_value"),
            _token_like(tokens[place], TokenType.L_PAREN, "("),
        ]


def _row(tokens: list[Token], index: int) -> None:
    """``ROW(a, 1)`` is a value; a type names its fields."""
    if _kind(tokens, index + 3) in (TokenType.COMMA, TokenType.R_PAREN):
        tokens[index] = _token_like(tokens[index], TokenType.VAR, tokens[index].text)


def _empty_map(tokens: list[Token], index: int) -> None:
    """``MAP {}`` as ``MAP([], [])``; what sqlglot writes for the first under a cast is no SQL."""
    if [_kind(tokens, index + n) for n in (1, 2)] != [TokenType.L_BRACE, TokenType.R_BRACE]:
        return
    opened, closed = tokens[index + 1 : index + 3]
    empty = [
        _token_like(opened, TokenType.L_BRACKET, "["),
        _token_like(closed, TokenType.R_BRACKET, "]"),
    ]
    tokens[index + 1 : index + 3] = [
        _token_like(opened, TokenType.L_PAREN, "("),
        *(*empty, _token_like(closed, TokenType.COMMA, ","), *empty),
        _token_like(closed, TokenType.R_PAREN, ")"),
    ]


def _refuse_state(tokens: list[Token], index: int) -> None:
    """``sum(x) EXPORT_STATE`` is no alias."""
    if _kind(tokens, index - 1) is TokenType.R_PAREN:
        token = tokens[index]
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "EXPORT_STATE is not supported",
            advice="aggregate the rows themselves; write AS before an alias of that name",
            position=Position(token.line, max(1, token.col - len(token.text) + 1)),
        )


def _number(tokens: list[Token], index: int) -> None:
    """``1e3-1e2`` is a difference; the tokenizer takes ``1e3-1`` for a number and e2 for a name."""
    token = tokens[index]
    sum_ = _SUM.fullmatch(token.text)
    if sum_ is None:
        return
    first, sign, rest = sum_.groups()
    last = tokens[index + 1] if index + 1 < len(tokens) else token
    width = 1
    if last.start == token.end + 1 and last.token_type is TokenType.VAR:
        rest, width = rest + last.text, 2
    tokens[index : index + width] = [
        _token_like(token, TokenType.NUMBER, first),
        _token_like(token, TokenType.PLUS if sign == "+" else TokenType.DASH, sign),
        _token_like(token, TokenType.NUMBER, rest),
    ]


def _element(tokens: list[Token], index: int) -> None:
    """``f(j -> 'a')`` as ``f(((j)) -> 'a')``: PostgreSQL has no lambdas, which this looks like."""
    if _kind(tokens, index - 2) in {TokenType.L_PAREN, TokenType.COMMA}:
        name = tokens[index - 1]
        opening = [_token_like(name, TokenType.L_PAREN, "(") for _ in range(2)]
        closing = [_token_like(name, TokenType.R_PAREN, ")") for _ in range(2)]
        tokens[index - 1 : index] = [*opening, name, *closing]


def _whole_number(tokens: list[Token], index: int) -> None:
    """``123abc`` is no alias; raises SYNTAX for it, as PostgreSQL does."""
    _number(tokens, index)
    token = tokens[index]
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    is_name = following is not None and following.text[:1].isidentifier()
    if is_name and following is not None and following.start == token.end + 1:
        raise PalimpsestError(
            Code.SYNTAX,
            f'trailing junk after numeric literal at or near "{token.text}{following.text}"',
            advice="write a space, or AS, between the number and its name",
            position=Position(token.line, max(1, token.col - len(token.text) + 1)),
        )


def _remainder(tokens: list[Token], index: int) -> None:
    """``LIMIT 5 % 3`` is a remainder, ``LIMIT 5 %`` a share, for which sqlglot takes both."""
    if [_kind(tokens, index + n) for n in (1, 2)] != [TokenType.NUMBER, TokenType.MOD]:
        return
    operand = _kind(tokens, index + 3)
    if operand in _LITERALS or operand is TokenType.L_PAREN:
        end = _end_of_bracket(tokens, index + 3) if operand in _OPEN else index + 4
        _enclose(tokens, index + 1, end)


def _no_share(tokens: list[Token], index: int) -> None:
    """The same in PostgreSQL, which has no shares; raises SYNTAX for them."""
    _remainder(tokens, index)
    sign = tokens[index + 2] if index + 2 < len(tokens) else tokens[index]
    if sign.token_type is TokenType.MOD or sign.text.upper() == "PERCENT":
        raise PalimpsestError(
            Code.SYNTAX,
            f'syntax error at or near "{sign.text}"',
            advice="write LIMIT and a number of rows",
            position=Position(sign.line, max(1, sign.col - len(sign.text) + 1)),
        )


_IN_BOTH: dict[TokenType | str, Change] = {
    TokenType.NUMBER: _number,
    TokenType.DCOLON: _cast,
    TokenType.INTERVAL: _interval,
    "DATE_TRUNC": _keep_computed_unit,
}
_IN_DUCKDB: dict[TokenType | str, Change] = {
    **_IN_BOTH,
    TokenType.ARROW: _arrow,
    TokenType.L_BRACKET: _slice,
    TokenType.IN: _in_list,
    TokenType.LIMIT: _remainder,
    **dict.fromkeys(
        ("ARRAY_REVERSE_SORT", "ARRAY_SORT", "LIST_REVERSE_SORT", "LIST_SORT"), _keep_call
    ),
    "APPLY": _apply,
    **dict.fromkeys(("APPROX_TOP_K", "LOG10", "LOG2", "REDUCE", "UNICODE"), _keep_call),
    **dict.fromkeys(("DATETRUNC", "DATE_DIFF", "DATEDIFF"), _keep_computed_unit),
    **dict.fromkeys(("DECODE", "ENCODE"), _keep_longer(1)),
    **dict.fromkeys(("JARO_WINKLER_SIMILARITY", "TIME_BUCKET"), _keep_longer(2)),
    "EXPORT_STATE": _refuse_state,
    "MAP": _empty_map,
    "STRUCT_PACK": _keep_unnamed,
    "RANGE": _name,
    "LIST": _name,
    "ROW": _row,
}
_IN_POSTGRES: dict[TokenType | str, Change] = {
    **_IN_BOTH,
    TokenType.ARROW: _element,
    TokenType.L_BRACKET: _slice_in_postgres,
    TokenType.LIMIT: _no_share,
    TokenType.NUMBER: _whole_number,
    "DATE_BIN": _keep_call,
    "DATE_PART": _keep_part,
    # CURRENT_TIMESTAMP has a name and a text of its own.
    "NOW": _keep_call,
    # Of others the template would be translated, in its quotes as well.
    **dict.fromkeys(("TO_CHAR", "TO_DATE", "TO_TIMESTAMP"), _keep_longer(1)),
}
_CHANGES = {"duckdb": _IN_DUCKDB, "postgres": _IN_POSTGRES}
