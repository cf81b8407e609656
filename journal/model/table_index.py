"""The indexes of a table as values: what CREATE INDEX said of them."""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class IndexTerm:
    """One of the values an index is over.

    ``text`` is the physical name of a column, or else an expression over such names.
    """

    text: str
    is_column: bool = True
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """An index: what CREATE INDEX said of it. Its schema is that of its table.

    ``columns`` are the physical columns that its terms and its predicate read; ``included`` those
    it only carries. The predicate is an expression over physical columns.
    """

    name: str
    terms: tuple[IndexTerm, ...]
    columns: tuple[str, ...]
    unique: bool = False
    predicate: str | None = None
    included: tuple[str, ...] = ()
    method: str = ""
    comment: str | None = None
