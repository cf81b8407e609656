"""What makes a table a materialised view. A value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Materialized:
    """What makes a table a materialised view: its rows are those of a query, as of a version.

    ``query`` is canonical text; ``refreshed`` is None as long as it holds no rows of it.
    ``sources`` are the ids of all tables whose rows it may hold, in any version of its own.
    ``masks`` are its lists of keys that hid rows when it was refreshed: others say that an erasure
    has touched its rows since, and then it is read through its query.
    """

    query: str
    refreshed: int | None = None
    sources: tuple[int, ...] = ()
    masks: tuple[str, ...] = ()

    @staticmethod
    def from_json(raw: Mapping[str, Any] | None) -> Materialized | None:
        """What ``asdict`` made plain."""
        if raw is None:
            return None
        return Materialized(
            raw["query"], raw["refreshed"], tuple(raw["sources"]), tuple(raw["masks"])
        )
