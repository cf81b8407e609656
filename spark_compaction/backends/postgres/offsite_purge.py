"""Copies of a database's backups that lie elsewhere, purged: loaded, written anew, and put back.

All of it is done in one transaction, which is rolled back: what is left are the files it has put in
the places of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from journal.files.scratch import scratch
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Segment, SegmentFile
from journal.records.backups import Backup
from journal.stores.postgres import backup_segments, layout, pieces
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from spark_compaction.backends.postgres import rewriting, table_backups
from spark_compaction.backends.postgres.backup_transport import DatabaseTransport
from spark_compaction.contract import silent
from spark_compaction.programs import copies


def purge_copy(
    journal: DatabaseJournal,
    table: Table,
    listed: Backup,
    definition: Table,
    masks: Sequence[str],
) -> tuple[int, dict[str, int]]:
    """Write the files of one copy anew that hold a key: how many, and the rows that went."""
    made: list[SegmentFile] = []
    with scratch() as folder, journal.reading_session() as session:
        try:
            paths = copies.fetch(listed, listed.paths, folder, silent)
            session.begin()
            transport = DatabaseTransport(journal, table, session)
            here = backup_segments.tables_of(transport.loaded(session, listed, paths, made))
            away = [file.path for segment in listed.segments for file in segment.files]
            versions = {mask: _count(session, table, here, mask) for mask in masks}
            moved = _rewritten(session, table, dict(zip(away, here, strict=True)), masks)
            if moved:
                copies.rewritten(transport, listed, definition, moved)
        finally:
            session.rollback()
            journal.staged.difference_update(file.path for file in made)
    return len(moved), versions


def _count(session: PostgresSession, table: Table, here: Iterable[Segment], mask: str) -> int:
    """How many rows of a mask's keys there are."""
    count = 0
    for segment in here:
        source = layout.segment_table(segment)
        rows = pieces.erased_rows(table, source, segment.fields, layout.mask_table(mask))
        counted = exp.select(exp.Count(this=exp.Star())).from_(rows.subquery("h"))
        count += int(session.row(Query(counted, ()), {})[0])
    return count


def _rewritten(
    session: PostgresSession, table: Table, here: dict[str, Segment], masks: Sequence[str]
) -> dict[str, tuple[Segment, SegmentFile] | None]:
    """What is left of the files that hold a key, by their paths in the copy."""
    erased = pieces.show_keys(session, table, masks)
    kinds: list[Callable[..., exp.Select]] = [pieces.erased_rows, pieces.kept_rows]
    goes, stays = (lambda s, f, rows=rows: rows(table, s, f, erased) for rows in kinds)
    found: dict[str, tuple[Segment, SegmentFile] | None] = {}
    for number, (path, segment) in enumerate(here.items(), table_backups.FIRST_NUMBER):
        version = segment.max_version
        done = rewriting.rewrite_piece(session, table, segment, number, goes, stays, version)
        if done is not None:
            made = done.made
            file = None if made is None else SegmentFile(made.id, 0, made.counts.total, 0)
            found[path] = None if made is None or file is None else (made, file)
    return found
