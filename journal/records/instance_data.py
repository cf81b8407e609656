"""Which instances of datasets an instance of a process reads or fills: rows of ``INSTANCE_DATA``.

Reads and adds rows; what they mean for a process is told in ``gateway/governance``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.schema import INSTANCE_DATA
from journal.records.statements import (
    RecordStatement,
    execute,
    insert_rows,
    is_among,
    parts,
    select,
)

_TOUCHING = select(
    INSTANCE_DATA,
    (),
    {"dataset": exp.EQ, "use": exp.EQ, "first_at": exp.LTE, "last_at": exp.GTE},
    ["instance"],
)
_use_values = attrgetter("instance", "use", "dataset", "first_at", "last_at")


@dataclass(frozen=True, slots=True)
class DataUse:
    """The instances of a dataset, from the first to the last, that an instance reads or fills."""

    instance: str
    use: str
    dataset: str
    first_at: datetime
    last_at: datetime


def add_uses(session: RecordSession, rows: Iterable[DataUse]) -> None:
    """Note what instances read and fill."""
    insert_rows(session, INSTANCE_DATA, [_use_values(row) for row in rows])


def uses_of(session: RecordSession, ids: Sequence[str]) -> dict[str, list[DataUse]]:
    """What instances read and fill, by the id of the instance."""
    found: dict[str, list[DataUse]] = {}
    for part in parts(ids):
        for use in map(_use, execute(session, _uses_of(len(part)), part)):
            found.setdefault(use.instance, []).append(use)
    return found


@lru_cache(maxsize=512)
def _uses_of(number: int) -> RecordStatement:
    query = select(INSTANCE_DATA, (), None, ["instance", "use", "dataset"])
    assert isinstance(query.ast, exp.Select)
    return RecordStatement(
        query.ast.where(is_among("instance", number)), query.gives, has_many=True
    )


def uses_touching(
    session: RecordSession, dataset: str, use: str, first_at: datetime, last_at: datetime
) -> list[DataUse]:
    """Which instances read, or fill, an instance of a dataset between two moments."""
    return [_use(row) for row in execute(session, _TOUCHING, [dataset, use, last_at, first_at])]


def _use(row: Sequence[Any]) -> DataUse:
    instance, use, dataset, first_at, last_at = row
    return DataUse(instance, use, dataset, first_at.astimezone(UTC), last_at.astimezone(UTC))
