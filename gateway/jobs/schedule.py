"""Decides which jobs run when, from policies and recorded runs. Pure, but for reading both.

cron line of the policy     kind and table as the line says
retention without a line    at once, then every 6 h under a day, else every 24 h
REPLICATION                 EVERY so often, DELAY after the nominal time
trigger                     reads have become dear: compact; erasures wait: purge;
                            the grace of something has ended: vacuum

What has its turn is looked at once more before it runs: another scheduler may have run it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gateway.jobs.replication_times import due_replications
from journal.erasure.holds import active
from journal.model.cron import next_run
from journal.model.effective_policy import effective_policy
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.limits import Slo
from journal.model.schema import CatalogSnapshot, Table
from journal.model.version import Version, from_datetime, to_datetime
from journal.records import backups
from journal.transactions.protocol import OpenJournal
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from gateway.session.session import Session
    from journal.erasure.requests import ErasureRequest

_LOG = logging.getLogger("palimpsest.scheduler")
_PAUSE_US = 600 * 1_000_000
_JITTER = timedelta(minutes=5)

LastRuns = Mapping[tuple[str, int], datetime]
"""When the latest run of a kind on a table began."""


@dataclass(frozen=True, slots=True)
class JobSchedule:
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

    def __str__(self) -> str:
        if self.cron is not None:
            return f"{self.kind} of {self.table} runs as '{self.cron}' says (UTC)"
        first = "" if self.first is None else f", first at {self.first:%Y-%m-%dT%H:%M:%SZ}"
        assert self.every is not None
        hours = self.every.total_seconds() / 3600
        return f"{self.kind} of {self.table} runs every {hours:g} h{first}"

    def comes_due(self, since: datetime, now: datetime) -> bool:
        """True for a cron line with a moment after ``since`` and up to ``now``."""
        if self.cron is None:
            return False
        try:
            return next_run(self.cron, since) <= now
        except PalimpsestError as error:
            _LOG.warning("%s of %s is not scheduled: %s", self.kind, self.table, error)
            return False

    def is_due(self, last: LastRuns, now: datetime) -> bool:
        """True unless somebody has run it since it became due."""
        ran = last.get((self.kind, self.table_id))
        if ran is None:
            return True
        if self.every is not None:
            return ran + self.every - min(_JITTER, self.every / 10) <= now
        assert self.cron is not None
        return next_run(self.cron, ran) <= now


@dataclass(frozen=True, slots=True)
class DueJob:
    """A job that a trigger asks for now, and why."""

    kind: str
    table: Table
    why: str
    options: Mapping[str, Any] = field(default_factory=dict)


def scheduled_jobs(catalog: CatalogSnapshot, last: LastRuns, now: datetime) -> list[JobSchedule]:
    """The schedule of the tables of a catalog, as their policies and those of wider scopes say."""
    found: list[JobSchedule] = []
    for table in catalog.tables():
        policy = effective_policy(catalog, table)
        name = str(table.name)
        lines = dict(policy.schedules)
        found += [JobSchedule(kind, table.id, name, cron=line) for kind, line in lines.items()]
        if (policy.removes or policy.lineage) and "retain" not in lines:
            every = policy.every()
            ran = last.get(("retain", table.id))
            first = now if ran is None else max(now, ran + every)
            found.append(JobSchedule("retain", table.id, name, every=every, first=first))
    return found


def triggered_jobs(session: Session, last: LastRuns) -> list[DueJob]:
    """What the state of the tables asks for now; a schedule of the same kind comes first."""
    from journal.erasure.erasure_spec import requests
    from spark_compaction import planner

    journal, maintenance = session.journal, session.executor.maintenance
    now, state = journal.clock.now(), committed_state(journal)
    over = (
        set()
        if maintenance.backups is None
        else maintenance.overdue() | _tables_with_expired_backups(journal)
    )
    wanted = WaitingPurges.of(requests(journal), lambda i: _is_old(last.get(("purge", i)), now))
    found: list[DueJob] = []
    for table in state.catalog.tables():
        lines = dict(effective_policy(state.catalog, table).schedules)
        of_table = state.tables[table.id]
        if "compact" not in lines:
            slo = _trigger_limits(table)
            due = planner.due(of_table.manifest, slo, now, of_table.head_counts)
            if due is not None:
                found.append(DueJob("compact", table, due.why, {"mode": "auto"}))
        # What is on hold is taken up again once nothing holds any of the table's rows.
        released = table.id in wanted.on_hold and not active(journal, table)
        if (table.id in wanted.waiting or released) and "purge" not in lines:
            found.append(DueJob("purge", table, "erasures wait"))
        if "replicate" not in lines:
            found += [
                DueJob("replicate", table, why, {"to": target})
                for target, why in due_replications(session, table, to_datetime(now))
            ]
        if table.id in over and "vacuum" not in lines:
            found.append(DueJob("vacuum", table, "the grace of what was replaced has ended"))
    return found + _jobs_of_dropped(found, wanted, state.catalog.tables())


def _jobs_of_dropped(
    found: Iterable[DueJob], wanted: WaitingPurges, tables: Iterable[Table]
) -> list[DueJob]:
    """A purge of whichever table for erasures that wait in dropped ones: each takes them along."""
    there = {t.id: t for t in tables}
    if not there or wanted.waiting <= there.keys() or any(d.kind == "purge" for d in found):
        return []
    return [DueJob("purge", next(iter(there.values())), "erasures wait in dropped tables")]


def _trigger_limits(table: Table) -> Slo:
    """A table's limits; the usual ones where its properties have meant nothing since long ago."""
    try:
        return Slo.of(table)
    except PalimpsestError as error:
        _LOG.warning("the scheduler ignores the limits of %s: %s", table.name, error)
        return Slo()


def _tables_with_expired_backups(journal: OpenJournal) -> set[int]:
    """The tables of backups past their time."""
    now = journal.clock.now()
    with journal.reading_session() as session:
        found = backups.load(session)
    return {
        b.table_id for b in found if b.expires_at is not None and from_datetime(b.expires_at) <= now
    }


def _is_old(ran: datetime | None, now: Version) -> bool:
    return ran is None or from_datetime(ran) + _PAUSE_US <= now


@dataclass(frozen=True, slots=True)
class WaitingPurges:
    """The tables whose rows wait to be purged, and those whose requests are on hold."""

    waiting: frozenset[int]
    on_hold: frozenset[int]

    @staticmethod
    def of(found: Iterable[ErasureRequest], may_again: Callable[[int], bool]) -> WaitingPurges:
        """What requests ask for.

        One whose rows are gone, but that cannot be completed yet, is looked at in one of its tables
        every now and then, as ``may_again`` says.
        """
        from journal.erasure.requests import Outcome, State

        waiting: set[int] = set()
        on_hold: set[int] = set()
        for request in found:
            masked = {t.table_id for t in request.targets if t.lists}
            erased = {t.table_id for t in request.targets if t.outcome is Outcome.ERASED}
            if request.state is State.ACCEPTED:
                waiting |= masked
            elif request.state is State.ON_HOLD:
                on_hold |= masked
            elif request.state is State.PURGED:
                waiting |= {i for i in sorted(masked | erased)[:1] if may_again(i)}
        return WaitingPurges(frozenset(waiting), frozenset(on_hold))
