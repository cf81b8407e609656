"""The type of a column as a definition keeps it. Pure."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import position_of

SERIAL = {
    **dict.fromkeys(("SERIAL", "SERIAL4"), "INTEGER"),
    **dict.fromkeys(("BIGSERIAL", "SERIAL8"), "BIGINT"),
    **dict.fromkeys(("SMALLSERIAL", "SERIAL2"), "SMALLINT"),
}
"""Types that number rows, and what they are."""
_OTHER_NAMES = {
    "UINT8": exp.DType.UTINYINT,
    "UINT16": exp.DType.USMALLINT,
    "UINT32": exp.DType.UINT,
    "UINT64": exp.DType.UBIGINT,
}
"""Names that DuckDB has for types, and sqlglot does not know."""


_COMMON = (
    "BIGINT BLOB BOOLEAN BYTEA DATE DECIMAL DOUBLE FLOAT INTEGER INTERVAL JSON NUMERIC REAL"
    " SMALLINT TEXT TIME TIMESTAMP TIMESTAMPTZ UUID VARCHAR"
).split()
"""Names that a misspelt one is likely to stand for."""


def type_text(node: exp.Expr) -> str:
    """A column's type as canonical text; raises for an unknown type."""
    for part in list(node.find_all(exp.DataType)):
        other = _OTHER_NAMES.get(str(part.args.get("kind") or "").upper())
        if part.this is exp.DType.USERDEFINED and other is not None:
            part.set("this", other)
            part.set("kind", None)
    text = node.sql(dialect="duckdb")
    kinds = {part.this for part in node.find_all(exp.DataType)}
    if exp.DType.UNION in kinds:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"columns of type {text} are not supported",
            advice="use a STRUCT with one field for each alternative",
            position=position_of(node),
        )
    if exp.DType.NULL in kinds:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "columns of type NULL are not supported",
            advice="NULL is a value of every type: give the column the type of its other values",
            position=position_of(node),
        )
    if not _is_known(text if text.upper() not in SERIAL else "INT"):
        close = get_close_matches(text.upper(), _COMMON, 1)
        advice = "check the spelling, and that the connection has the dialect it is written in"
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"there is no type {text}",
            advice=f"did you mean {close[0]}?" if close else advice,
            position=position_of(node),
        )
    return text


@lru_cache(maxsize=256)
def _is_known(text: str) -> bool:
    """Whether a type of this text is known. Many columns of a table have the same."""
    try:
        exp.DataType.build(text, dialect="duckdb")
    except SqlglotError:
        return False
    return True
