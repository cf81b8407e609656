"""The late search of a database: copies are loaded to be searched, and keys hide rows by a mask.

What is looked for lies in a table of its own, made with the request and dropped when nobody looks
any more. Decides nothing about which copies are searched.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from journal.erasure import holds
from journal.erasure.matching import distinct_keys
from journal.erasure.requests import ErasureRequest, looked_for
from journal.erasure.secret import lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.records import deferred_subjects as postgres_sought
from journal.records import erasure_rows as rows_of
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import JournalState
from spark_compaction.backends.postgres import masks, offsite_search, segment_swap
from spark_compaction.backends.postgres.key_tables import KeyTables
from spark_compaction.backends.postgres.segment_swap import Changed, publish
from spark_compaction.erasure import held
from spark_compaction.erasure.deferred_search import Late, SearchedCopy


def side(journal: DatabaseJournal) -> Late:
    """The late search of a database."""
    return Late(
        journal,
        partial(_sought, journal),
        partial(offsite_search.search_one, journal),
        partial(_hide, journal),
        partial(forget, journal),
    )


def _sought(journal: DatabaseJournal, request_id: str) -> str | None:
    with journal.reading_session() as session:
        return postgres_sought.kept(session, request_id)


def forget(journal: DatabaseJournal) -> None:
    """Drop what no request looks for any more."""
    with journal.reading_session() as session:
        if not postgres_sought.names(session):
            return
    # Beside nobody who accepts a request: what it looks for is there before the request is seen.
    with journal.exclusive_session() as session:
        wanted = looked_for(map(ErasureRequest.of_row, rows_of.load_erasures(session)))
        for request_id in postgres_sought.names(session) - wanted:
            postgres_sought.forget(session, request_id)
        session.commit()


def _hide(journal: DatabaseJournal, settled: SearchedCopy) -> ErasureRequest:
    keys = distinct_keys(settled.keys)
    assert keys is not None
    found: list[ErasureRequest] = []

    def change(session: PostgresSession, committed: JournalState) -> Changed:
        request, target = settled.request, settled.target
        table = segment_swap.definition(committed, target.table_id)
        now, secret = journal.clock.next(), lasting_secret(journal, session)
        entries = Suppressor(session, request.id, now, request.expires, secret)
        lists, active = KeyTables(journal, session, committed), holds.active_in(session)
        split = held.split_keys(journal, table, keys, active, partial(lists.covered, table))
        held.suppress(entries, table, split)
        done = replace(settled.done, keys=keys.num_rows)
        done = held.written(lists, table, request.id, done, split)
        state = committed.tables[table.id]
        state = masks.listed(session, table, state, done.mask, done.spared)
        found[:] = [settled.record(journal, session, done, journal.clock.now())]
        return Changed({table.id: state}, committed.fence.extended(entries.kinds, now))

    publish(journal, change)
    return found[0]
