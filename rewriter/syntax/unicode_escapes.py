r"""Escapes of characters in texts, by PostgreSQL's rules. Pure.

E'\u00e4', E'\U0001F600'        four and eight digits
U&'\00E4\+01F600'               four and six digits, behind another sign with UESCAPE '!'
E'\ud83d\ude00'                 two halves of a pair that belong together
"""

from __future__ import annotations

import re

from journal.model.errors import Code, PalimpsestError, Position

_OF_E = re.compile(r"\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|([uU])|.)|.", re.S)
_OF_UNISTR = re.compile(
    r"\\(?:([\da-f]{4})|\+([\da-f]{6})|u([\da-f]{4})|U([\da-f]{8})|(\\)|())|.", re.I | re.S
)
_NO_SIGN = re.compile(r"[\da-f+'\"\s]", re.I)
_LAST = 0x10FFFF


def check_escapes(text: str, position: Position) -> None:
    """Raise SYNTAX for escapes in a text ``E'..'`` that stand for no characters."""
    found: list[int | None] = []
    for match in _OF_E.finditer(text):
        if match[3] is not None:
            raise _refusal("invalid Unicode escape", position)
        digits = match[1] or match[2]
        found.append(None if digits is None else int(digits, 16))
    _check_values(found, position)


def check_unicode_text(text: str, sign: str, position: Position) -> None:
    """Raise SYNTAX for escapes in a text ``U&'..' UESCAPE 'sign'`` that stand for no characters."""
    unicode_text(text, sign, position)


def unicode_text(text: str, sign: str, position: Position) -> str:
    """What the escapes of a text or name behind ``U&`` stand for; raises SYNTAX likewise."""
    if len(sign) != 1 or _NO_SIGN.fullmatch(sign):
        raise _refusal("invalid Unicode escape character", position)
    mark = re.escape(sign)
    escape = rf"{mark}(?:([\da-f]{{4}})|\+([\da-f]{{6}})|({mark})|())|."
    values: list[int | None] = []
    found: list[str] = []
    for match in re.finditer(escape, text, re.I | re.S):
        if match[4] is not None:
            raise _refusal("invalid Unicode escape", position)
        digits = match[1] or match[2]
        value = None if digits is None else int(digits, 16)
        values.append(value)
        found.append((match[3] or match[0]) if value is None else _character(value))
    _check_values(values, position)
    return _with_pairs(found)


def unescaped(text: str, position: Position | None) -> str:
    """A text ``d\\0061ta`` with the characters that its escapes stand for; raises SYNTAX."""
    found: list[str] = []
    values: list[int | None] = []
    for match in _OF_UNISTR.finditer(text):
        if match[6] is not None:
            raise _refusal("invalid Unicode escape", position)
        digits = next((digits for digits in match.groups()[:4] if digits is not None), None)
        values.append(None if digits is None else int(digits, 16))
        found.append(match[5] or (match[0] if digits is None else chr(int(digits, 16))))
    _check_values(values, position)
    return _with_pairs(found)


def _character(value: int) -> str:
    """The character of a number; that of none for what ``_check_values`` refuses."""
    return chr(value) if value <= _LAST else ""


def _with_pairs(found: list[str]) -> str:
    """Two halves of a pair are one character."""
    return "".join(found).encode("utf-16", "surrogatepass").decode("utf-16")


def _check_values(values: list[int | None], position: Position | None) -> None:
    """Raise for numbers of no character; None is a character that is written as it is."""
    is_open = False
    for value in values:
        is_second = value is not None and 0xDC00 <= value <= 0xDFFF
        if is_open is not is_second:
            raise _refusal("invalid Unicode surrogate pair", position)
        is_open = value is not None and 0xD800 <= value <= 0xDBFF
        if value is not None and (value > _LAST or value == 0):
            raise _refusal("invalid Unicode escape value", position)
    if is_open:
        raise _refusal("invalid Unicode surrogate pair", position)


def _refusal(why: str, position: Position | None) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        why,
        advice=r"write \uXXXX or \UXXXXXXXX behind E, \XXXX or \+XXXXXX behind U&",
        position=position,
    )
