"""How a statement reads tables other than by whole tiers: a protocol with defaults."""

from __future__ import annotations

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.segment import Fields, Tier
from journal.sql.sql import relation


@dataclass(frozen=True, slots=True)
class ScanAccess:
    """How a statement reads a table, besides whole tiers.

    ``by_file`` holds the sealed tiers in which a row can be looked up file by file; ``placed`` says
    that it is known at which positions sealed rows have ended, and that there is no buffer.
    """

    by_file: frozenset[Tier] = frozenset()
    placed: bool = False


WHOLE_TIERS = ScanAccess()


def whole_tiers(_statement: object, _table_id: int) -> ScanAccess:
    """``access`` of a statement whose server finds rows itself."""
    return WHOLE_TIERS


def none_known(_statement: object, _table_id: int) -> frozenset[str]:
    """``varied_columns`` of a statement whose store tells nothing of values."""
    return frozenset()


def as_relation(_statement: object, _fields: Fields, rows: exp.Query) -> exp.Expr:
    """``comparable_rows`` of a statement whose suppression list is where the rows are."""
    return relation(rows)
