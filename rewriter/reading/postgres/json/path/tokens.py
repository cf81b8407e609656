"""The tokens of a path of SQL/JSON, as PostgreSQL 15 reads them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from journal.model.lazy_dataclass import dataclass

_BLANK = re.compile(r"(?:[ \t\n\r\f]+|/\*.*?\*/)+", re.S)
_NUMBER = re.compile(r"(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NAME = re.compile(r"""(?:[^?%$.\[\]{}()|&!=<>@#,*:\-+/\\" \t\n\r\f]|\\(?:.|$))+""", re.S)
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
_SIGN = re.compile(r"&&|\|\||\*\*|==|<>|!=|<=|>=|[?%$.\[\]{}()!<>@,*\-+/]")
_ESCAPE = re.compile(
    r"((?:\\u(?:[0-9a-fA-F]{4}|\{[0-9a-fA-F]{1,6}\}))+)|\\x([0-9a-fA-F]{2})|\\(.|$)", re.S
)
_UNIT = re.compile(r"\\u\{?([0-9a-fA-F]+)\}?")
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SHOWN = 20


class PathError(Exception):
    """A text that is no path; the message says where it ends to be one."""


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is sign, number, text, name, variable or end; ``text`` is without quotes."""

    kind: str
    text: str
    at: int


def tokens_of(path: str) -> Iterator[Token]:
    """The tokens, of which the last is the end; raises PathError."""
    at = 0
    while True:
        blank = _BLANK.match(path, at)
        at = blank.end() if blank else at
        if at == len(path):
            yield Token("end", "", at)
            return
        kind, text, end = _token(path, at)
        yield Token(kind, text, at)
        at = end


def _token(path: str, at: int) -> tuple[str, str, int]:
    if path[at] == "$":
        quoted, name = _TEXT.match(path, at + 1), _NAME.match(path, at + 1)
        if quoted is not None:
            return "variable", _unescaped(quoted[1], path, at), quoted.end()
        if name is not None:
            return "variable", _unescaped(name[0], path, at), name.end()
    number = _NUMBER.match(path, at)
    if number is not None:
        if _NAME.match(path, number.end()):
            raise PathError(f'trailing junk after numeric literal at or near "{number[0]}"')
        return "number", number[0], number.end()
    text = _TEXT.match(path, at)
    if text is not None:
        return "text", _unescaped(text[1], path, at), text.end()
    sign = _SIGN.match(path, at)
    if sign is not None:
        return "sign", sign[0], sign.end()
    name = _NAME.match(path, at)
    if name is None:
        raise PathError(error_near(path, at))
    return "name", _unescaped(name[0], path, at), name.end()


def error_near(path: str, at: int) -> str:
    """What is said of a place where a path goes wrong."""
    rest = path[at : at + _SHOWN]
    return f'syntax error at or near "{rest}" of jsonpath input' if rest else _AT_END


_AT_END = "syntax error at end of jsonpath input"


def _unescaped(text: str, path: str, at: int) -> str:
    try:
        made = _ESCAPE.sub(_character, text)
        made.encode()
    except ValueError as error:
        raise PathError(f"invalid Unicode escape sequence in {error_near(path, at)}") from error
    if "\0" in made:
        raise PathError("\\u0000 cannot be converted to text")
    return made


def _character(found: re.Match[str]) -> str:
    if found[1]:
        units = (chr(int(digits, 16)) for digits in _UNIT.findall(found[1]))
        # Two halves make one character.
        return "".join(units).encode("utf-16", "surrogatepass").decode("utf-16")
    if found[2]:
        return chr(int(found[2], 16))
    if found[3] in {"u", "x", ""}:
        raise ValueError(found[0])
    return _CONTROLS.get(found[3], found[3])
