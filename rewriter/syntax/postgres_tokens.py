r"""What PostgreSQL's scanner does with texts and names, by the tokens. Pure.

E'\xC3\xA4'    bytes that must be UTF-8; no text holds the null character
Name          is name; "Name" stays as it is
U&"d\0061ta"   is "data", with another sign behind UESCAPE
a name of more than 63 bytes is cut there, at the end of a character
"""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position
from rewriter.syntax.unicode_escapes import check_escapes, check_unicode_text, unicode_text

NAME_BYTES = 63
_CAPITALS = re.compile("[A-Z]+")
_AS_WRITTEN = frozenset(
    {
        *(kind for kind in TokenType if "STRING" in kind.name),
        *(TokenType.IDENTIFIER, TokenType.NUMBER),
    }
)
_ESCAPED = frozenset({TokenType.BYTE_STRING, TokenType.UNICODE_STRING})
_NAMES = frozenset({TokenType.IDENTIFIER, TokenType.VAR})
_BYTES = re.compile(r"((?:\\x[0-9a-fA-F]{1,2}|\\[0-7]{1,3})+)|\\.", re.S)
_BYTE = re.compile(r"\\x([0-9a-fA-F]{1,2})|\\([0-7]{1,3})")


def as_scanned(tokens: list[Token], text: str) -> list[Token]:
    """The tokens of a text with names cut, and in small letters where they have no quotes.

    Raises SYNTAX and ENCODING for texts with escapes that are no text.
    """
    tokens = _with_unicode_names(tokens)
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind in _ESCAPED:
            _check(token, text[token.start : token.end + 1], _sign(tokens, place))
        elif kind in _NAMES and len(token.text) * 4 > NAME_BYTES and _is_name(tokens, place):
            name = cut_name(token.text)
            if name != token.text:
                where = (token.line, token.col, token.start, token.end)
                tokens[place] = Token(kind, name, *where, token.comments)
        if kind not in _AS_WRITTEN and _is_name(tokens, place):
            _fold(tokens[place])
    return tokens


def _with_unicode_names(tokens: list[Token]) -> list[Token]:
    """The tokens with a name in quotes for each ``U&".."``, without the sign that follows it."""
    if all(token.token_type is not TokenType.AMP for token in tokens):
        return tokens
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        token, (sign, name) = tokens[place], _padded(tokens[place + 1 : place + 3])
        is_escaped = (
            token.text.upper() == "U"
            and token.token_type is TokenType.VAR
            and sign is not None
            and name is not None
            and sign.token_type is TokenType.AMP
            and name.token_type is TokenType.IDENTIFIER
            and (token.end + 1, sign.end + 1) == (sign.start, name.start)
        )
        if not is_escaped or name is None:
            found.append(token)
            place += 1
            continue
        position = token_position(token)
        text = unicode_text(name.text, _sign(tokens, place + 2), position)
        where = (token.line, token.col, token.start, name.end)
        found.append(Token(TokenType.IDENTIFIER, text, *where, name.comments))
        place += 3
        if [behind.text.upper() for behind in tokens[place : place + 1]] == ["UESCAPE"]:
            place += 2
    return found


def _padded(tokens: list[Token]) -> tuple[Token | None, Token | None]:
    first, second = [*tokens, None, None][:2]
    return first, second


def _fold(token: Token) -> None:
    """Put a word in small letters; those beyond ASCII stay, as in PostgreSQL under UTF-8."""
    if _CAPITALS.search(token.text) is not None:
        token.text = _CAPITALS.sub(lambda found: found[0].lower(), token.text)


def cut_name(name: str) -> str:
    """A name with as many bytes as PostgreSQL keeps of one."""
    return name.encode()[:NAME_BYTES].decode(errors="ignore")


def _is_name(tokens: list[Token], place: int) -> bool:
    """True unless a parameter is named: ``:name``, ``%(name)s``."""
    before = [token.text for token in tokens[max(place - 2, 0) : place]]
    return before[-1:] not in ([":"], ["$"], ["@"]) and before != ["%", "("]


def _sign(tokens: list[Token], place: int) -> str:
    """What stands before the digits of a character in a text of ``U&``."""
    behind = tokens[place + 1 : place + 3]
    is_given = len(behind) == 2 and behind[0].text.upper() == "UESCAPE"
    return behind[1].text if is_given else "\\"


def _check(token: Token, written: str, sign: str) -> None:
    position = token_position(token)
    if token.token_type is TokenType.UNICODE_STRING:
        check_unicode_text(written, sign, position)
        return
    check_escapes(written, position)
    for found in _BYTES.finditer(written):
        if found[1] is None:
            continue
        data = bytes(_value(*byte.groups()) for byte in _BYTE.finditer(found[1]))
        if 0 in data or not _is_text(data):
            shown = " ".join(f"0x{byte:02x}" for byte in data[:4])
            raise PalimpsestError(
                Code.ENCODING,
                f'invalid byte sequence for encoding "UTF8": {shown}',
                advice="write the bytes of UTF-8, or a bytea as '\\xff'::bytea",
                position=position,
            )


def _value(hexadecimal: str | None, octal: str) -> int:
    return int(hexadecimal, 16) if hexadecimal else int(octal, 8) % 256


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
