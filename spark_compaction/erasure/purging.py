"""Runs the purge of accepted requests, table by table, and completes them.

    search     copies that were out of reach when a request was accepted
    hold       what a legal hold keeps back waits for its release
    purge      table after table; one that fails stops no other, and leaves its requests accepted
    complete   each request none of whose rows are left, once nothing of them is left anywhere

A purge of a table goes from what lies in the store to copies elsewhere, and then takes the masks
off. How rows are removed is the store's: ``ErasureBackend``. All accepted requests share one pass
over each table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from journal.erasure import audit
from journal.erasure.changeable import check_changes
from journal.erasure.erased import Erased
from journal.erasure.erasure_spec import requests
from journal.erasure.requests import ErasureRequest, State
from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.model.schema import Table
from journal.records import erasure_rows as rows_of
from journal.records.report import JobReport, Work
from journal.transactions.reading import reading
from spark_compaction.contract import Engine, Progress, Watching, silent, unwatched
from spark_compaction.erasure.backend import (
    CopiesPurge,
    ErasureBackend,
    KeyLists,
    ListChange,
    ListDecision,
    PurgeRun,
    Removed,
)
from spark_compaction.erasure.deferred_search import AskAgain, search_each
from spark_compaction.erasure.legal_holds import apply_holds, definition, free_masks
from spark_compaction.erasure.offsite_search import purge_copies
from spark_compaction.erasure.receipts import Conclusion, accepted_masks, nothing_to_purge
from spark_compaction.erasure.replica_waits import waits_for_replica


def purge(
    backend: ErasureBackend,
    by: str,
    *,
    only: Iterable[str] | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
    ask_again: AskAgain | None = None,
    unit_bytes: int = 0,
    watching: Watching = unwatched,
) -> Erased:
    """Purge what has been accepted (or ``only`` some requests), and complete what can be.

    ``engine`` writes rows elsewhere where the store has that done. ``ask_again`` looks for a
    condition in copies that were out of reach when it was accepted. What fails in one table is in
    the result, by the table's name. ``PurgeRun`` says what the others are.
    """
    done, journal = Erased(), backend.journal
    chosen = None if only is None else set(only)
    pending = [r for r in requests(journal) if chosen is None or r.id in chosen]
    pending, done.failures = search_each(backend, pending, by, ask_again)
    ids = {r.id for r in pending}
    apply_holds(backend, by, ids)
    accepted = [r for r in requests(journal) if r.id in ids and r.state is State.ACCEPTED]
    run = PurgeRun(
        *(frozenset(r.id for r in accepted), engine, progress),
        by=by,
        unit_bytes=unit_bytes,
        watching=watching,
    )
    tables = sorted({t.table_id for r in accepted for t in r.targets if t.mask})
    with reading(journal) as statement:
        committed = statement.committed
    for number, table_id in enumerate(tables):
        table = definition(committed, table_id)
        try:
            with failures():
                done.reports += purge_table(backend, table, run)
        except PalimpsestError as error:
            done.failures.setdefault(str(table.name), error)
        progress("purge", number + 1, len(tables))
    for request in requests(journal):
        if request.id in run.accepted and request.state is State.ACCEPTED:
            if not request.masks and not request.unsearched:
                record_purged(backend, request, by)
    complete(backend, by, chosen)
    after = {r.id: r for r in requests(journal)}
    done.requests = [after[r.id] for r in pending]
    return done


def purge_table(backend: ErasureBackend, table: Table, run: PurgeRun) -> list[JobReport]:
    """Remove the keys of all accepted requests from all a table has, and write the receipts.

    Requests that change columns, each in the same way, have a pass of their own.
    """
    found = accepted_masks(requests(backend.journal), run.accepted, table.id)
    if not found:
        return [nothing_to_purge(table)]
    reports: list[JobReport] = []
    for changes in dict.fromkeys(found.values()):
        reports += _purge_masks(backend, table, replace(run, changes=changes))
    return reports


def _purge_masks(backend: ErasureBackend, table: Table, run: PurgeRun) -> list[JobReport]:
    """The same for the masks that ask for the changes of a run.

    What lies in the store goes first, and then copies elsewhere: one that is made of rows before
    they go is found among these. Masks stay while a copy cannot be purged, whose error is raised in
    the end; the next run goes on with the copies.
    """

    def masks() -> tuple[str, ...]:
        return _masks_of(requests(backend.journal), run, table)

    if not (names := masks()):
        return [nothing_to_purge(table)]
    if run.changes:
        with reading(backend.journal) as statement:
            check_changes(statement.committed, table, run.changes)
    reports = backend.remove_rows(table, masks, run)
    try:
        with failures():
            copied = purge_copies(backend, run, table, names)
    except PalimpsestError as error:
        copied = CopiesPurge(dict.fromkeys(names, Removed()), error)

    def conclude(lists: KeyLists) -> ListDecision[None]:
        manifest = lists.committed.tables[table.id].manifest
        found = _masks_of(lists.open_requests(run.accepted), run, table)
        over = tuple(m for m in names if m in found and m in manifest.masks)
        change = ListChange(table.id, () if copied.error is not None else over)
        done = Conclusion(over, change.applied(manifest), copied, backend.journal, run.by)
        return ListDecision(done.record, (change,) if change.dropped else ())

    backend.change_lists([table.id], conclude)
    if copied.error is not None:
        raise copied.error
    return reports


def _masks_of(found: Iterable[ErasureRequest], run: PurgeRun, table: Table) -> tuple[str, ...]:
    """The masks of a table whose requests ask for the changes of a run."""
    accepted = accepted_masks(found, run.accepted, table.id)
    return tuple(mask for mask, changes in accepted.items() if changes == run.changes)


def record_purged(backend: ErasureBackend, request: ErasureRequest, by: str) -> None:
    """Record that the rows of a request are in no piece that is listed."""
    journal = backend.journal
    with journal.fencing_session() as session:
        now = journal.clock.now()
        dropped = rows_of.drop_expired(session, now)
        moved = request.in_state(State.PURGED, now)
        rows_of.put_erasure(session, moved.to_row())
        audit.purged(journal, session, moved, by, lists_changed=dropped > 0)


def complete(backend: ErasureBackend, by: str, only: Collection[str] | None = None) -> None:
    """Drop what purges have replaced; requests of which nothing is left are COMPLETED.

    Of all purged requests, or ``only`` some; the others note what they wait for.
    """
    purged = [r for r in requests(backend.journal) if r.state is State.PURGED]
    chosen = [r for r in purged if only is None or r.id in only]
    left = backend.clear_remains(chosen)
    for request in chosen:
        waits_for = left.get(request.id) or waits_for_replica(backend.journal, request)
        record_completed(backend, request, waits_for or "", by)


def record_completed(
    backend: ErasureBackend, request: ErasureRequest, waits_for: str, by: str
) -> None:
    """Record that nothing of a request is left, or what it ``waits_for``."""
    journal = backend.journal
    with journal.exclusive_session() as session:
        if waits_for:
            following = replace(request, waits_for=waits_for)
        else:
            following = request.in_state(State.COMPLETED, journal.clock.now(), waits_for="")
            audit.completed(journal, session, following, by)
        rows_of.put_erasure(session, following.to_row())
        session.commit()


def planned(backend: ErasureBackend, table_id: int, found: Sequence[ErasureRequest]) -> Work:
    """What a purge of a table would do for requests that no hold keeps back; changes nothing.

    Rows in copies elsewhere are not counted.
    """
    masks = free_masks(found, table_id)
    if not masks:
        return Work()
    with reading(backend.journal) as statement:
        table = definition(statement.committed, table_id)
    return backend.planned(table, masks)
