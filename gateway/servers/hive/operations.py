"""Operations of a client: a statement or a metadata call, its state and its rows.

pending --> running --> finished | failed | cancelled | timed out        closed at any time
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from gateway.servers.hive.wire import ttypes
from gateway.session.outcome import StatementOutcome
from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn

_S = ttypes.TOperationState
PENDING, RUNNING, FINISHED = _S.PENDING_STATE, _S.RUNNING_STATE, _S.FINISHED_STATE
CANCELLED, FAILED, TIMED_OUT = _S.CANCELED_STATE, _S.ERROR_STATE, _S.TIMEDOUT_STATE
_ID_BYTES = 16
_BATCH_ROWS_MAX = 100_000
REWIND_ROWS_MAX = 100_000
"""How many rows of a result are remembered for a client that goes back to the first one."""


class Operation:
    """One operation of a session. ``kind`` is its number in the protocol."""

    def __init__(self, kind: int, *, has_rows: bool) -> None:
        self.id = secrets.token_bytes(_ID_BYTES)
        self.secret = secrets.token_bytes(_ID_BYTES)
        self.kind = kind
        self.has_rows = has_rows
        self.state: int = PENDING
        self.error: PalimpsestError | None = None
        self.columns: list[ResultColumn] = []
        self.modified: int | None = None
        self.began_s = time.time()
        self.ended_s: float | None = None
        self.timeout_s = 0.0
        self.ends_as: int | None = None
        """The state of its end, where somebody has told it to end."""
        self.fetched = 0
        self.sent_bytes = 0
        self._done = threading.Event()
        self._outcome: StatementOutcome | None = None
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._ahead: pa.RecordBatch | None = None
        self._remembered: list[pa.RecordBatch] | None = []
        self._again: list[pa.RecordBatch] = []

    @property
    def handle(self) -> ttypes.TOperationHandle:
        """What the client calls it by."""
        identifier = ttypes.THandleIdentifier(self.id, self.secret)
        modified = None if self.has_rows or self.modified is None else float(self.modified)
        return ttypes.TOperationHandle(identifier, self.kind, self.has_rows, modified)

    @property
    def is_over(self) -> bool:
        """True when it has ended, however it did."""
        return self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, at most so long; whether it has."""
        return self._done.wait(seconds)

    def finish(self, outcome: StatementOutcome) -> None:
        """The statement has run; its rows are still to be fetched."""
        self._outcome = outcome
        if outcome.columns is not None:
            self.columns = outcome.columns
            self.has_rows = True
        elif self.has_rows:
            # It was announced that there would be rows, and there are none.
            self.columns = [ResultColumn("result", "VARCHAR")]
        self.modified = outcome.row_count if outcome.columns is None else None
        self._end(FINISHED)

    def fail(self, error: PalimpsestError) -> None:
        """It has ended with an error."""
        self.error = error
        self._end(self.ends_as or FAILED)

    def _end(self, state: int) -> None:
        self.state = state
        self.ended_s = time.time()
        self._done.set()

    def fetch(self, most: int) -> pa.RecordBatch | None:
        """The next rows, at most so many; None behind the last one. Raises what reading raises."""
        most = max(1, min(most, _BATCH_ROWS_MAX))
        batch = self._next(most)
        if batch is None:
            return None
        if batch.num_rows > most:
            batch, self._ahead = batch.slice(0, most), batch.slice(most)
        self.fetched += batch.num_rows
        self._remember(batch)
        return batch

    def rewind(self) -> None:
        """Go back to the first row; raises NOT_SUPPORTED behind too many."""
        if self._remembered is None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"the first of more than {REWIND_ROWS_MAX:,} rows is not remembered",
                advice="run the statement again",
            )
        self._again = self._remembered + self._again
        if self._ahead is not None:
            self._again.append(self._ahead)
            self._ahead = None
        self._remembered = []
        self.fetched = 0

    def _next(self, most: int) -> pa.RecordBatch | None:
        while True:
            if self._ahead is not None:
                found, self._ahead = self._ahead, None
            elif self._again:
                found = self._again.pop(0)
            else:
                if self._batches is None:
                    if self._outcome is None or self._outcome.rows is None:
                        return None
                    self._batches = self._outcome.rows.batches(most)
                found = next(self._batches, None)
            if found is None or found.num_rows:
                return found

    def _remember(self, batch: pa.RecordBatch) -> None:
        if self._remembered is not None:
            self._remembered.append(batch)
            if self.fetched > REWIND_ROWS_MAX:
                self._remembered = None

    @property
    def rows(self) -> Any:
        """The rows of the store, None where there are none."""
        return None if self._outcome is None else self._outcome.rows

    def close(self) -> None:
        """Let go of the rows."""
        if self._outcome is not None:
            self._outcome.close()
            self._outcome = None
        self._batches = self._ahead = None
        self._again, self._remembered = [], None
