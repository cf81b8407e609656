"""Which tables have something whose grace has ended, and that nothing keeps: what vacuum removes.

Each store has its own list of what jobs have replaced. Only looks.
"""

from __future__ import annotations

from gateway.procedures.procedures import hive
from journal.records import backups, retired
from journal.stores.embedded.journal import Journal
from journal.transactions.protocol import OpenJournal


def overdue(journal: OpenJournal) -> set[int]:
    """Their ids."""
    if isinstance(journal, Journal):
        return _in_warehouse(journal)
    on_hive = hive(journal)
    if on_hive is not None:
        from spark_compaction.backends.hive import cleaning

        return {r.table_id for r in cleaning.droppable(on_hive)}
    from journal.stores.postgres.journal import DatabaseJournal
    from spark_compaction.backends.postgres import segment_swap

    assert isinstance(journal, DatabaseJournal)
    return {r.table_id for r in segment_swap.retired(journal) if not r.in_use}


def _in_warehouse(journal: Journal) -> set[int]:
    now = journal.clock.now()
    with journal.reading_session() as session:
        found = [r for r in retired.load(session) if retired.is_over(r, now)]
        pinned = backups.pinned_paths(session)
    return {r.table_id for r in found if not pinned.issuperset(f.path for f in r.segment.files)}
