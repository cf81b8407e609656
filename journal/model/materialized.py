"""What makes a table a materialised view. A value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Materialized:
    """What makes a table a materialised view: its rows are those of a query, as of a version.

    ``query`` is canonical text, and ``outputs`` are the names of its columns when it was made.
    ``refreshed`` is None as long as it holds no rows of it. ``sources`` are the ids of all tables
    whose rows it may hold, in any version of its own. ``masks`` are its lists of keys that hid rows
    when it was refreshed: others say that an erasure has touched its rows since, and then it is
    read through its query. ``defined`` is the query with the calls of macros in it; None where it
    had none.
    """

    query: str
    outputs: tuple[str, ...] = ()
    refreshed: int | None = None
    sources: tuple[int, ...] = ()
    masks: tuple[str, ...] = ()
    defined: str | None = None

    @property
    def shown_query(self) -> str:
        """The query as it was written, in canonical words."""
        return self.defined or self.query

    @staticmethod
    def from_json(raw: Mapping[str, Any] | None) -> Materialized | None:
        """What ``asdict`` made plain."""
        if raw is None:
            return None
        lists = (tuple(raw[name]) for name in ("outputs", "sources", "masks"))
        outputs, sources, masks = lists
        query, defined = raw["query"], raw.get("defined")
        return Materialized(query, outputs, raw["refreshed"], sources, masks, defined)
