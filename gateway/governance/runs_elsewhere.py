"""Runs an attempt's statements in the store of the process's profile, behind a fence there.

    RUNNING here -> fence opened there -> still RUNNING here? -> statements, and a mark in their
    commit -> SUCCEEDED here -> mark cleared

A mark that is there already is of an attempt that committed without an answer: nothing runs again.
Killed between any two steps, the next attempt goes on from what the fence says (ADR 0163).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.governance.instance_fences import (
    FencedStatements,
    clear_fences,
    fenced,
    open_fence,
    run_fenced,
)
from gateway.governance.instance_states import InstanceState
from gateway.governance.process_stores import ProcessStores, unreachable
from gateway.governance.settling import attempt_of, record_mark
from gateway.governance.started_instance import StartedInstance
from journal.model.errors import Code, PalimpsestError
from journal.model.version import Version
from journal.records import instance_rows
from journal.records.fence_rows import FenceRow
from journal.records.instance_rows import InstanceRow

if TYPE_CHECKING:
    from gateway.session.client_session import ClientSession
    from gateway.session.session import Session

_LOG = logging.getLogger("palimpsest.processes")


class RunElsewhere:
    """One attempt in another store; ``now`` tells the time.

    ``log_line`` adds a line to ``log``; ``watch`` is given what stops the statements from another
    thread.
    """

    def __init__(
        self,
        session: Session,
        stores: ProcessStores,
        now: Callable[[], datetime],
        log_line: Callable[[str], None],
        log: Sequence[str],
        watch: Callable[[Callable[[], None]], None],
    ) -> None:
        self._session = session
        self._stores = stores
        self._now = now
        self._log_line = log_line
        self._log = log
        self._watch = watch

    def run(self, started: StartedInstance, text: str, values: Mapping[str, Any]) -> bool:
        """Run statements; False where they wrote nothing, so that the caller ends the instance.

        Raises PROCESS_STORE where nothing has begun, INSTANCE_FENCED where the attempt is over.
        """
        row = started.row
        assert row.profile is not None, "the look that started it noted where it runs"
        attempt = attempt_of(self._stores, row)
        with self._stores.session(row.profile) as store:
            self._watch(store.cancel)
            mark = self._opened(store, row)
            if mark is not None:
                self._log_line(f"attempt {mark.fence} has committed: nothing runs again")
            else:
                self._check_still_ours(row)
                statements = FencedStatements(
                    *(started.process, text, values),
                    started.read_there,
                    _detail(started),
                )
                changed, mark = store.perform_watched(
                    self._log_line, run_fenced, attempt, statements
                )
                self._log_line(f"{changed} rows were changed")
            if mark is None:
                return False
            record_mark(self._session, mark, self._now(), self._log)
            self._clear(store, mark)
        return True

    def _opened(self, store: ClientSession, row: InstanceRow) -> FenceRow | None:
        """Open the fence; the mark of an attempt that has committed."""
        try:
            return store.perform(open_fence, attempt_of(self._stores, row))
        except PalimpsestError as error:
            if error.code is Code.INSTANCE_FENCED:
                raise
            raise unreachable(row.profile or "", error) from error

    def _check_still_ours(self, row: InstanceRow) -> None:
        """Raise unless the attempt is the newest now that its fence stands.

        Whoever stops it later finds the fence; who did before may have found none to close.
        """
        with self._session.journal.reading_session() as records:
            current = instance_rows.load_instance(records, row.id)
        running = (InstanceState.RUNNING, row.fence)
        if current is None or (current.state, current.fence) != running:
            raise fenced(attempt_of(self._stores, row))

    def _clear(self, store: ClientSession, mark: FenceRow) -> None:
        try:
            store.perform(clear_fences, [mark])
        except PalimpsestError as error:
            _LOG.info("the fence of %s is cleared later: %s", mark.instance, error)


def _detail(started: StartedInstance) -> dict[str, Any]:
    versions: dict[str, Version] = dict(started.versions)
    check_at = started.check_at
    return {
        "versions": versions,
        "check_at": None if check_at is None else check_at.isoformat(),
        "step": started.attempt.step,
    }
