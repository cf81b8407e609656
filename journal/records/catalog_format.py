"""What the catalogs of databases have in common: rows, properties, refusing those of other formats.

Constant SQL, run inside a given transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from journal.model.errors import Code, PalimpsestError
from journal.model.segment import Manifest, RowCounts
from journal.model.store_session import StoreSession
from journal.model.version import Version

QUERY = "SELECT value FROM _palimpsest.meta WHERE key = 'format'"
"""What to ask the store for ``check_format``."""

OLDEST_SERVER = 120_000
"""The oldest PostgreSQL that keeps a catalog, as its server numbers versions."""


@dataclass(frozen=True, slots=True)
class StateRow:
    """The one row of ``state``; ``catalog`` is the version of the last change of definitions.

    ``fence`` is the generation that last changed what may not be written.
    """

    generation: int
    version: Version
    settled: Version
    catalog: Version
    fence: int = 0


@dataclass(frozen=True, slots=True)
class JournalRow:
    """What the catalog says of one journal."""

    table_id: int
    manifest: Manifest
    last_version: Version
    counts: RowCounts


def check_format(rows: Sequence[tuple[Any, ...]], expected: str, what: str) -> None:
    """Raise WAREHOUSE_FORMAT unless the rows of ``QUERY`` say that ``what`` has this format."""
    if list(rows) == [(expected,)]:
        return
    shown = str(rows[0][0]) if rows else "none"
    is_newer = shown.isdigit() and int(shown) > int(expected)
    raise PalimpsestError(
        Code.WAREHOUSE_FORMAT,
        f"{what} has format {shown}{', of a newer version' if is_newer else ''}; this version"
        f" reads format {expected}",
        advice="upgrade palimpsest" if is_newer else "open it with the version that wrote it",
    )


def put_meta(session: StoreSession, key: str, value: str) -> None:
    """Set one entry of the store's own properties."""
    session.text("DELETE FROM _palimpsest.meta WHERE key = ?", [key])
    session.text("INSERT INTO _palimpsest.meta VALUES (?, ?)", [key, value])


def get_meta(session: StoreSession, key: str) -> str | None:
    """One entry of the store's own properties."""
    rows = session.text("SELECT value FROM _palimpsest.meta WHERE key = ?", [key])
    return rows[0][0] if rows else None
