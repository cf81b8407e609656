"""The late search of an embedded warehouse: copies are searched by their filters, keys hide rows.

A mask is a file of keys, as at acceptance; what is looked for lies in a private file. Decides
nothing about which copies are searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from journal.erasure import audit, sought
from journal.erasure.kept import rows_of_copy, search_copy
from journal.erasure.late import Late, Settled
from journal.erasure.locate import Locator, Search
from journal.erasure.requests import Request, Target
from journal.erasure.secret import PRIVATE, lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.erasure.wanted import Aim, Wanted, requests
from journal.jobs.backups import Backup
from journal.journal import Journal
from journal.state import TableState
from journal.stores import duckdb_layout as layout
from journal.stores import erasure_rows as rows_of
from journal.stores.duckdb import DuckDBSession
from journal.stores.duckdb_keys import write_keys


def side(journal: Journal) -> Late:
    """The late search of a warehouse."""
    return Late(
        journal,
        partial(sought.kept, journal.root),
        partial(_find, journal),
        partial(_settle, journal),
        lambda: sought.forget_stale(journal.root, requests(journal)),
    )


def _find(
    journal: Journal, aim: Aim, wanted: Wanted, backup: Backup, target: Target
) -> tuple[list[pa.Table], Target]:
    search = Search()
    if wanted.rows:
        find = wanted.among[aim.table.id]
        keys = rows_of_copy(journal, aim.table, backup, find, search)
    else:
        with journal.reading_session() as session:
            given = (session, journal.root, aim.table, aim.identities, wanted.subjects, search)
            search_copy(journal, Locator(*given), backup)
        keys = search.keys
    told = replace(
        target,
        copies_searched=search.copies.read,
        copies_skipped=search.copies.skipped,
        bytes_searched=search.copies.bytes_read,
        bytes_skipped=search.copies.bytes_skipped,
    )
    return keys, told


def _settle(journal: Journal, settled: Settled) -> Request:
    target, done = settled.target, settled.done
    with journal.exclusive_session() as session:
        now, fence, mask = journal.clock.next(), None, None
        if settled.keys:
            entries = Suppressor(
                *(session, settled.request.id, now, settled.request.expires),
                lasting_secret(journal, session),
            )
            mask, keys = _hidden(journal, session, settled.request, target, settled.keys, entries)
            fence = journal.state.fence.extended(entries.kinds, now)
            done = replace(done, mask=mask, keys=keys)
        moved = settled.moved(session, done, now)
        rows_of.put_erasure(session, moved.to_row())
        audit.searched(journal, session, settled.by, moved, done)
        if mask is None:
            session.commit()
        else:
            name = mask

            def masked(state: TableState) -> TableState:
                return replace(state, manifest=state.manifest.with_mask(name))

            journal.swap_all(session, {target.table_id: masked}, fenced=fence)
    return moved


def _hidden(
    journal: Journal,
    session: DuckDBSession,
    request: Request,
    target: Target,
    found: Sequence[pa.Table],
    entries: Suppressor,
) -> tuple[str, int]:
    """Write and fence the keys that were found: the mask, and how many they are."""
    state = journal.state.tables[target.table_id]
    table = journal.state.catalog.by_id(target.table_id) or state.layouts[-1]
    mask = f"{PRIVATE}/erasure/{request.id}_t{table.id}_{len(request.masks)}.keys"
    path = journal.root / mask
    path.unlink(missing_ok=True)
    keys = write_keys(session, table, found, path)
    entries.keys(table, layout.key_rows(table, [str(path)]))
    return mask, keys
