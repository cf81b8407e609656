"""A result on its way to a client: batches of a session, in the schema that the client was told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pyarrow as pa

from gateway.servers.arrow_schemas import as_wire, result_schema
from gateway.servers.limits import ServerLimits
from gateway.session.outcome import StatementOutcome
from gateway.session.session import Session
from journal.model.result_column import ResultColumn

_BATCH_ROWS = 1 << 16


class FlightResult:
    """The rows of a statement that has run; ``batches`` gives them once."""

    def __init__(
        self,
        outcome: StatementOutcome,
        session: Session,
        lock: threading.RLock,
        limits: ServerLimits,
    ) -> None:
        assert outcome.rows is not None
        self.columns: Sequence[ResultColumn] = outcome.columns or ()
        self.schema = result_schema(self.columns)
        self.made_s = time.monotonic()
        self._outcome = outcome
        self._source = outcome.rows
        self._session = session
        self._lock = lock
        self._limits = limits

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows; raises RESULT_SIZE beyond the limits, CANCELLED, and errors of the store."""
        rows = size = 0
        source = self._source.batches(_BATCH_ROWS)
        try:
            while True:
                # The session serves others between two batches.
                with self._lock, self._session.fetching(self._source):
                    batch = next(source, None)
                if batch is None:
                    return
                rows, size = rows + batch.num_rows, size + batch.nbytes
                self._limits.check_result(rows, size)
                if batch.num_rows:
                    yield as_wire(batch, self.columns, self.schema)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the rows."""
        with self._lock:
            self._outcome.close()
