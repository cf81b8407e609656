"""Rows that are looked up by key, and what a statement over a cached one comes to. Values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.version import Version

P_ROW = "p_row_"
"""Prefix of the parameters with the rows that a plan is given instead of looking them up."""
ROW_VERSION, ROW_THERE = "version", "there"
"""The parts of such a parameter's name that stand for no column."""


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """A row that is looked up by its whole key, one value for each key column in order.

    A plan from cache takes the row as parameters: one for each stored column, one for its version
    and one that says whether there is such a row; see ``row_parameter``.
    """

    table_id: int
    key: tuple[exp.Expr, ...]
    name: str

    @staticmethod
    def of(table: Table, keys: Mapping[str, exp.Expr], place: int) -> KeyLookup:
        """The row of a key, as the one at ``place`` among those of a plan."""
        return KeyLookup(table.id, tuple(keys[k] for k in table.key), f"{P_ROW}{place}")

    def bound(self, version: Version, values: Sequence[Any] | None, columns: int) -> dict[str, Any]:
        """The parameters for a row; no values: there is none."""
        found = values if values is not None else (None,) * columns
        bound = {row_parameter(self.name, i): v for i, v in enumerate(found)}
        bound[row_parameter(self.name, ROW_VERSION)] = version
        bound[row_parameter(self.name, ROW_THERE)] = values is not None
        return bound


def row_parameter(name: str, part: int | str) -> str:
    """The parameter for a stored column of a given row, by place, or for one of ``ROW_..``."""
    return f"{name}_{part}"


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
