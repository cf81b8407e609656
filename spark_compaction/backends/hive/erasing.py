"""Purging a table of a Hive store: partitions that hold a version of hidden keys are written anew.

    turn    the table's lease: nobody else commits to it meanwhile
    stage   what holds one of the keys, in any tier, layout and backup; compared
    swap    the catalog lists the new partitions instead, under another epoch, and hides nothing
            any more; receipts are written in the same transaction

Who is meant was decided when the request was accepted. Killed at any step, nothing or all of it
happened; a later run does the rest.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from journal.erasure.erasure_spec import requests
from journal.erasure.requests import Target
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.records.report import JobReport, Work
from journal.stores.hive import backup_segments, layout
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db.engine import CatalogConnection
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.pieces import pieces
from journal.transactions.state import TableState
from spark_compaction.backends.hive import partition_backups, rewriting
from spark_compaction.backends.hive.erased_rows import ERASED, count, rows_with
from spark_compaction.backends.hive.key_partitions import relisted
from spark_compaction.backends.hive.rewriting import HiveRetireReason, Kept, Rows, StagedSegments
from spark_compaction.erasure.backend import (
    CopiesPurge,
    ErasureBackend,
    ListChange,
    PurgeRun,
)
from spark_compaction.erasure.offsite_search import purge_copies
from spark_compaction.erasure.receipts import PurgeResult, nothing_to_purge, targets_by_mask

_WHY = "holds {} rows of the keys"


def planned(journal: HiveJournal, table: Table, masks: Sequence[str]) -> Work:
    """What a purge of a table would find; changes nothing."""
    with journal.statement(journal.begin(read_only=True)) as statement:
        session = statement.session
        session.put_remote(ERASED, layout.masked_keys(journal.names, table, masks))
        state = partition_backups.with_backups(session, table, statement.committed.tables[table.id])
        work = Work()
        for piece in pieces(state.manifest.segments):
            counts = rewriting.counted(session, rows_with(journal, table, piece, "SEMI"))
            work += rewriting.planned(piece, counts, _WHY)
        return work


def purge_table(
    backend: ErasureBackend, journal: HiveJournal, table: Table, run: PurgeRun
) -> list[JobReport]:
    """Remove the keys of all accepted requests from all a table has, and from copies elsewhere.

    Copies come first: until the swap the lists say what is to go. They stay while a copy cannot be
    reached, whose error is raised when what lies here is gone.
    """
    away = purge_copies(backend, run, table, _targets(journal, table, run.accepted))
    report = _purge_here(journal, table, run.accepted, away)
    if away.error is not None:
        raise away.error
    return [report]


def _purge_here(
    journal: HiveJournal, table: Table, accepted: Collection[str], away: CopiesPurge
) -> JobReport:
    started = time.monotonic()
    with (
        journal.leases.holding([f"table:{table.id}"]) as turn,
        rewriting.staging(journal) as made,
        journal.statement(journal.begin(read_only=True)) as statement,
    ):
        session, state = statement.session, statement.committed.tables[table.id]
        targets = _targets(journal, table, accepted)
        if not targets:
            return nothing_to_purge(table)
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
                    gone = ListChange(table.id, tuple(targets))
                    following = relisted(journal, connection, row.generation, following, gone)
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


def _targets(journal: HiveJournal, table: Table, accepted: Collection[str]) -> dict[str, Target]:
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
