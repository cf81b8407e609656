"""Copies of backups that lie elsewhere, purged: brought here, written anew, and put back.

Files that filters and key bounds exclude stay where they are. A copy that cannot be reached keeps
its table's requests from being purged: their rows stay unseen, and the next run tries again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from journal.stores.embedded.backup_files import WarehouseTransport
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.table_lock import job_turn
from spark_compaction.contract import Engine, Progress
from spark_compaction.erasure.key_matches import counts_by_mask, holdings, may_hold_any
from spark_compaction.erasure.offsite_search import Removed
from spark_compaction.erasure.purge import (
    check_digests,
    definition,
    digests,
    moved_files,
    rewrite,
    unit_of,
)
from spark_compaction.programs import copied_filters, copies

_WAIT_S = 60.0


def purge_copies(
    journal: Journal, engine: Engine, table_id: int, masks: Sequence[str], progress: Progress
) -> dict[str, Removed]:
    """Remove the keys of some masks from every copy of a table's backups; what went, by mask.

    Raises JOB_BUSY while another job holds the table: it may be writing a copy.
    """
    with job_turn(journal, table_id, _WAIT_S):
        return _purge(journal, engine, table_id, masks, progress)


def _purge(
    journal: Journal, engine: Engine, table_id: int, masks: Sequence[str], progress: Progress
) -> dict[str, Removed]:
    table, state = definition(journal, table_id), journal.state.tables[table_id]
    transport = WarehouseTransport(journal, table)
    removed = dict.fromkeys(masks, Removed())
    for backup in copies.known(journal, table_id):
        assert backup.place is not None
        if not copies.tidy(journal, backup):
            continue
        listed, _ = copies.read(backup.place)
        filters = copied_filters.read(listed)
        with journal.reading_session() as session:
            given = (session, journal.root, table)
            wanted = {f.path for f in may_hold_any(*given, listed.segments, masks, filters)}
        if not wanted:
            continue
        with copies.fetched(transport, listed, wanted, progress) as paths:
            names = {p: str(path.relative_to(journal.root)) for p, path in paths.items()}
            here = listed.renamed(names).segments
            with journal.reading_session() as session:
                holding = holdings(session, journal.root, table, here, masks)
                counts = counts_by_mask(session, journal.root, table, holding, masks, ())
            held = holding.held
            if not held:
                continue
            folder = PurePosixPath(held[0].file.path).parent
            units = [
                unit_of(journal, table, state, h, masks, f"{folder}/new_{n}.parquet")
                for n, h in enumerate(held)
            ]
            results = rewrite(engine, units, progress)
            check_digests(digests(results), str(table.name))
            away = {local: path for path, local in names.items()}
            moved = {
                away[path]: None if file is None else (held[0].segment, file)
                for path, file in moved_files(units, results).items()
            }
            copies.rewritten(transport, listed, table, moved)
        copies.tidy(journal, backup)
        for mask, versions in counts.items():
            before = removed[mask]
            if versions:
                removed[mask] = Removed(before.files + len(held), before.versions + versions)
    return removed
