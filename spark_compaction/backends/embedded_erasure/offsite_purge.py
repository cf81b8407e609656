"""Copies of backups that lie elsewhere, purged: brought here, written anew, and put back.

Files that filters and key bounds exclude stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from journal.model.schema import Table
from journal.records.backups import Backup
from journal.stores.embedded.backup_files import WarehouseTransport
from journal.stores.embedded.journal import Journal
from spark_compaction.backends.embedded_erasure.erasing import changes_of
from spark_compaction.backends.embedded_erasure.key_matches import (
    counts_by_mask,
    holdings,
    may_hold_any,
)
from spark_compaction.backends.embedded_erasure.purge import (
    check_digests,
    digests,
    moved_files,
    rewrite,
    unit_of,
)
from spark_compaction.erasure.backend import PurgeRun
from spark_compaction.programs import copied_filters, copies


def purge_copy(
    journal: Journal,
    table: Table,
    listed: Backup,
    definition: Table,
    masks: Sequence[str],
    run: PurgeRun,
) -> tuple[int, Mapping[str, int]]:
    """Write the files of a copy anew that hold a key: how many, and the rows that went, by mask.

    Where a run changes columns, those that were changed.
    """
    changes = changes_of(table, run)
    filters = copied_filters.read(listed)
    with journal.reading_session() as session:
        given = (session, journal.root, table)
        wanted = {f.path for f in may_hold_any(*given, listed.segments, masks, filters)}
    if not wanted:
        return 0, {}
    transport = WarehouseTransport(journal, table)
    with copies.fetched(transport, listed, wanted, run.progress) as paths:
        names = {p: str(path.relative_to(journal.root)) for p, path in paths.items()}
        here = listed.renamed(names).segments
        with journal.reading_session() as session:
            found = holdings(session, journal.root, table, here, masks, changes=changes)
            counts = counts_by_mask(session, journal.root, table, found, masks, (), changes)
        held = found.held
        if not held:
            return 0, {}
        folder, state = PurePosixPath(held[0].file.path).parent, journal.state.tables[table.id]
        units = [
            unit_of(journal, table, state, h, masks, f"{folder}/new_{n}.parquet", changes)
            for n, h in enumerate(held)
        ]
        results = rewrite(run.engine, units, run.progress)
        check_digests(digests(results), str(table.name))
        away = {local: path for path, local in names.items()}
        moved = {
            away[path]: None if file is None else (held[0].segment, file)
            for path, file in moved_files(units, results).items()
        }
        copies.list_rewritten_files(transport, listed, definition, moved)
    return len(held), counts
