"""The outcome of a statement over one cached row, which needs no store. Values."""

from __future__ import annotations

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PointRead:
    """A cached row is the answer: names of its columns, and their places among the stored."""

    table_id: int
    columns: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class PointChange:
    """A cached row ends, and begins again with constants at some places, if any are given."""

    table_id: int
    values: tuple[tuple[int, exp.Expr], ...] | None


@dataclass(frozen=True, slots=True)
class PointClaim:
    """A cached row is the answer, and begins again as it is if others have committed it."""

    read: PointRead
