"""Asks another store whether an attempt committed there, and records the answer here.

    close the fence there --a mark--> the instance has SUCCEEDED, here as well; the mark goes
                          --none----> it is settled: no attempt up to its fence commits any more

Whatever stops an instance needs that first. Nothing here holds a lock of one store while it asks
the other (ADR 0163).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from gateway.governance.events import EventName, record_event
from gateway.governance.instance_fences import FencedAttempt, clear_fences, close_fence, list_fences
from gateway.governance.instance_states import InstanceEvent, InstanceState
from gateway.governance.instance_transitions import (
    LIVE,
    Settled,
    UnsettledError,
    changed_instance,
)
from gateway.governance.process_stores import ProcessStores, unreachable
from journal.model.errors import PalimpsestError
from journal.model.version import to_datetime
from journal.records import instance_rows
from journal.records.fence_rows import FenceRow
from journal.records.instance_rows import AttemptRow, InstanceFilter, InstanceRow

if TYPE_CHECKING:
    from gateway.session.session import Session

T = TypeVar("T")
TRIES = 20
"""How often instances are settled that somebody begins again meanwhile."""
_LOG = logging.getLogger("palimpsest.processes")


def attempt_of(stores: ProcessStores, row: InstanceRow) -> FencedAttempt:
    """The newest attempt of an instance, as the other store knows it."""
    return FencedAttempt(stores.control, row.id, row.fence, row.runs)


def when_settled(session: Session, work: Callable[[Settled], T]) -> T:
    """Do ``work``, having settled the instances for which it raises UnsettledError.

    ``work`` does all or nothing. Raises PROCESS_STORE where another store cannot be asked: whether
    the instance has committed there is not known, so nothing is changed.
    """
    settled: dict[str, int] = {}
    for _ in range(TRIES):
        try:
            return work(settled)
        except UnsettledError as found:
            with ProcessStores(session) as stores:
                for row in _alike(session, found.row):
                    settle(session, stores, row, settled)
    return work(settled)


def settle(
    session: Session, stores: ProcessStores, row: InstanceRow, settled: dict[str, int]
) -> bool:
    """Settle an instance; True where it turned out to have SUCCEEDED. Raises PROCESS_STORE."""
    assert row.profile is not None, "only what runs elsewhere is unsettled"
    with stores.session(row.profile) as store:
        try:
            mark = store.perform(close_fence, attempt_of(stores, row))
        except PalimpsestError as error:
            raise unreachable(row.profile, error) from error
        if mark is None:
            settled[row.id] = row.fence
            return False
        record_mark(session, mark, to_datetime(session.journal.clock.now()))
        with suppress(PalimpsestError):  # Else a later look clears it.
            store.perform(clear_fences, [mark])
    return True


def record_mark(session: Session, mark: FenceRow, now: datetime, lines: Sequence[str] = ()) -> bool:
    """End the instance of a mark as SUCCEEDED, unless that is on record; whether it was not.

    ``lines`` are the log of whoever found the mark; without them it is that of the commit.
    """
    detail: dict[str, Any] = json.loads(mark.detail or "{}")
    with session.journal.exclusive_session() as records:
        row = instance_rows.load_instance(records, mark.instance)
        if row is None or row.runs != mark.run:
            return False
        began = row.started_at or now
        took = (now - began).total_seconds()
        log = list(lines or detail.get("log", ()))
        if row.fence != mark.fence:
            log.append(f"attempt {mark.fence} had committed version {mark.version}")
        produced = {"version": mark.version}
        check_at = detail.get("check_at")
        ended = AttemptRow(
            *(row.id, row.fence, mark.run, detail.get("step", "sql"), "SUCCEEDED"),
            *(row.owner or "", began, now),
            log=tuple(log),
            metrics=json.dumps({"seconds": round(took, 3), **produced}),
        )
        if row.state == InstanceState.RUNNING:
            instance_rows.end_attempt(records, ended)
        changed = changed_instance(
            *(records, row, InstanceEvent.FIND_COMMITTED, now),
            consumed=json.dumps({"versions": detail.get("versions", {})}),
            produced=json.dumps(produced),
            check_at=None if check_at is None else datetime.fromisoformat(check_at),
            checks=0,
            error=None,
            error_code=None,
            unsettled=False,
        )
        if changed is None:
            return False
        record_event(
            *(session, records, EventName.INSTANCE_RUN, row.kind, row.entity),
            nominal=row.nominal,
            duration_s=took,
            data={"state": changed.state},
        )
        records.commit()
    return True


def clear_ended(session: Session, stores: ProcessStores, profile: str) -> int:
    """Remove the fences of a profile's store that no instance needs any more; how many.

    An instance that is live, or whose mark is not on record, keeps its own.
    """
    with stores.session(profile, again=False) as store:
        rows = store.perform(list_fences, stores.control)
        if not rows:
            return 0
        with session.journal.reading_session() as records:
            known = instance_rows.load_instances(records, [row.instance for row in rows])
        over = [row for row in rows if _is_over(known.get(row.instance))]
        if over:
            store.perform(clear_fences, over)
    return len(over)


def _is_over(row: InstanceRow | None) -> bool:
    return row is None or (InstanceState(row.state).is_terminal and not row.unsettled)


def _alike(session: Session, row: InstanceRow) -> list[InstanceRow]:
    """The instances of the same process that are to be settled: a change is often of all."""
    states = tuple(state.value for state in LIVE)
    with session.journal.reading_session() as records:
        wanted = InstanceFilter(entity=row.entity, kind=row.kind, states=states)
        found = instance_rows.list_instances(records, wanted)
    return [one for one in found if one.unsettled]
