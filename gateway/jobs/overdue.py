"""Which tables have something whose grace has ended, and that nothing keeps: what vacuum removes.

Each store has its own list of what jobs have replaced. Only looks.
"""

from __future__ import annotations

from gateway.procedures import hive
from journal.embedded.journal import Journal
from journal.jobs import backups, retired
from journal.protocol import OpenJournal


def overdue(journal: OpenJournal) -> set[int]:
    """Their ids."""
    if isinstance(journal, Journal):
        return _in_warehouse(journal)
    on_hive = hive(journal)
    if on_hive is not None:
        from journal.hive import cleaning

        return {r.table_id for r in cleaning.droppable(on_hive)}
    from journal.database import replacing
    from journal.database.journal import DatabaseJournal

    assert isinstance(journal, DatabaseJournal)
    return {r.table_id for r in replacing.retired(journal) if not r.in_use}


def _in_warehouse(journal: Journal) -> set[int]:
    now = journal.clock.now()
    with journal.reading_session() as session:
        found = [r for r in retired.load(session) if retired.is_over(r, now)]
        pinned = backups.pinned_paths(session)
    return {r.table_id for r in found if not pinned.issuperset(f.path for f in r.segment.files)}
