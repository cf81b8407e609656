"""The late search of an embedded warehouse: copies are searched by their filters, keys hide rows.

A mask is a file of keys, as at acceptance; what is looked for lies in a private file. Decides
nothing about which copies are searched.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from journal.erasure import deferred_subjects, holds
from journal.erasure.erasure_spec import ErasureSpec, TargetTable, requests
from journal.erasure.requests import ErasureRequest
from journal.erasure.secret import lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.records.backups import Backup
from journal.stores.embedded.journal import Journal
from journal.transactions.state import TableState
from spark_compaction.erasure import held
from spark_compaction.erasure.backup_search import rows_of_copy, search_copy
from spark_compaction.erasure.deferred_search import Late, SearchedCopy
from spark_compaction.erasure.key_files import KeyFiles
from spark_compaction.erasure.locate import Locator, Search
from spark_compaction.erasure.offsite_search import Copied


def side(journal: Journal) -> Late:
    """The late search of a warehouse."""
    return Late(
        journal,
        partial(deferred_subjects.kept, journal.root),
        partial(_find, journal),
        partial(_hide, journal),
        lambda: deferred_subjects.forget_stale(journal.root, requests(journal)),
    )


def _find(journal: Journal, aim: TargetTable, wanted: ErasureSpec, backup: Backup) -> Copied:
    search = Search()
    if wanted.rows:
        find = wanted.among[aim.table.id]
        keys = rows_of_copy(journal, aim.table, backup, find, search)
    else:
        with journal.reading_session() as session:
            given = (session, journal.root, aim.table, aim.identities, wanted.subjects, search)
            search_copy(journal, Locator(*given), backup)
        keys = search.keys
    return Copied(
        keys,
        search.copies.read,
        search.copies.bytes_read,
        search.copies.skipped,
        search.copies.bytes_skipped,
    )


def _hide(journal: Journal, settled: SearchedCopy) -> ErasureRequest:
    request, target = settled.request, settled.target
    with journal.exclusive_session() as session:
        now, secret = journal.clock.next(), lasting_secret(journal, session)
        entries = Suppressor(session, request.id, now, request.expires, secret)
        files = KeyFiles(journal, session)
        try:
            table = files.definition(target.table_id)
            keys = files.typed(table, settled.keys)
            active, covered = holds.active_in(session), partial(files.covered, table)
            split = held.split_keys(journal, table, keys, active, covered)
            held.suppress(entries, table, split)
            done = replace(settled.done, keys=keys.num_rows)
            done = held.written(files, table, request.id, done, split)
            moved = settled.record(journal, session, done, now)

            def listing(state: TableState) -> TableState:
                return replace(state, manifest=state.manifest.with_keys(done.mask, done.spared))

            fence = journal.state.fence.extended(entries.kinds, now)
            journal.swap_all(session, {target.table_id: listing}, fenced=fence)
        except BaseException:
            files.undo()
            raise
    return moved
