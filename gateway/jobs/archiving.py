"""What retention has archived: moved to where the policy says, and brought together again.

Archived rows are segments that are kept apart. They stay in the warehouse until they are known to
lie elsewhere, as a copy that erasures follow; killed in between, the next run goes on. Which rows
are archived is the retention's to decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from gateway.jobs.backup import outside, put_copy
from gateway.jobs.context import JobContext
from journal.records import backups, retired
from journal.records.backups import Backup
from journal.stores.embedded import retired_files
from journal.stores.embedded.table_lock import job_turn
from spark_compaction.erasure.deferred_search import check_searched
from spark_compaction.programs import copies

ARCHIVE = "archive"
"""The name under which archived rows are restored."""


def move(context: JobContext, place: str) -> Backup | None:
    """Move what is archived here to a place, as a copy of its own; None if there is nothing to do.

    Nothing is moved while rows of the table are being erased: a later run does it.
    """
    journal, table = context.journal, context.table
    target = outside(journal.root, place)
    copied = None
    with job_turn(journal, table.id):
        if journal.state.tables[table.id].manifest.masks:
            return None
        with journal.reading_session() as session:
            here = backups.archived(retired.load(session, table.id))
            known = [b for b in backups.load(session, table.id) if b.place and b.is_archive]
        if not here:
            return None
        # One that was killed before the archived segments were let go has moved them all the same.
        moved = {s.id for b in known if copies.tidy(journal, b) for s in b.segments}
        left = [r for r in here if r.segment.id not in moved]
        if left:
            backup = backups.archive(left, f"archive-{context.job_id}", table, context.moment)
            copied = put_copy(context, replace(backup, made_by=context.session.user), target)
        with journal.exclusive_session() as session:
            retired.keep_until(session, [r.id for r in here], journal.clock.now())
            session.commit()
    retired_files.reap(journal, journal.clock.now(), table.id)
    return copied


@contextmanager
def gathered(context: JobContext) -> Iterator[Backup]:
    """Everything that was archived, here and elsewhere, as one backup whose files are here."""
    journal, table = context.journal, context.table
    with journal.reading_session() as session:
        here = backups.archived(retired.load(session, table.id))
        known = [b for b in backups.load(session, table.id) if b.place and b.is_archive]
    for backup in known:
        check_searched(journal, backup)
    with ExitStack() as stack:
        brought = [
            stack.enter_context(copies.brought(journal, backup, table, context.progress))
            for backup in known
        ]
        yield backups.archive(here, ARCHIVE, table, context.moment, brought)


def is_asked(context: JobContext) -> bool:
    """True if a restore names the archive, and no backup has that name."""
    if context.text("backup") != ARCHIVE or context.text("from") is not None:
        return False
    with context.journal.reading_session() as session:
        found = backups.load(session, context.table.id)
    return not any(b.name == ARCHIVE for b in found)
