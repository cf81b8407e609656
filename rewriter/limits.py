"""Limits on what a statement may be, so that none can exhaust the process. Values only."""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Each has a setting of the same meaning; see docs/sql.md."""

    statement_chars: int = 16_000_000
    nesting_depth: int = 100
    list_items: int = 100_000
    cascade_rows: int = 1_000_000


DEFAULT_LIMITS = Limits()
