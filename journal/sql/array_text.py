"""PostgreSQL's text of arrays, ``{1,NULL,"a b",{..}}``, to lists and from them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError

_BLANKS = " \t\n\r\v\f"
"""What PostgreSQL passes over between elements; other blanks of Unicode are text."""
_ODD = re.compile(rf'[{{}},"\\{_BLANKS}]')
_MARKED = re.compile(r'["\\]')


def parse_array(text: str, item: Callable[[str], Any]) -> list[Any]:
    """The elements of an array, each made of its text by ``item``; raises ValueError."""
    text = text.strip(_BLANKS)
    found, end = _list(text, 0, item)
    if end != len(text):
        raise ValueError(f"something follows the array {text[:end]}")
    return found


def array_of_text(text: str, kind: exp.DataType) -> exp.Array:
    """An array of constants; raises CONVERSION for a text that is none."""
    try:
        items = parse_array(text, str)
    except ValueError as error:
        raise PalimpsestError(
            Code.CONVERSION,
            f"the text '{text[:40]}' is no array: {error}",
            advice="write '{1,2}', or ARRAY[1, 2]",
        ) from error
    element = kind
    while element.is_type(exp.DType.ARRAY, exp.DType.LIST) and element.expressions:
        element = element.expressions[0]
    return _constants(items, element)


def text_of_array(items: Sequence[Any], text: Callable[[Any], str] = str) -> str:
    """The text of an array, of further arrays and NULL in it, and of items by ``text``."""
    return "{" + ",".join(_item_text(item, text) for item in items) + "}"


def _item_text(item: Any, text: Callable[[Any], str]) -> str:
    if item is None:
        return "NULL"
    if isinstance(item, list | tuple):
        return text_of_array(item, text)
    word = text(item)
    if word == "" or word.upper() == "NULL" or _ODD.search(word):
        return '"' + _MARKED.sub(r"\\\g<0>", word) + '"'
    return word


def _constants(items: list[Any], element: exp.DataType) -> exp.Array:
    found: list[exp.Expr] = []
    for item in items:
        if item is None:
            found.append(exp.Null())
        elif isinstance(item, list):
            found.append(_constants(item, element))
        else:
            found.append(exp.cast(exp.Literal.string(item), element.copy()))
    return exp.Array(expressions=found)


def dimensions(value: object) -> int:
    """How many dimensions an array has; none if it is none.

    >>> dimensions([[1, 2], [3, 4]]), dimensions([]), dimensions("{1}")
    (2, 1, 0)
    """
    if not isinstance(value, list):
        return 0
    return 1 + (dimensions(value[0]) if value else 0)


def _list(text: str, at: int, item: Callable[[str], Any]) -> tuple[list[Any], int]:
    if text[at : at + 1] != "{":
        raise ValueError(f"an array begins with a brace, not with {text[at : at + 1]!r}")
    at += 1
    found: list[Any] = []
    if text[at : at + 1] == "}":
        return found, at + 1
    while True:
        value, at = _value(text, at, item)
        found.append(value)
        while at < len(text) and text[at] in _BLANKS:
            at += 1
        sign, at = text[at : at + 1], at + 1
        if sign == "}":
            _check_sizes(found)
            return found, at
        if sign != ",":
            raise ValueError("an array has no end")


def _check_sizes(items: list[Any]) -> None:
    """Raise ValueError for parts of different lengths, and for elements beside parts."""
    sizes = {len(item) if isinstance(item, list) else -1 for item in items}
    if len(sizes) > 1:
        raise ValueError("its parts are not of one length")


def _value(text: str, at: int, item: Callable[[str], Any]) -> tuple[Any, int]:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    if text[at : at + 1] == "{":
        return _list(text, at, item)
    if text[at : at + 1] == '"':
        return _quoted_item(text, at + 1, item)
    end = at
    while end < len(text) and text[end] not in ",}":
        end += 1
    word = text[at:end].strip(_BLANKS)
    return (None if word.upper() == "NULL" else item(word)), end


def _quoted_item(text: str, at: int, item: Callable[[str], Any]) -> tuple[Any, int]:
    parts: list[str] = []
    while text[at : at + 1] != '"':
        if text[at : at + 1] == "\\":
            at += 1
        if at >= len(text):
            raise ValueError("a text in an array has no end")
        parts.append(text[at])
        at += 1
    return item("".join(parts)), at + 1


def parse_list(text: str) -> list[Any]:
    """The elements of a list as DuckDB writes it, ``[1, NULL, 'it\\'s', [..]]``, as texts.

    Raises ValueError for a text that is none.
    """
    found, end = _bracketed(text.strip(), 0)
    if end != len(text.strip()):
        raise ValueError(f"something follows the list {text[:end]}")
    return found


_WORD = re.compile(r"[^,\[\]]*")
_QUOTED = re.compile(r"\s*(?:'((?:[^'\\]|\\.|'')*)'|\"((?:[^\"\\]|\\.)*)\")\s*", re.S)


def _bracketed(text: str, at: int) -> tuple[list[Any], int]:
    """A list from where its bracket stands, and the place behind it."""
    found: list[Any] = []
    if text[at : at + 1] != "[":
        raise ValueError("it does not begin with a bracket")
    at += 1
    if text[at:].lstrip().startswith("]"):
        return found, text.index("]", at) + 1
    while True:
        item, at = _listed(text, at)
        found.append(item)
        sign = text[at : at + 1]
        if sign == "]":
            return found, at + 1
        if sign != ",":
            raise ValueError("it has no bracket at its end")
        at += 1


def _listed(text: str, at: int) -> tuple[Any, int]:
    if text[at:].lstrip().startswith("["):
        item, end = _bracketed(text, text.index("[", at))
        return item, end + len(text[end:]) - len(text[end:].lstrip())
    quoted = _QUOTED.match(text, at)
    if quoted is not None:
        word = quoted[1] if quoted[1] is not None else quoted[2]
        return re.sub(r"\\(.)", r"\1", word, flags=re.S).replace("''", "'"), quoted.end()
    plain = _WORD.match(text, at)
    assert plain is not None
    word = plain[0].strip()
    if re.search(r"(?<!\\)['\"]", word):
        raise ValueError(f"it has a quote within {word}")
    word = re.sub(r"\\(['\"])", r"\1", word)
    return (None if word.upper() == "NULL" else word), plain.end()
