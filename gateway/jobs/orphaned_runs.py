"""Finds runs whose process has ended, and records them as interrupted.

A process holds a lock with the name of its run for as long as the run lasts. So a run that is
recorded as RUNNING, and whose lock is free, is over. This module also drops the backups that such
a run kept for itself. It does not decide whether the job runs again.
"""

from __future__ import annotations

from collections.abc import Collection

from gateway.jobs.job_locks import ExclusiveLock
from journal.model.version import to_datetime
from journal.records import backups
from journal.records import maintenance as rows_of
from journal.transactions.protocol import OpenJournal


def owner_lock_name(job_id: str) -> str:
    """The name that a run is held under."""
    return f"run:{job_id}"


def note_interrupted(
    journal: OpenJournal, alone: ExclusiveLock, table_ids: Collection[int]
) -> None:
    """Note what became of the runs on some tables that no process works on any more.

    What only they kept is dropped by the next job that clears up.
    """
    with journal.reading_session() as session:
        found = [(job, i) for job, i in rows_of.running_jobs(session) if i in table_ids]
    for job_id, table_id in found:
        with alone(owner_lock_name(job_id)) as is_over:
            if is_over:
                with journal.exclusive_session() as session:
                    for name in backups.held_by(job_id):
                        rows_of.drop_backup(session, table_id, name)
                    rows_of.interrupt_job(session, job_id, to_datetime(journal.clock.now()))
                    session.commit()
