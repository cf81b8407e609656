"""Backups that are lists, in stores whose rows only a server reads: named, and cleared up.

A backup lists what the server has, so it costs no copy, and is as safe as the server is; copies of
it lie elsewhere (``away``). What is listed, and how it is dropped, is each store's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gateway.jobs.backup import expiry, report
from gateway.jobs.context import JobContext
from journal.model.version import Version, from_datetime
from journal.records import backups
from journal.records import maintenance as rows_of
from journal.records.backups import Backup, BackupKind, Naming
from journal.records.report import UNKNOWN, JobReport, Volume
from spark_compaction.programs import copies
from spark_compaction.programs.backup_transport import BackupTransport


@dataclass(frozen=True, slots=True)
class Keeper:
    """How a store keeps backups of a table, and carries copies of them away and back."""

    carrier: BackupTransport
    make: Callable[[Naming], Backup]
    planned: Callable[[Naming], Backup]
    reap: Callable[[], object]


class Replaced(Protocol):
    """What a job has replaced, and when."""

    @property
    def since(self) -> Version: ...

    @property
    def job_id(self) -> str: ...


R = TypeVar("R", bound=Replaced)


def name_of(context: JobContext) -> str:
    """What a backup is called: as it was asked for, or by the moment."""
    return context.text("name") or f"backup-{context.moment:%Y%m%d-%H%M%S}"


def backup(context: JobContext, keeper: Keeper) -> JobReport:
    """Give what the table consists of a name, or take the name away."""
    name = name_of(context)
    if context.flag("drop"):
        return _drop(context, keeper, name)
    naming = Naming(name, BackupKind.NAMED, context.session.user, context.moment, expiry(context))
    if context.dry_run:
        return report(context, keeper.planned(naming), "planned")
    return report(context, keeper.make(naming), "done")


def _drop(context: JobContext, keeper: Keeper, name: str) -> JobReport:
    journal, table = context.session.journal, context.table
    with journal.reading_session() as session:
        found = next((b for b in backups.load(session, table.id) if b.name == name), None)
    if found is None:
        found = backups.named((), name, str(table.name))
    if found.place is not None and not context.dry_run:
        with keeper.carrier.turn(table):
            copies.remove(journal, found, gives_up=True)
    elif not context.dry_run:
        forget(context, keeper, name)
    return report(context, found, "planned" if context.dry_run else "done")


def forget(context: JobContext, keeper: Keeper, name: str) -> None:
    """Forget a backup of the table, and drop what only it has kept."""
    with context.session.journal.exclusive_session() as session:
        rows_of.drop_backup(session, context.table.id, name)
        session.commit()
    keeper.reap()


def kept_trash(context: JobContext, trash: Backup | None, rows: int) -> Backup | None:
    """What a restore has replaced; where that is nothing, it need not be kept."""
    if trash is None or rows:
        return trash
    with context.session.journal.exclusive_session() as session:
        rows_of.drop_backup(session, context.table.id, trash.name)
        session.commit()
    return None


def expire(context: JobContext) -> list[str]:
    """Forget backups past their time, or look which they are; their names."""
    with context.session.journal.exclusive_session() as session:
        found = backups.expire(session, context.table.id, context.moment, context.number("backups"))
        if not context.dry_run:
            session.commit()
    return [b.name for b in found]


def due(context: JobContext) -> tuple[Version | None, int | None] | None:
    """The moment and the number of jobs that VACUUM goes by; None where it goes by grace."""
    limit, count = context.given.duration("retain"), context.number("versions")
    if limit is None and count is None:
        return None
    before = None if limit is None else from_datetime(limit.before(context.moment))
    return before, count


def chosen(found: Sequence[R], wanted: tuple[Version | None, int | None]) -> list[R]:
    """Of what was replaced, in order, what goes by age and by count."""
    before, count = wanted
    jobs = list(dict.fromkeys(r.job_id for r in found))
    old = set(jobs[: max(0, len(jobs) - count)]) if count is not None else set()
    return [r for r in found if (before is not None and r.since <= before) or r.job_id in old]


def vacuumed(
    context: JobContext, removed: Volume, details: Mapping[str, list[str]], *unknown: str
) -> JobReport:
    """What a clean-up has done, or would do; the numbers of ``removed`` that are ``unknown``."""
    some = removed.files or details["backups_forgotten"]
    return JobReport(
        id=context.job_id,
        kind="vacuum",
        table=str(context.table.name),
        state="nothing" if not some else "planned" if context.dry_run else "done",
        removed=removed,
        inexact={f"removed.{name}": UNKNOWN for name in unknown if some},
        details=details,
    )
