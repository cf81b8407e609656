"""Columns of results."""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """Name and type (SQL text) of a result column."""

    name: str
    type: str
