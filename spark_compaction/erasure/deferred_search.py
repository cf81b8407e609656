"""Copies that were out of reach when a request was accepted, searched once they can be reached.

    accept:  the copy is NOT_SEARCHED, and what is looked for is kept aside
    purge:   keys found there -> a mask and suppressions of their own, as at acceptance
             nothing there    -> SEARCHED_NONE

Until then its requests stay ACCEPTED, and nothing is restored from it. How a copy is searched, and
how rows are hidden, is the store's: ``Late``. Removes no row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from journal.erasure import audit
from journal.erasure.deferred_subjects import lost
from journal.erasure.erasure_spec import ErasureSpec, FindAmong, TargetTable
from journal.erasure.requests import OPEN, ErasureRequest, Outcome, Target
from journal.erasure.seam import ErasureJournal
from journal.erasure.unreachable_copies import OUT_OF_REACH, out_of_reach
from journal.identity.descriptor import ever_described
from journal.model.catalog import change_from_json
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import PutRelation
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import backups
from journal.records import erasure_rows as rows_of
from journal.records.backups import Backup
from spark_compaction.erasure.offsite_search import Copied

AskAgain = Callable[[Table, Mapping[str, Any]], FindAmong]
"""A condition that was kept aside, ready to be looked for in rows of its table as it was then."""


@dataclass(frozen=True, slots=True)
class SearchedCopy:
    """A receipt of a copy, what becomes of it, and the keys that were found there."""

    request: ErasureRequest
    target: Target
    done: Target
    keys: Sequence[pa.Table]
    by: str

    def record(
        self, journal: ErasureJournal, session: StoreSession, done: Target, now: Version
    ) -> ErasureRequest:
        """Write down that the receipt has become ``done``, in the request and the audit log.

        Gives the request as it is then. Raises ERASURE if it is not open any more, or another
        process was faster. Commits nothing.
        """
        moved = self._moved(session, done, now)
        rows_of.put_erasure(session, moved.to_row())
        audit.searched(journal, session, self.by, moved, done)
        return moved

    def _moved(self, session: StoreSession, done: Target, now: Version) -> ErasureRequest:
        found = map(ErasureRequest.of_row, rows_of.load_erasures(session))
        current = next(r for r in found if r.id == self.request.id)
        if current.state not in OPEN or self.target not in current.targets:
            raise PalimpsestError(
                Code.ERASURE,
                f"request {current.id} has changed while a copy was searched for it:"
                f" it is {current.state}",
                advice="run `palimpsest erase run` again if it still waits",
            )
        targets = tuple(done if t == self.target else t for t in current.targets)
        return replace(current, targets=targets, updated=now)


@dataclass(frozen=True, slots=True)
class Late:
    """What a store does for a late search.

    ``sought`` gives what a request looks for, as text, or None if that is lost; ``find`` searches
    one copy; ``hide`` records keys that were found, hidden and fenced from the same commit on;
    ``forget`` removes what no request looks for.
    """

    journal: ErasureJournal
    sought: Callable[[str], str | None]
    find: Callable[[TargetTable, ErasureSpec, Backup], Copied]
    hide: Callable[[SearchedCopy], ErasureRequest]
    forget: Callable[[], None]


def to_keep(wanted: ErasureSpec) -> dict[str, Any]:
    """What is to be kept aside of what a request asks."""
    return {"subjects": {n: list(v) for n, v in wanted.subjects.items()}, "again": wanted.again}


def search_each(
    late: Late, pending: Iterable[ErasureRequest], by: str, ask_again: AskAgain | None
) -> tuple[list[ErasureRequest], dict[str, PalimpsestError]]:
    """Search the copies of requests that were not searched.

    The requests as they are now, and by table why some copies still are not.
    """
    found: list[ErasureRequest] = []
    failures: dict[str, PalimpsestError] = {}
    for request in pending:
        if request.state in OPEN and request.unsearched:
            try:
                request, failed = _search(late, request, by, ask_again)
            except PalimpsestError as error:
                failed = {t.table: error for t in request.unsearched}
            failures |= failed
        found.append(request)
    late.forget()
    return found, failures


def _search(
    late: Late, request: ErasureRequest, by: str, ask_again: AskAgain | None
) -> tuple[ErasureRequest, dict[str, PalimpsestError]]:
    failures: dict[str, PalimpsestError] = {}
    for target in request.unsearched:
        backup = _recorded(late.journal, target)
        if backup is None:
            why = f"copy {target.copy} was given up before it could be searched"
            gone = replace(target, copy=None, why=why)
            request = _settle(late, SearchedCopy(request, target, gone, (), by))
            continue
        try:
            found = late.find(*_asked(late, request, target, ask_again), backup)
        except PalimpsestError as error:
            if error.code not in OUT_OF_REACH:
                raise
            failures[target.table] = out_of_reach(backup, error)
            continue
        keys = [k for k in found.keys if k.num_rows]
        outcome = Outcome.PENDING if keys else Outcome.SEARCHED_NONE
        done = replace(found.told(target), outcome=outcome, why=f"copy {target.copy}")
        request = _settle(late, SearchedCopy(request, target, done, keys, by))
    return request, failures


def _settle(late: Late, settled: SearchedCopy) -> ErasureRequest:
    if settled.keys:
        return late.hide(settled)
    journal = late.journal
    with journal.exclusive_session() as session:
        moved = settled.record(journal, session, settled.done, journal.clock.now())
        session.commit()
    return moved


def _asked(
    late: Late, request: ErasureRequest, target: Target, ask_again: AskAgain | None
) -> tuple[TargetTable, ErasureSpec]:
    """What is looked for, as it was asked when the request was accepted."""
    kept = _sought(late, request.id)
    with late.journal.statement(late.journal.begin(read_only=True)) as statement:
        committed = statement.committed
    state = committed.tables[target.table_id]
    table = committed.catalog.by_id(target.table_id) or state.layouts[-1]
    if kept["again"] is None:
        return TargetTable(table, ever_described(state.layouts)), ErasureSpec(
            subjects=kept["subjects"]
        )
    if ask_again is None:
        raise PalimpsestError(
            Code.ERASURE,
            f"request {request.id} has a condition, which only the gateway can ask again",
            advice="run `palimpsest erase run`, or CALL system.purge()",
        )
    change = change_from_json(kept["again"]["table"])
    assert isinstance(change, PutRelation)
    assert isinstance(change.relation, Table)
    among = {table.id: ask_again(change.relation, kept["again"])}
    return TargetTable(table, ()), ErasureSpec(rows={table.id: _live}, among=among)


def _sought(late: Late, request_id: str) -> Any:
    """The plain structure that ``to_keep`` made; raises ERASURE if it is lost."""
    text = late.sought(request_id)
    if text is None:
        raise lost(request_id)
    try:
        return json.loads(text)
    except ValueError as error:
        raise lost(request_id) from error


def _live() -> pa.Table:
    raise AssertionError("live rows were searched when the request was accepted")


def _recorded(journal: ErasureJournal, target: Target) -> Backup | None:
    with journal.reading_session() as session:
        known = backups.load(session, target.table_id)
    return next((b for b in known if b.name == target.copy and b.place is not None), None)
