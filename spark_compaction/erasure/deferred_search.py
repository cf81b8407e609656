"""Searches copies that were out of reach when a request was accepted.

    accept:  the copy is NOT_SEARCHED, and what is looked for is kept aside
    purge:   keys found there -> a mask and suppressions of their own, as at acceptance
             nothing there    -> SEARCHED_NONE

Reject files are searched with them, always by the purge.

Until then its requests stay ACCEPTED, and nothing is restored from it. Removes no row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from journal.erasure import audit
from journal.erasure.deferred_subjects import subjects_lost
from journal.erasure.erasure_spec import ErasureSpec, FindAmong, TargetTable
from journal.erasure.matching import distinct_keys
from journal.erasure.requests import OPEN, ErasureRequest, Outcome, State, Target
from journal.erasure.seam import ErasureJournal
from journal.erasure.secret import lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.erasure.unreachable_copies import OUT_OF_REACH, out_of_reach
from journal.identity.descriptor import EVERY_ROW, ever_described
from journal.model.catalog import change_from_json
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import PutRelation
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.records import backups
from journal.records import erasure_rows as rows_of
from journal.records.backups import Backup
from journal.transactions.reading import reading
from spark_compaction.erasure.backend import ErasureBackend, KeyLists, ListChange, ListDecision
from spark_compaction.erasure.deferred_target import with_target
from spark_compaction.erasure.legal_holds import definition, split_keys, suppress, write_lists
from spark_compaction.erasure.offsite_search import search_copy
from spark_compaction.erasure.reject_search import clear_reject_file

AskAgain = Callable[[Table, Mapping[str, Any]], FindAmong]
"""A condition that was kept aside, ready to be looked for in rows of its table as it was then."""


def subjects_text(wanted: ErasureSpec) -> str:
    """What is to be kept aside of what a request asks."""
    subjects = {name: list(values) for name, values in wanted.subjects.items()}
    return json.dumps({"subjects": subjects, "again": wanted.again})


def search_each(
    backend: ErasureBackend, pending: Iterable[ErasureRequest], by: str, ask_again: AskAgain | None
) -> tuple[list[ErasureRequest], dict[str, PalimpsestError]]:
    """Search the copies of requests that were not searched.

    The requests as they are now, and by table why some copies still are not.
    """
    found: list[ErasureRequest] = []
    failures: dict[str, PalimpsestError] = {}
    for request in pending:
        if request.state in OPEN and request.unsearched:
            try:
                request, failed = _search(backend, request, by, ask_again)
            except PalimpsestError as error:
                failed = {t.table: error for t in request.unsearched}
            failures |= failed
        found.append(request)
    backend.forget_subjects()
    return found, failures


def _search(
    backend: ErasureBackend, request: ErasureRequest, by: str, ask_again: AskAgain | None
) -> tuple[ErasureRequest, dict[str, PalimpsestError]]:
    failures: dict[str, PalimpsestError] = {}
    for target in request.unsearched:
        if target.reject_file is not None:
            if request.state is State.ON_HOLD:
                continue
            try:
                named = _subjects(backend, request.id)["subjects"]
                request = clear_reject_file(backend, request, target, named, by)
            except PalimpsestError as error:
                failures.setdefault(target.table, error)
            continue
        backup = _recorded(backend.journal, target)
        if backup is None:
            why = f"copy {target.copy} was given up before it could be searched"
            done = replace(target, copy=None, why=why)
            request = _record_result(backend, request, target, done, None, by)
            continue
        try:
            aim, wanted = _recorded_spec(backend, request, target, ask_again)
            found = search_copy(backend, aim, wanted, backup)
        except PalimpsestError as error:
            if error.code not in OUT_OF_REACH:
                raise
            failures[target.table] = out_of_reach(backup, error)
            continue
        keys, copied = distinct_keys(found.keys), found.copies
        done = replace(
            target,
            outcome=Outcome.SEARCHED_NONE if keys is None else Outcome.PENDING,
            why=f"copy {target.copy}",
            keys=0 if keys is None else keys.num_rows,
            copies_searched=copied.read,
            copies_skipped=copied.skipped,
            copies_bytes_searched=copied.bytes_read,
            copies_bytes_skipped=copied.bytes_skipped,
        )
        request = _record_result(backend, request, target, done, keys, by)
    return request, failures


def _record_result(
    backend: ErasureBackend,
    request: ErasureRequest,
    target: Target,
    done: Target,
    keys: pa.Table | None,
    by: str,
) -> ErasureRequest:
    """Write down what became of a receipt; keys that were found are hidden from the commit on.

    Raises ERASURE if the request is not open any more, or another process was faster.
    """
    journal = backend.journal

    def decide(lists: KeyLists) -> ListDecision[ErasureRequest]:
        after, split, table = done, None, definition(lists.committed, target.table_id)
        if keys is not None:
            split = split_keys(journal, lists, table, keys)
            after = write_lists(lists, table, request.id, done, split)

        def record(session: StoreSession) -> ErasureRequest:
            now = journal.clock.next()
            if split is not None:
                secret = lasting_secret(journal, session)
                suppress(
                    Suppressor(session, request.id, now, request.expires, secret), table, split
                )
            moved = with_target(session, request.id, target, after, now)
            rows_of.put_erasure(session, moved.to_row())
            audit.record_searched(journal, session, by, moved, after)
            return moved

        change = ListChange(target.table_id, mask=after.mask, spared=after.spared)
        return ListDecision(record, [change] if after.lists else [])

    moved = backend.change_lists([target.table_id], decide)
    assert moved is not None
    return moved


def _recorded_spec(
    backend: ErasureBackend, request: ErasureRequest, target: Target, ask_again: AskAgain | None
) -> tuple[TargetTable, ErasureSpec]:
    """What is looked for, as it was asked when the request was accepted."""
    asked = _subjects(backend, request.id)
    with reading(backend.journal) as statement:
        committed = statement.committed
    table = definition(committed, target.table_id)
    if table.materialized is not None:
        return TargetTable(table, (EVERY_ROW,)), ErasureSpec()
    if asked["again"] is None:
        identities = ever_described(committed.tables[table.id].layouts)
        return TargetTable(table, identities), ErasureSpec(subjects=asked["subjects"])
    if ask_again is None:
        raise PalimpsestError(
            Code.ERASURE,
            f"request {request.id} has a condition, which only the gateway can ask again",
            advice="run `palimpsest erase run`, or CALL system.purge()",
        )
    change = change_from_json(asked["again"]["table"])
    assert isinstance(change, PutRelation)
    assert isinstance(change.relation, Table)
    among = {table.id: ask_again(change.relation, asked["again"])}
    return TargetTable(table, ()), ErasureSpec(rows={table.id: _live}, among=among)


def _subjects(backend: ErasureBackend, request_id: str) -> Any:
    """The plain structure that ``subjects_text`` wrote; raises ERASURE if it is lost."""
    text = backend.deferred_subjects(request_id)
    if text is None:
        raise subjects_lost(request_id)
    try:
        return json.loads(text)
    except ValueError as error:
        raise subjects_lost(request_id) from error


def _live() -> pa.Table:
    raise AssertionError("the gateway searched live rows when it accepted the request")


def _recorded(journal: ErasureJournal, target: Target) -> Backup | None:
    with journal.reading_session() as session:
        known = backups.load(session, target.table_id)
    return next((b for b in known if b.name == target.copy and b.place is not None), None)
