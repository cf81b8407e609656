"""Runs the calls of other programs on a session; transport is elsewhere.

Results stay with the session until they are fetched or dropped: a client knows them by number.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from gateway.errors import TOO_DEEP
from gateway.session.outcome import ResultRows, Row, StatementOutcome
from gateway.session.session import Session
from gateway.sharing.messages import Answered, Failed, OutcomeHead, OwnerCall, SessionState
from gateway.sharing.wire import PeerGone
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.result_column import ResultColumn

_LOG = logging.getLogger("palimpsest.sharing")
FIRST_ROWS = 1024
"""How many rows come with the answer to a statement; the others when they are asked for."""
BATCH_ROWS = 1 << 16
Called = Callable[..., Any]


class FirstRows(Protocol):
    """Makes of the first batch of a result what goes with the answer; ``is_whole``: all there is.

    ``columns`` are those of the result, and ``zone`` is the time zone of the session.
    """

    def __call__(
        self,
        batch: pa.RecordBatch,
        columns: Sequence[ResultColumn],
        zone: str | None,
        is_whole: bool,
    ) -> Sequence[Row] | bytes: ...


class SessionCalls:
    """The calls of one client on its session.

    ``send`` takes Arrow batches, which go before the answer; ``first_rows`` makes of the first
    batch what goes into the answer; ``further`` are calls that this front end has besides.
    """

    def __init__(
        self,
        session: Session,
        send: Callable[[pa.RecordBatch], None],
        first_rows: FirstRows,
        further: Mapping[str, Called],
    ) -> None:
        self.session = session
        self._send = send
        self._first_rows = first_rows
        self._results: dict[int, _Result] = {}
        self._last_result = 0
        self._told: SessionState | None = None
        self._calls: dict[str, Called] = {
            "begin": lambda read_only: session.begin(read_only=read_only),
            "catalog": lambda: session.catalog,
            "commit": session.commit,
            "execute": lambda *given: self._head(session.execute(*given)),
            "execute_many": lambda *given: self._head(session.execute_many(*given)),
            "fetch": self._fetch,
            "nothing": lambda: None,
            "rollback": session.rollback,
            "run_text": lambda text: self._head(session.run_text(text)),
            "set_autocommit": self._set_autocommit,
            **further,
        }

    @property
    def is_streaming(self) -> bool:
        """True while a result has rows that were not fetched."""
        return any(result.is_open for result in list(self._results.values()))

    @property
    def is_pinned(self) -> bool:
        """True while the session has what would be lost with it."""
        return self.session.in_transaction or bool(self.session.temporary)

    def new_state(self) -> SessionState | None:
        """The state, unless the client was told the same before: it takes a message's most time."""
        session = self.session
        state = SessionState(session.status, session.has_written, self.is_pinned, session.settings)
        if state == self._told:
            return None
        self._told = state
        return state

    def answer(self, call: OwnerCall) -> Answered | Failed:
        """What a call came to; a defect of ours is its client's to hear of, and nobody else's."""
        try:
            with failures():
                return Answered(self._run(call), self.new_state())
        except PalimpsestError as error:
            found = error
        except RecursionError:
            found = TOO_DEEP
        except PeerGone:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, its client hears of it
            _LOG.exception("a call of another program failed")
            found = PalimpsestError(
                Code.INVARIANT,
                f"{type(error).__name__}: {error}",
                advice="report it, with what the process that has the warehouse open wrote",
            )
        return Failed.of(found, self.new_state())

    def close(self) -> None:
        """Let go of all results."""
        self._drop(list(self._results))

    def _run(self, call: OwnerCall) -> Any:
        self._drop(call.dropped)
        run = self._calls.get(call.operation)
        if run is None:
            raise PalimpsestError(
                Code.INTERFACE,
                f"the process that has the warehouse open knows no call {call.operation}",
                advice="use the same version of palimpsest in all programs",
            )
        with self.session.naming(call.transaction_id, again=call.again):
            return run(*call.arguments)

    def _head(self, outcome: StatementOutcome) -> OutcomeHead:
        if outcome.columns is None or outcome.rows is None:
            return OutcomeHead(
                outcome.tag,
                outcome.row_count,
                outcome.skipped,
                rejected=outcome.rejected,
                notices=outcome.notices,
            )
        with self.session.fetching(outcome.rows):
            result = _Result(outcome.rows)
        self.session.activity.sent(result.first.num_rows, result.first.nbytes)
        self._last_result += 1
        self._results[self._last_result] = result
        is_counted = outcome.row_count >= 0 or result.is_open
        return OutcomeHead(
            outcome.tag,
            outcome.row_count if is_counted else result.first.num_rows,
            outcome.skipped,
            outcome.columns,
            self._last_result,
            self._first_rows(
                *(result.first, outcome.columns, self.session.settings.timezone, not result.is_open)
            ),
            not result.is_open,
            notices=outcome.notices,
        )

    def _fetch(self, number: int, from_first: bool, batches: int) -> bool:
        """Send so many Arrow batches of what was not fetched of a result.

        ``from_first``: the rows that came with the answer once more. True if there may be more.
        """
        result = self._results.get(number)
        if result is None:
            raise PalimpsestError(
                Code.NO_RESULT, "there is no result to fetch from", advice="execute a query first"
            )
        if from_first:
            self._send(result.first)
        for _ in range(batches):
            with self.session.fetching(result.rows):
                batch = result.next()
            if batch is None:
                break
            self._send(batch)
            self.session.activity.sent(batch.num_rows, batch.nbytes)
        return result.is_open

    def _drop(self, results: Iterable[int]) -> None:
        for number in results:
            result = self._results.pop(number, None)
            if result is not None:
                result.rows.close()

    def _set_autocommit(self, value: bool) -> None:
        self.session.autocommit = value


class _Result:
    """The rows of a statement: the first batch, and those that were not fetched."""

    def __init__(self, rows: ResultRows) -> None:
        self.rows = rows
        self._batches: Iterator[pa.RecordBatch] = rows.batches(BATCH_ROWS)
        self.first: pa.RecordBatch = next(self._batches)
        self._ahead: pa.RecordBatch | None = None
        if self.first.num_rows > FIRST_ROWS:
            self._ahead = self.first.slice(FIRST_ROWS)
            self.first = self.first.slice(0, FIRST_ROWS)
        else:
            self._ahead = next(self._batches, None)
        self.is_open = self._ahead is not None

    def next(self) -> pa.RecordBatch | None:
        """The next batch; None after the last one."""
        found, self._ahead = self._ahead, None
        if found is None and self.is_open:
            found = next(self._batches, None)
        self.is_open = found is not None
        return found
