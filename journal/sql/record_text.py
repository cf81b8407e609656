"""PostgreSQL's text of a row as one value, ``(1,,"a b")``. Pure."""

from __future__ import annotations

from collections.abc import Iterable

_ODD = frozenset('(),"\\ \t\n\r\v\f')


def record_text(fields: Iterable[str | None]) -> str:
    r"""A row of such texts; NULL is nothing at all, and an empty text stands in quotes.

    >>> record_text(["1", None, "", 'a"b'])
    '(1,,"","a""b")'
    """
    return "(" + ",".join("" if text is None else _field(text) for text in fields) + ")"


def _field(text: str) -> str:
    if text and _ODD.isdisjoint(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'
