"""The late search of a Hive store: copies are loaded to be searched, and keys hide rows by a list.

What is looked for lies in a table of the catalog, made with the request and dropped when nobody
looks any more. Decides nothing about which copies are searched.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from journal.erasure import holds
from journal.erasure.guard import load_fence
from journal.erasure.matching import distinct_keys
from journal.erasure.requests import ErasureRequest, looked_for
from journal.erasure.secret import lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.model.schema import Table
from journal.records import deferred_subjects as sql_sought
from journal.records import erasure_rows
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.leases import HeldLeases
from spark_compaction.backends.hive import acceptance, masks, offsite_search
from spark_compaction.backends.hive.key_partitions import KeyPartitions, check_holds
from spark_compaction.backends.hive.rewriting import staging
from spark_compaction.erasure import held
from spark_compaction.erasure.deferred_search import Late, SearchedCopy
from spark_compaction.erasure.held import Split


def side(journal: HiveJournal) -> Late:
    """The late search of a Hive store."""
    return Late(
        journal,
        partial(_sought, journal),
        partial(offsite_search.search_one, journal),
        partial(_hide, journal),
        partial(_forget, journal),
    )


def _sought(journal: HiveJournal, request_id: str) -> str | None:
    with journal.catalog.reading() as connection:
        return sql_sought.kept(connection, request_id)


def _forget(journal: HiveJournal) -> None:
    """Drop what no request looks for any more."""
    with journal.catalog.reading() as connection:
        if not sql_sought.names(connection):
            return
    # Beside nobody who accepts a request: what it looks for is there before the request is seen.
    with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
        with journal.recording(connection) as session:
            wanted = looked_for(map(ErasureRequest.of_row, erasure_rows.load_erasures(session)))
        for request_id in sql_sought.names(connection) - wanted:
            sql_sought.forget(connection, request_id)
    journal.catalog.scrub()


def _hide(journal: HiveJournal, settled: SearchedCopy) -> ErasureRequest:
    keys = distinct_keys(settled.keys)
    assert keys is not None
    table_id = settled.target.table_id
    with (
        journal.leases.holding([f"table:{table_id}"]) as turn,
        staging(journal) as made,
        journal.statement(journal.begin(read_only=True)) as statement,
    ):
        committed = statement.committed
        table = committed.catalog.by_id(table_id) or committed.tables[table_id].layouts[-1]
        lists, active = KeyPartitions(journal, statement, made), holds.active_in(statement.session)
        split = held.split_keys(journal, table, keys, active, partial(lists.covered, table))
        done = replace(settled.done, keys=keys.num_rows)
        done = held.written(lists, table, settled.request.id, done, split)
        judged = {h.id for h in active}
        moved = _hidden(journal, turn, table, split, replace(settled, done=done), judged)
    acceptance.show(journal)
    return moved


def _hidden(
    journal: HiveJournal,
    turn: HeldLeases,
    table: Table,
    split: Split,
    settled: SearchedCopy,
    judged: Collection[str],
) -> ErasureRequest:
    """Name the lists of keys in the manifest, with suppressions and the receipt."""
    request = settled.request
    with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
        turn.check(connection)
        row, committed = journal.look_in(connection)
        following = replace(row, generation=row.generation + 1, fence=row.generation + 1)
        state = masks.listed(
            *(connection, following.generation, table.id),
            *(committed.tables[table.id], settled.done),
        )
        with journal.recording(connection) as session:
            check_holds(session, judged)
            secret = lasting_secret(journal, session)
            entries = Suppressor(session, request.id, journal.clock.next(), request.expires, secret)
            held.suppress(entries, table, split)
            moved = settled.record(journal, session, settled.done, journal.clock.now())
            fence = load_fence(session)
            session.commit()
        rows_of.put_state(connection, following)
    journal.keep(following, committed.with_tables({table.id: state}, fence))
    return moved
