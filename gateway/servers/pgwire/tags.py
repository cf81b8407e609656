"""Command tags and error fields in the form that PostgreSQL's clients read."""

from __future__ import annotations

import re

from gateway.servers.pgwire.constraint_fields import constraint_fields
from gateway.servers.pgwire.wording import postgres_wording
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot
from rewriter.name_resolution import shown_home

_STALE = "cached plan must not change result type"
_WITH_ROWS = frozenset({"SELECT", "UPDATE", "DELETE", "MERGE", "COPY", "FETCH", "MOVE"})


def command_tag(tag: str, rows: int) -> str:
    """The tag of a statement: ``INSERT 0 3``, ``SELECT 2`` (of a CREATE TABLE AS, too)."""
    if tag.startswith("INSERT"):
        return f"INSERT 0 {max(rows, 0)}"
    if tag == "CREATE TABLE AS" and rows >= 0:
        return f"SELECT {rows}"
    if tag == "TRUNCATE":
        return "TRUNCATE TABLE"
    if tag in _WITH_ROWS:
        return f"{tag} {max(rows, 0)}"
    return tag


def text_for_clients(text: str, dialect: str, catalog: CatalogSnapshot) -> str:
    """A message in which the home schema has the name that the clients of a dialect read it by."""
    home, shown = re.escape(catalog.home), shown_home(dialect, catalog)
    if shown == catalog.home:
        return text
    return re.sub(rf'(?:^|(?<=\s)){home}(?=\.[^\s.])|(?<=\s"){home}(?=")', shown, text)


def error_for_clients(
    error: PalimpsestError, dialect: str, catalog: CatalogSnapshot
) -> PalimpsestError:
    """The error with a message and advice as ``text_for_clients`` gives them."""
    message, advice = (
        text_for_clients(text, dialect, catalog) for text in (error.message, error.advice)
    )
    return PalimpsestError(error.code, message, advice=advice, position=error.position)


def error_fields(error: PalimpsestError, text: str = "", severity: str = "ERROR") -> dict[str, str]:
    """An error by the letters of its fields; ``text`` is that of the statement, for the place."""
    fields = {
        "S": severity,
        "V": severity,
        "C": error.sqlstate,
        "M": f"{postgres_wording(error.message)} ({error.code.value.code})",
        "H": error.advice,
        **constraint_fields(error),
    }
    if error.code is Code.STALE_PREPARED:
        # Drivers prepare such a statement again, and know it by PostgreSQL's very words.
        fields |= {"M": _STALE, "H": f"{error.advice} ({error.code.value.code})"}
        fields["R"] = "RevalidateCachedQuery"
    place = error.position
    if place is not None and text:
        lines = text.split("\n")
        before = sum(len(line) + 1 for line in lines[: place.line - 1])
        if place.line <= len(lines):
            fields["P"] = str(before + place.column)
    return fields
