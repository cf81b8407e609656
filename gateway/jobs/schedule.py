"""What should run when, from policies and the runs there were. Pure, but for asking the journal.

cron line of the policy     kind and table as the line says
retention without a line    at once, then every 6 h under a day, else every 24 h
trigger                     reads have become dear: compact; erasures wait: purge;
                            the grace of something has ended: vacuum
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from journal.holds import active
from journal.jobs import backups, retired
from journal.journal import Journal
from journal.policy import policy_of
from journal.schema import Table
from journal.version import from_datetime

if TYPE_CHECKING:
    from journal.erasure.requests import Request

LastRuns = Mapping[tuple[str, int], datetime]
"""When the latest run of a kind on a table began."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A kind of job on a table: by a cron line, or every so often from ``first`` on."""

    kind: str
    table_id: int
    table: str
    cron: str | None = None
    every: timedelta | None = None
    first: datetime | None = None

    @property
    def key(self) -> str:
        """What tells it from others, its timing included."""
        return f"{self.kind} {self.table_id} {self.cron or self.every}"


@dataclass(frozen=True, slots=True)
class Due:
    """A job that a trigger asks for now, and why."""

    kind: str
    table: Table
    why: str
    options: Mapping[str, Any] = field(default_factory=dict)


def planned(tables: Iterable[Table], last: LastRuns, now: datetime) -> list[Planned]:
    """The schedule of some tables."""
    found: list[Planned] = []
    for table in tables:
        policy = policy_of(table)
        name = str(table.name)
        lines = dict(policy.schedules)
        found += [Planned(kind, table.id, name, cron=line) for kind, line in lines.items()]
        if policy.removes and "retain" not in lines:
            every = policy.every()
            ran = last.get(("retain", table.id))
            first = now if ran is None else max(now, ran + every)
            found.append(Planned("retain", table.id, name, every=every, first=first))
    return found


def triggered(journal: Journal) -> list[Due]:
    """What the state of the tables asks for now; a schedule of the same kind comes first."""
    from journal.erasure.requests import State
    from journal.erasure.wanted import requests
    from spark_compaction import planner

    now = journal.clock.now()
    state = journal.state
    with journal.reading_session() as session:
        over = {r.table_id for r in retired.load(session) if retired.is_over(r, now)}
        for backup in backups.load(session):
            expires = backup.expires_at
            if expires is not None and from_datetime(expires) <= now:
                over.add(backup.table_id)
    found_requests = requests(journal)
    waiting = _tables_of(r for r in found_requests if r.state in {State.ACCEPTED, State.PURGED})
    on_hold = _tables_of(r for r in found_requests if r.state is State.ON_HOLD)
    found: list[Due] = []
    for table in state.catalog.tables():
        lines = dict(policy_of(table).schedules)
        of_table = state.tables[table.id]
        if "compact" not in lines:
            slo = planner.Slo.of(table)
            wanted = planner.due(of_table.manifest, slo, now, of_table.head_counts)
            if wanted is not None:
                found.append(Due("compact", table, wanted.why, {"mode": "auto"}))
        # What is on hold is taken up again once nothing holds any of the table's rows.
        released = table.id in on_hold and not active(journal, table)
        if (table.id in waiting or released) and "purge" not in lines:
            found.append(Due("purge", table, "erasures wait"))
        if table.id in over and "vacuum" not in lines:
            found.append(Due("vacuum", table, "the grace of what was replaced has ended"))
    return found


def _tables_of(found: Iterable[Request]) -> set[int]:
    return {t.table_id for r in found for t in r.targets if t.mask is not None}
