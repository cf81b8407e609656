"""PostgreSQL's text of arrays, ``{1,NULL,"a b",{..}}``, as lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def parse_array(text: str, item: Callable[[str], Any]) -> list[Any]:
    """The elements of an array, each made of its text by ``item``; raises ValueError."""
    found, end = _list(text.strip(), 0, item)
    if end != len(text.strip()):
        raise ValueError(f"something follows the array {text[:end]}")
    return found


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
        sign, at = text[at : at + 1], at + 1
        if sign == "}":
            return found, at
        if sign != ",":
            raise ValueError("an array has no end")


def _value(text: str, at: int, item: Callable[[str], Any]) -> tuple[Any, int]:
    while text[at : at + 1].isspace():
        at += 1
    if text[at : at + 1] == "{":
        return _list(text, at, item)
    if text[at : at + 1] == '"':
        return _quoted_item(text, at + 1, item)
    end = at
    while end < len(text) and text[end] not in ",}":
        end += 1
    word = text[at:end].strip()
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
