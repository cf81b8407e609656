"""Which instances of datasets are filled by which instances of processes. Reads alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from sqlglot import exp

from journal.model.store_session import RecordSession
from journal.records.record_types import RecordType
from journal.records.schema import INSTANCE_DATA, INSTANCES
from journal.records.statements import RecordStatement, execute, is_among, parts, select


def outputs_of(
    session: RecordSession, datasets: Sequence[str], first_at: datetime, last_at: datetime
) -> list[tuple[str, datetime, datetime, str]]:
    """Which instances of datasets are filled between two moments: dataset, first, last, state."""
    found: list[tuple[str, datetime, datetime, str]] = []
    for part in parts(datasets):
        rows = execute(session, _filled(len(part)), ["output", last_at, first_at, *part])
        found += [(d, f.astimezone(UTC), t.astimezone(UTC), state) for d, f, t, state in rows]
    return found


@lru_cache(maxsize=256)
def _filled(number: int) -> RecordStatement:
    """States of the instances that fill some datasets; one that was removed fills none."""
    uses = select(INSTANCE_DATA, (), {"use": exp.EQ, "first_at": exp.LTE, "last_at": exp.GTE}).ast
    instances = select(INSTANCES, ("id", "state")).ast
    assert isinstance(uses, exp.Select)
    assert isinstance(instances, exp.Select)
    uses = uses.where(is_among("dataset", number))
    query = (
        exp.select(*[exp.column(n, table="d") for n in ("dataset", "first_at", "last_at")])
        .select(exp.column("state", table="i"))
        .from_(uses.subquery("d"))
        .join(
            instances.subquery("i"),
            on=exp.EQ(
                this=exp.column("id", table="i"), expression=exp.column("instance", table="d")
            ),
        )
    )
    moment = RecordType.MOMENT
    gives = (RecordType.TEXT, moment, moment, RecordType.TEXT)
    return RecordStatement(query, gives, has_many=True)
