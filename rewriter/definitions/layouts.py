"""Whether rows of two definitions of a table look alike in its journal. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from journal.model.schema import Column, Table


def changed_layout(old: Table, new: Table) -> bool:
    """True if journal rows of the two have different columns or types."""
    return _fields(old.columns) != _fields(new.columns)


def _fields(columns: Sequence[Column]) -> list[tuple[str, str]]:
    return [(c.physical, c.type) for c in columns]
