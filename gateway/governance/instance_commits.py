"""Ends an instance in the commit of its effects, or stops an attempt that is over.

    attempt begins: fence n+1, RUNNING  ..  commit: still RUNNING with this fence? -> SUCCEEDED

The check and the new state are part of the store's transaction that makes the effects visible. So a
process that is killed leaves both or neither, and an attempt that lost its instance commits nothing
(ADR 0120).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.governance.events import EventName, record_event
from gateway.governance.instance_states import InstanceEvent
from gateway.governance.instance_transitions import changed_instance
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records import instance_rows
from journal.records.instance_rows import AttemptRow, InstanceRow
from journal.transactions.transaction import Transaction

if TYPE_CHECKING:
    from gateway.session.session import Session


class InstanceCommit:
    """Ends an attempt of an instance as SUCCEEDED; see the module's head.

    ``tables`` are those that it reads, by dataset with the table's id; ``check_at`` is when late
    data is looked for first; ``now`` tells the time, ``log`` has the lines of the attempt.
    """

    def __init__(
        self,
        session: Session,
        attempt: tuple[InstanceRow, AttemptRow],
        tables: Mapping[str, int],
        check_at: datetime | None,
        now: Callable[[], datetime],
        log: Sequence[str],
    ) -> None:
        self._session = session
        self._row, self._attempt = attempt
        self._tables = tables
        self._check_at = check_at
        self._now = now
        self._log = log

    def alongside(self, transaction: Transaction) -> Callable[[RecordSession, Version], None]:
        """What the commit of a transaction records."""

        def end(records: RecordSession, version: Version) -> None:
            written = transaction.buffered_tables()
            consumed = {
                dataset: version if table_id in written else _version_read(transaction, table_id)
                for dataset, table_id in self._tables.items()
            }
            self.end(records, consumed, {"version": version})

        return end

    def end(
        self,
        records: RecordSession,
        consumed: Mapping[str, Version],
        produced: Mapping[str, Any],
        event: InstanceEvent = InstanceEvent.SUCCEED,
    ) -> None:
        """Record that the attempt succeeded; raises INSTANCE_FENCED if it is over."""
        now, row = self._now(), self._row
        state = "SUCCEEDED" if event is InstanceEvent.SUCCEED else "PARTIAL"
        took = (now - self._attempt.started_at).total_seconds()
        ended = AttemptRow(
            *(row.id, row.fence, self._attempt.run, self._attempt.step, state),
            *(self._attempt.owner, self._attempt.started_at, now),
            log=tuple(self._log),
            metrics=json.dumps({"seconds": round(took, 3), **produced}, default=str),
        )
        instance_rows.end_attempt(records, ended)
        changed = changed_instance(
            *(records, row, event, now),
            consumed=json.dumps({"versions": consumed}),
            produced=json.dumps(dict(produced), default=str),
            check_at=self._check_at,
            checks=0,
            error=None,
            error_code=None,
            unsettled=False,
        )
        if changed is None:
            raise fenced(row)
        record_event(
            *(self._session, records, EventName.INSTANCE_RUN, row.kind, row.entity),
            nominal=row.nominal,
            duration_s=took,
            data={"state": state},
        )


def _version_read(transaction: Transaction, table_id: int) -> Version:
    state = transaction.snapshot.tables.get(table_id)
    return 0 if state is None else state.last_version


def fenced(row: InstanceRow) -> PalimpsestError:
    """The error of an attempt that may not commit any more."""
    return PalimpsestError(
        Code.INSTANCE_FENCED,
        f"attempt {row.fence} of {row.id} is over, and commits nothing",
        advice="palimpsest instance status shows where the instance stands",
    )
