"""Refuses a catalog of another format, in whichever store it lies. It reads no store itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from journal.errors import Code, PalimpsestError

QUERY = "SELECT value FROM _palimpsest.meta WHERE key = 'format'"
"""What to ask the store for ``check_format``."""


def check_format(rows: Sequence[tuple[Any, ...]], expected: str, what: str) -> None:
    """Raise WAREHOUSE_FORMAT unless the rows of ``QUERY`` say that ``what`` has this format."""
    if list(rows) == [(expected,)]:
        return
    shown = rows[0][0] if rows else "none"
    raise PalimpsestError(
        Code.WAREHOUSE_FORMAT,
        f"{what} has format {shown}, this version reads format {expected}",
        advice="open it with the version that wrote it, or upgrade",
    )
