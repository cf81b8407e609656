"""Copies that were out of reach when a request was accepted, searched once they can be reached.

    accept:  the copy is NOT_SEARCHED, and what is looked for is kept aside
    purge:   keys found there -> a mask and suppressions of their own, as at acceptance
             nothing there    -> SEARCHED_NONE

Until then its requests stay ACCEPTED, and nothing is restored from it. Removes no row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from journal.catalog import change_from_json
from journal.erasure import audit, sought
from journal.erasure.descriptor import ever_described
from journal.erasure.kept import OUT_OF_REACH, out_of_reach, rows_of_copy, search_copy
from journal.erasure.locate import Locator, Search
from journal.erasure.requests import Outcome, Request, State, Target
from journal.erasure.secret import PRIVATE, lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.erasure.wanted import FindAmong, Wanted, requests
from journal.errors import Code, PalimpsestError
from journal.jobs import backups
from journal.jobs.backups import Backup
from journal.journal import Journal
from journal.plan import PutRelation
from journal.schema import Table
from journal.state import TableState
from journal.stores import duckdb_layout as layout
from journal.stores import erasure_rows as rows_of
from journal.stores.duckdb_keys import write_keys

AskAgain = Callable[[Table, Mapping[str, Any]], FindAmong]
"""A condition that was kept aside, ready to be looked for in rows of its table as it was then."""


def to_keep(wanted: Wanted) -> dict[str, Any]:
    """What is to be kept aside of what a request asks."""
    return {"subjects": {n: list(v) for n, v in wanted.subjects.items()}, "again": wanted.again}


def search_late(
    journal: Journal, request: Request, by: str, ask_again: AskAgain | None
) -> tuple[Request, dict[str, PalimpsestError]]:
    """Search the copies of a request that were not; what it is now, and why some still are not.

    Raises ERASURE where it is not known any more what is to be looked for.
    """
    failures: dict[str, PalimpsestError] = {}
    for target in request.unsearched:
        backup = _recorded(journal, target)
        if backup is None:
            why = f"copy {target.copy} was given up before it could be searched"
            gone = replace(target, copy=None, why=why)
            request = _settled(journal, request, target, gone, [], by)
            continue
        try:
            found, search = _found(journal, request, target, backup, ask_again)
        except PalimpsestError as error:
            if error.code not in OUT_OF_REACH:
                raise
            failures[target.table] = out_of_reach(backup, error)
            continue
        done = replace(
            target,
            outcome=Outcome.PENDING if found else Outcome.SEARCHED_NONE,
            why=f"copy {target.copy}",
            copies_searched=search.copies.read,
            copies_skipped=search.copies.skipped,
            bytes_searched=search.copies.bytes_read,
            bytes_skipped=search.copies.bytes_skipped,
        )
        request = _settled(journal, request, target, done, found, by)
    if not request.unsearched:
        sought.forget(journal.root, request.id)
    return request, failures


def check_searched(journal: Journal, backup: Backup) -> None:
    """Raise ERASURE while somebody who is to be erased was not looked for in a copy."""
    for request in requests(journal):
        if request.state not in {State.ACCEPTED, State.ON_HOLD}:
            continue
        places = {r.place for t in request.unsearched if (r := _recorded(journal, t)) is not None}
        if backup.place in places:
            raise PalimpsestError(
                Code.ERASURE,
                f"whom request {request.id} erases was not looked for yet in {backup.place}",
                advice="run `palimpsest erase run` now that it can be reached, then restore",
            )


def _recorded(journal: Journal, target: Target) -> Backup | None:
    with journal.reading_session() as session:
        known = backups.load(session, target.table_id)
    return next((b for b in known if b.name == target.copy and b.place is not None), None)


def _found(
    journal: Journal,
    request: Request,
    target: Target,
    backup: Backup,
    ask_again: AskAgain | None,
) -> tuple[list[pa.Table], Search]:
    """The keys in a copy of whoever a request is about."""
    kept = sought.kept(journal.root, request.id)
    state = journal.state.tables[target.table_id]
    table = journal.state.catalog.by_id(target.table_id) or state.layouts[-1]
    search = Search()
    if kept["again"] is not None:
        if ask_again is None:
            raise PalimpsestError(
                Code.ERASURE,
                f"request {request.id} has a condition, which only the gateway can ask again",
                advice="run `palimpsest erase run`, or CALL system.purge()",
            )
        change = change_from_json(kept["again"]["table"])
        assert isinstance(change, PutRelation)
        assert isinstance(change.relation, Table)
        find = ask_again(change.relation, kept["again"])
        keys = rows_of_copy(journal, table, backup, find, search)
        return [k for k in keys if k.num_rows], search
    with journal.reading_session() as session:
        identities = ever_described(state.layouts)
        locator = Locator(session, journal.root, table, identities, kept["subjects"], search)
        search_copy(journal, locator, backup)
    return [k for k in search.keys if k.num_rows], search


def _settled(
    journal: Journal,
    request: Request,
    target: Target,
    done: Target,
    found: list[pa.Table],
    by: str,
) -> Request:
    """Record what a late search has found, hidden and fenced from the same commit on."""
    mask = None
    with journal.exclusive_session() as session:
        current = next(r for r in requests(journal) if r.id == request.id)
        if current.state is not request.state:
            raise PalimpsestError(
                Code.ERASURE, f"request {request.id} has become {current.state} meanwhile"
            )
        now = journal.clock.next()
        fence = None
        if found:
            state = journal.state.tables[target.table_id]
            table = journal.state.catalog.by_id(target.table_id) or state.layouts[-1]
            number = len(request.masks)
            mask = f"{PRIVATE}/erasure/{request.id}_t{table.id}_{number}.keys"
            path = journal.root / mask
            path.unlink(missing_ok=True)
            keys = write_keys(session, table, found, path)
            entries = Suppressor(
                session, request.id, now, request.expires, lasting_secret(journal, session)
            )
            entries.keys(table, layout.key_rows(table, [str(path)]))
            fence = journal.state.fence.extended(entries.kinds, now)
            done = replace(done, mask=mask, keys=keys)
        targets = tuple(done if t == target else t for t in request.targets)
        moved = replace(request, targets=targets, updated=now)
        rows_of.put_erasure(session, moved.to_row())
        detail = {"table": done.table, "copy": done.copy, "keys": done.keys}
        audit.record(journal, session, by, "erase.search", request.id, detail)
        if mask is None:
            session.commit()
        else:
            name = mask

            def masked(state: TableState) -> TableState:
                return replace(state, manifest=state.manifest.with_mask(name))

            journal.swap_all(session, {target.table_id: masked}, fenced=fence)
    return moved
