"""The kind ``vacuum``: backups past their time are forgotten, and files nothing needs are removed.

By age (``retain``: retired that long ago, whatever their grace) and by count (``versions``: only
what the latest jobs replaced stays). Archived rows, named backups in force and whatever is read at
the moment stay in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gateway.jobs.arguments import Arguments
from gateway.jobs.context import JobContext, JobKind
from journal.model.errors import PalimpsestError
from journal.model.version import from_datetime
from journal.records import backups, retired
from journal.records.backups import Backup
from journal.records.report import JobReport, Volume
from journal.records.retired import RetiredSegment
from journal.stores.embedded import catalog_tables as duckdb_catalog
from journal.stores.embedded import retired_files
from journal.stores.embedded.table_lock import job_turn
from spark_compaction.programs import copies

Chosen = Callable[[RetiredSegment], bool]


def _run(context: JobContext) -> JobReport:
    journal, table_id = context.journal, context.table.id
    with journal.exclusive_session() as session:
        keep = context.number("backups")
        expired = backups.expire(session, table_id, context.moment, keep)
        found = retired.load(session, table_id)
        pinned = backups.pinned_paths(session)
        if not context.dry_run:
            session.commit()
        copied = [
            b
            for b in backups.load(session, table_id)
            if b.place is not None and b.expires_at is not None and b.expires_at <= context.moment
        ]
    chosen = _chosen(context, found)
    due = [r for r in found if chosen(r)]
    kept = {f.path for r in found if not chosen(r) for f in r.segment.files} | pinned
    files = [f for r in due for f in r.segment.files if f.path not in kept]
    planned = Volume(len(files), sum(f.rows for f in files), sum(f.bytes for f in files))
    details = {"backups_forgotten": [b.name for b in [*expired, *copied]]}
    if context.dry_run:
        return _report(context, planned, details)
    gone = _cleared(context, copied)
    details["backups_forgotten"] = list(dict.fromkeys([*(b.name for b in expired), *gone]))
    reaped = retired_files.reap(journal, journal.clock.now(), table_id, chosen)
    with journal.exclusive_session() as session:
        known = duckdb_catalog.listed_paths(session) | retired.paths(session)
        backups.prune(session, known)
        session.commit()
    removed = [f for f in files if f.path in set(reaped.removed)]
    done = Volume(len(reaped.removed), sum(f.rows for f in removed), reaped.bytes)
    return _report(context, done, {**details, "in_use": list(reaped.in_use)})


def _cleared(context: JobContext, over: Iterable[Backup]) -> list[str]:
    """Remove copies past their time, and those killed before they were whole; their names.

    What cannot be now, because somebody works on them or they are out of reach, is left.
    """
    gone: list[str] = []
    try:
        with job_turn(context.journal, context.table.id):
            gone += copies.undo_halves(context.journal, context.table.id)
            for backup in over:
                if backup.name not in gone:
                    copies.remove(context.journal, backup)
                    gone.append(backup.name)
    except PalimpsestError as error:
        context.log(f"copies stay until the next run: {error.message}")
    return gone


def _chosen(context: JobContext, found: list[RetiredSegment]) -> Chosen:
    limit = context.given.duration("retain")
    now = context.journal.clock.now()
    before = None if limit is None else from_datetime(limit.before(context.moment))
    count = context.number("versions")
    jobs = list(dict.fromkeys(r.why.job_id for r in found))
    old = set(jobs[: max(0, len(jobs) - count)]) if count is not None else set()

    def chosen(one: RetiredSegment) -> bool:
        if one.why.job_kind == retired.ARCHIVE:
            return False
        if before is None and count is None:
            return retired.is_over(one, now)
        return (before is not None and one.why.since <= before) or one.why.job_id in old

    return chosen


def _report(context: JobContext, removed: Volume, details: dict[str, list[str]]) -> JobReport:
    some = removed.files or details["backups_forgotten"]
    state = "nothing" if not some else "planned" if context.dry_run else "done"
    return JobReport(
        id=context.job_id,
        kind="vacuum",
        table=str(context.table.name),
        state=state,
        removed=removed,
        details=details,
    )


def _run_on_database(context: JobContext) -> JobReport:
    from gateway.jobs.in_database import vacuum

    return vacuum(context)


def _run_on_hive(context: JobContext) -> JobReport:
    from gateway.jobs.kept_in_spark import vacuum

    return vacuum(context)


def _check(given: Arguments) -> None:
    given.duration("retain")
    given.number("versions")
    given.number("backups")


KIND = JobKind(
    "vacuum",
    "forget backups past their time and remove the files nothing needs",
    _run,
    ("retain", "versions", "backups"),
    _run_on_database,
    _run_on_hive,
    _check,
)
