"""Erasing in a Hive store: partitions that hold a version of hidden keys are written anew without.

    turn    the table's lease: nobody else commits to it meanwhile
    stage   what holds one of the keys, in any tier, layout and backup; compared
    swap    the catalog lists the new partitions instead, under another epoch, and hides nothing
            any more; receipts are written in the same transaction
    drop    what was replaced, now or by earlier jobs, past the file system's trash

Who is meant was decided when the request was accepted. Killed at any step, nothing or all of it
happened; a later run does the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from journal.erasure import audit
from journal.erasure.erased import Erased
from journal.erasure.erasure_spec import requests
from journal.erasure.requests import ErasureRequest, State, Target
from journal.files.scratch import sweep_scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.records import backups, erasure_rows
from journal.records.report import JobReport, Work
from journal.stores.hive import backup_segments, layout
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db import retired as sql_retired
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.pieces import pieces
from journal.stores.hive.store import HiveConnection
from journal.transactions.state import TableState
from spark_compaction.backends.hive import (
    cleaning,
    deferred_search,
    key_partitions,
    masks,
    offsite_search,
    partition_backups,
    rewriting,
)
from spark_compaction.backends.hive.erased_rows import ERASED, count, rows_with
from spark_compaction.backends.hive.rewriting import HiveRetireReason, Kept, Rows, StagedSegments
from spark_compaction.contract import Progress, silent
from spark_compaction.erasure import held
from spark_compaction.erasure.deferred_search import AskAgain
from spark_compaction.erasure.offsite_search import Away
from spark_compaction.erasure.purged import PurgeResult, targets_by_mask
from spark_compaction.erasure.purging import Purging


def erase(
    journal: HiveJournal,
    by: str,
    *,
    only: Iterable[str] | None = None,
    progress: Progress = silent,
    ask_again: AskAgain | None = None,
) -> Erased:
    """Purge what has been accepted (or ``only`` some requests), and complete what can be.

    ``ask_again`` looks for a condition in copies that were out of reach when it was accepted.
    """
    return Purging(
        deferred_search.side(journal),
        partial(_definition, journal),
        partial(key_partitions.settle, journal, by),
        partial(_purge, journal),
        lambda request: _purged(journal, request, by),
        lambda request: _complete(journal, request, by),
    ).run(only, by, ask_again, progress)


_WHY = "holds {} rows of the keys"


def planned(journal: HiveJournal, table_id: int, found: Sequence[ErasureRequest]) -> Work:
    """What a purge of a table would find for requests that no hold keeps back; changes nothing.

    Rows in copies elsewhere are not counted.
    """
    lists = held.free_masks(found, table_id)
    table = _definition(journal, table_id)
    if not lists:
        return Work()
    with journal.statement(journal.begin(read_only=True)) as statement:
        session = statement.session
        session.put_remote(ERASED, layout.masked_keys(journal.names, table, lists))
        state = partition_backups.with_backups(session, table, statement.committed.tables[table_id])
        work = Work()
        for piece in pieces(state.manifest.segments):
            counts = rewriting.counted(session, rows_with(journal, table, piece, "SEMI"))
            work += rewriting.planned(piece, counts, _WHY)
        return work


def _definition(journal: HiveJournal, table_id: int) -> Table:
    _, state = journal.look()
    return state.catalog.by_id(table_id) or state.tables[table_id].layouts[-1]


def _purge(journal: HiveJournal, table: Table, accepted: set[str]) -> JobReport:
    """Remove the keys of all accepted requests from all a table has, and from copies elsewhere.

    Copies come first: until the swap the lists say what is to go. They stay while a copy cannot be
    reached, whose error is raised when what lies here is gone.
    """
    away = offsite_search.purge(journal, table, _targets(journal, table, accepted))
    report = _purge_here(journal, table, accepted, away)
    if away.error is not None:
        raise away.error
    return report


def _purge_here(journal: HiveJournal, table: Table, accepted: set[str], away: Away) -> JobReport:
    started = time.monotonic()
    with (
        journal.leases.holding([f"table:{table.id}"]) as turn,
        rewriting.staging(journal) as made,
        journal.statement(journal.begin(read_only=True)) as statement,
    ):
        session, state = statement.session, statement.committed.tables[table.id]
        targets = _targets(journal, table, accepted)
        if not targets:
            why = "the requests were cancelled, or a legal hold keeps them back"
            return JobReport("", "purge", str(table.name), "nothing", why)
        session.put_remote(ERASED, layout.masked_keys(journal.names, table, targets))

        def rows(kind: str) -> Rows:
            return lambda piece: rows_with(journal, table, piece, kind)

        both = (rows("SEMI"), rows("ANTI"))
        kept = Kept(
            backup_segments.backup_only_segments(session, table, state),
            partition_backups.listed_in(session, table),
        )
        staged = rewriting.rewrite(journal, session, table, state, both, made, kept, _WHY)
        removed = dict.fromkeys(targets, staged.removed)
        if len(targets) > 1:
            searched = partition_backups.with_backups(session, table, state).manifest
            removed = {m: count(journal, session, table, searched, m) for m in targets}
        with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
            turn.check(connection)
            row, committed = journal.look_in(connection)
            row = replace(row, generation=row.generation + 1)
            now = committed.tables[table.id]
            if now.manifest != state.manifest:
                raise PalimpsestError(
                    Code.JOB_BUSY,
                    f"a request about {table.name} was cancelled, or another was accepted,"
                    " while rows were erased",
                    advice="run it again",
                )
            with journal.recording(connection) as records:
                following = _swapped(
                    journal, connection, records, row.generation, table, now, staged
                )
                if away.error is None:
                    following = masks.shown(
                        *(journal, connection, row.generation, table.id, following, targets)
                    )
                done = PurgeResult(now.manifest, following.manifest, staged.work, away)
                listed = len(now.manifest.segments)
                told = {m: replace(t, files_searched=listed) for m, t in targets.items()}
                done.record(records, told, removed)
                records.commit()
            rows_of.put_state(connection, row)
        journal.keep(row, committed.with_tables({table.id: following}))
    journal.held.forget([s.files[0].path for s in staged.replaced])
    return JobReport.of(
        *(staged.work, "", "purge", str(table.name), "done"),
        seconds={"purge": round(time.monotonic() - started, 3)},
    )


def _targets(journal: HiveJournal, table: Table, accepted: set[str]) -> dict[str, Target]:
    return targets_by_mask(requests(journal), accepted, table.id)


def _swapped(
    journal: HiveJournal,
    connection: CatalogConnection,
    records: StoreSession,
    generation: int,
    table: Table,
    state: TableState,
    staged: StagedSegments,
) -> TableState:
    """List the new partitions, let backups follow, and the grace of all that was replaced end."""
    following, now = staged.in_place(state), journal.now()
    rewriting.swap(connection, generation, table, following, staged, HiveRetireReason("", now, now))
    partition_backups.follow(records, connection, table, staged, now)
    return following


def _purged(journal: HiveJournal, request: ErasureRequest, by: str) -> ErasureRequest:
    with journal.exclusive_session() as session:
        moved = request.moved(State.PURGED, journal.clock.now())
        erasure_rows.put_erasure(session, moved.to_row())
        audit.purged(journal, session, moved, by)
        session.commit()
    return moved


def _complete(journal: HiveJournal, request: ErasureRequest, by: str) -> ErasureRequest:
    if request.state is not State.PURGED:
        return request
    left: list[str] = []
    if journal.views is not None:
        # They shall name nothing that goes now.
        journal.views.refresh(journal.look()[1])
    with journal.store.connection() as connection:
        cleaning.reap(journal, connection)
        for target in request.targets:
            left += _left(journal, connection, target.table_id, request.updated)
    left += map(str, sweep_scratch())
    if left:
        why = f"rows of transactions that did not end may be in {', '.join(left)}"
        following = replace(request, waits_for=why)
    else:
        following = request.moved(State.COMPLETED, journal.clock.now(), waits_for="")
    with journal.exclusive_session() as session:
        erasure_rows.put_erasure(session, following.to_row())
        if following.state is State.COMPLETED:
            audit.completed(journal, session, following, by)
        session.commit()
    return following


def _left(
    journal: HiveJournal, connection: HiveConnection, table_id: int, before: int
) -> list[str]:
    """Retired segments of a table, and partitions and tables that nobody has listed since."""
    with journal.catalog.reading() as reading:
        retired = {r.path for r in sql_retired.load_retired(reading, table_id)}
    with journal.reading_session() as session:
        retired -= backups.listed_paths(backups.load(session, table_id))
    return [*sorted(retired), *cleaning.forsaken(journal, connection, before, table_id)]
