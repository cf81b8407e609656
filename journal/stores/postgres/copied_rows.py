"""Writes columns of values as the text that COPY reads, a fraction of what arrays of them cost.

The client library writes an array value by value, and the server takes it apart again. Pure: no
driver.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from journal.stores.postgres.few_rows import INSTANT, ColumnValues, quoted_name

_CAST = re.compile(r"\{\}::([^{}]+)")
_NULL = r"\N"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"})
_ESCAPED = re.compile(r"[\\\n\r\t]")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TEXTS: dict[str, tuple[tuple[type, ...], Callable[[Any], str]]] = {
    "text": ((str,), str),
    "smallint": ((int,), str),
    "integer": ((int,), str),
    "bigint": ((int,), str),
    "numeric": ((int, Decimal), str),
    "real": ((float,), repr),
    "double precision": ((float,), repr),
    "boolean": ((bool,), str),
    "date": ((dt.date,), str),
    "time": ((dt.time,), str),
    "timestamp": ((dt.datetime,), str),
    "timestamptz": ((dt.datetime,), str),
    "bytea": ((bytes,), lambda value: r"\\x" + value.hex()),
}
"""By the type that a value is sent as: its types in Python, and the text that the server reads."""


def query_of_no_rows(columns: Sequence[ColumnValues]) -> str:
    """A query whose columns are those that COPY fills."""
    outputs = [f"NULL::{_copied_type(column)} AS {quoted_name(column.name)}" for column in columns]
    return f"SELECT {', '.join(outputs)} WHERE FALSE"


def _copied_type(column: ColumnValues) -> str | None:
    """The type of the column that COPY fills, which reads the same as a query does; else None."""
    if column.output_format == "{}":
        return column.parameter_type if column.parameter_type in _TEXTS else None
    if column.output_format == INSTANT:
        return "timestamptz"
    cast = _CAST.fullmatch(column.output_format)
    return cast[1] if cast is not None and column.parameter_type == "text" else None


def copied_text(columns: Sequence[ColumnValues]) -> bytes | None:
    """Rows of values as COPY reads them; None if one has no such text, and for no columns."""
    if not columns or not all(map(_copied_type, columns)):
        return None
    try:
        texts = [_texts(column) for column in columns]
        if any(found is None for found in texts):
            return None
        lines = map("\t".join, zip(*filter(None, texts), strict=True))
        return "".join(f"{line}\n" for line in lines).encode()
    except (UnicodeEncodeError, OverflowError):
        return None


def _texts(column: ColumnValues) -> list[str] | None:
    """The values of a column; None if one is of another type, or no text of the server's."""
    if column.output_format == INSTANT:
        return [_NULL if v is None else _instant(v) for v in column.values]
    types, text_of = _TEXTS[column.parameter_type]
    if not {type(v) for v in column.values}.issubset((*types, type(None))):
        return None
    found = [_NULL if v is None else text_of(v) for v in column.values]
    if column.parameter_type != "text":
        return found
    whole = "".join(v for v in column.values if v is not None)
    if "\0" in whole:
        return None
    if _ESCAPED.search(whole):
        pairs = zip(found, column.values, strict=True)
        found = [text if v is None else text.translate(_ESCAPES) for text, v in pairs]
    return found


def _instant(version: int) -> str:
    """The moment of a version, which counts microseconds."""
    return str(_EPOCH + dt.timedelta(microseconds=version))
