"""The late search of an embedded warehouse: copies are searched by their filters, keys hide rows.

A mask is a file of keys, as at acceptance; what is looked for lies in a private file. Decides
nothing about which copies are searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from journal.embedded.journal import Journal
from journal.erasure import sought
from journal.erasure.copied import Copied
from journal.erasure.kept import rows_of_copy, search_copy
from journal.erasure.late import Late, Settled
from journal.erasure.locate import Locator, Search
from journal.erasure.requests import Request, Target
from journal.erasure.secret import PRIVATE, lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.erasure.wanted import Aim, Wanted, requests
from journal.jobs.backups import Backup
from journal.state import TableState
from journal.stores.duckdb import layout
from journal.stores.duckdb.keys import write_keys
from journal.stores.duckdb.store import DuckDBSession


def side(journal: Journal) -> Late:
    """The late search of a warehouse."""
    return Late(
        journal,
        partial(sought.kept, journal.root),
        partial(_find, journal),
        partial(_hide, journal),
        lambda: sought.forget_stale(journal.root, requests(journal)),
    )


def _find(journal: Journal, aim: Aim, wanted: Wanted, backup: Backup) -> Copied:
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


def _hide(journal: Journal, settled: Settled) -> Request:
    request, target = settled.request, settled.target
    with journal.exclusive_session() as session:
        now, secret = journal.clock.next(), lasting_secret(journal, session)
        entries = Suppressor(session, request.id, now, request.expires, secret)
        mask, keys = _mask(journal, session, request, target, settled.keys, entries)
        done = replace(settled.done, mask=mask, keys=keys)
        moved = settled.record(journal, session, done, now)

        def masked(state: TableState) -> TableState:
            return replace(state, manifest=state.manifest.with_mask(mask))

        fence = journal.state.fence.extended(entries.kinds, now)
        journal.swap_all(session, {target.table_id: masked}, fenced=fence)
    return moved


def _mask(
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
