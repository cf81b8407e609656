"""Vacuum: forgets expired backups, and drops pieces that nothing needs.

By age (retired that long ago, whatever their grace) and by count (only what the latest jobs
replaced stays). Archived rows, named backups in force and whatever is read at the moment stay in
any case. Copies past their time are removed where they lie, and so are reject files of all tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from journal.erasure.reject_files import drop_expired
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.version import Version
from journal.records import backups
from journal.records.report import UNKNOWN, JobReport, Volume
from spark_compaction.programs import copies
from spark_compaction.programs.backup_store import BackupRun, Replaced


@dataclass(frozen=True, slots=True)
class VacuumOptions:
    """What goes: what was retired ``before`` a version, or by others than the last ``jobs``.

    Without either, what is past its grace. Of named backups the ``backups`` latest stay.
    """

    before: Version | None = None
    jobs: int | None = None
    backups: int | None = None

    def choose(self, found: Sequence[Replaced]) -> Sequence[Replaced]:
        """Of what was replaced, in order, what goes by age and by count."""
        jobs = list(dict.fromkeys(r.job_id for r in found if r.job_id))
        old = set() if self.jobs is None else set(jobs[: max(0, len(jobs) - self.jobs)])
        before = -1 if self.before is None else self.before
        return [r for r in found if r.since <= before or r.job_id in old]


def vacuum(run: BackupRun, given: VacuumOptions) -> JobReport:
    """Forget backups, and drop what nothing needs; a dry run says what it would be."""
    with run.journal.exclusive_session() as session:
        expired = backups.expire(session, run.table.id, run.moment, given.backups)
        if not run.dry_run:
            session.commit()
    rejects = drop_expired(run.journal, run.moment, dry_run=run.dry_run)
    forgotten = [*(b.name for b in expired), *_expired_copies(run)]
    chosen = None if given.before is None and given.jobs is None else given.choose
    found = run.store.due(chosen, forgotten) if run.dry_run else run.store.reap(chosen)
    dropped = [*found.removed, *(() if run.dry_run else run.store.clear())]
    some = bool(dropped or forgotten or rejects)
    unknown = {"rows": found.rows, "bytes": found.bytes}
    return JobReport(
        id=run.job_id,
        kind="vacuum",
        table=str(run.table.name),
        state=run.state(changes=some),
        removed=Volume(len(dropped), found.rows or 0, found.bytes or 0),
        inexact={f"removed.{n}": UNKNOWN for n, v in unknown.items() if v is None and some},
        details={
            "backups_forgotten": list(dict.fromkeys(forgotten)),
            "dropped": dropped,
            "in_use": list(found.in_use),
            "reject_files_removed": rejects,
        },
    )


def _expired_copies(run: BackupRun) -> list[str]:
    """Remove copies past their time, and what was killed before it was whole; their names.

    What cannot be removed, because a job works on copies of the table or they are out of reach, is
    left to the next run.
    """
    over = [b for b in copies.recorded_copies(run.journal, run.table.id) if b.is_over(run.moment)]
    if run.dry_run:
        return [b.name for b in over]
    gone: list[str] = []
    try:
        with run.transport.lock():
            gone += copies.undo_halves(run.journal, run.table.id)
            for backup in over:
                if backup.name not in gone:
                    copies.remove(run.journal, backup)
                    gone.append(backup.name)
    except PalimpsestError as error:
        run.log(f"copies stay until the next run: {error.message}")
    return gone
