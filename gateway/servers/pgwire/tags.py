"""Command tags, as PostgreSQL's clients read them, and what its error messages hold."""

from __future__ import annotations

from journal.model.errors import PalimpsestError

_WITH_ROWS = frozenset({"SELECT", "UPDATE", "DELETE", "MERGE", "COPY", "FETCH", "MOVE"})


def command_tag(tag: str, rows: int) -> str:
    """The tag of a statement: ``INSERT 0 3``, ``SELECT 2``, ``CREATE TABLE``."""
    if tag.startswith("INSERT"):
        return f"INSERT 0 {max(rows, 0)}"
    if tag == "CREATE TABLE" and rows >= 0:
        return f"SELECT {rows}"
    if tag == "TRUNCATE":
        return "TRUNCATE TABLE"
    if tag in _WITH_ROWS:
        return f"{tag} {max(rows, 0)}"
    return tag


def error_fields(error: PalimpsestError, text: str = "", severity: str = "ERROR") -> dict[str, str]:
    """An error by the letters of its fields; ``text`` is that of the statement, for the place."""
    fields = {
        "S": severity,
        "V": severity,
        "C": error.sqlstate,
        "M": f"{error.message} ({error.code.value.code})",
        "H": error.advice,
    }
    place = error.position
    if place is not None and text:
        lines = text.split("\n")
        before = sum(len(line) + 1 for line in lines[: place.line - 1])
        if place.line <= len(lines):
            fields["P"] = str(before + place.column)
    return fields
