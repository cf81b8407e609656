"""Reads that a session runs again while nothing has changed: none of it is looked at once more.

    usual way, asked once --noted--> the same statement, settings and state --> asked at once

What a plan depends on is the statement, the session's settings and temporary relations, the kinds
of its parameters, and what is committed. A read stands as long as all of that is the same: a state
is another one after each commit of anybody, and the store says whether it is the state still. All
else takes the usual way. Writes change the state themselves: ``standing_writes``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from gateway.lineage.ledger import LineageLedger
from gateway.session.cancellation import Cancellation
from gateway.session.column_names import client_names
from gateway.session.commit_names import CommitNames
from gateway.session.diagnosis import with_position
from gateway.session.outcome import StatementOutcome
from gateway.session.own_parameters import TimedSession, own_parameters
from gateway.session.parameters import Given, bind
from gateway.session.request import StatementRequest
from gateway.session.results import StreamedRows
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import StatementOrigin
from journal.model.plan import StatementPlan
from journal.model.result_column import ResultColumn
from journal.transactions.protocol import OpenJournal
from journal.transactions.state import JournalState
from journal.transactions.temporary import Temporary
from journal.transactions.transaction import Transaction
from rewriter.reading.equal_keys import ParameterKinds, parameter_kinds
from rewriter.syntax.parsing import Parsed

_READS_MAX = 256
_PLACE = "read"
"""Where a request holds how it was run."""
FINAL = frozenset({Code.CANCELLED, Code.OUTCOME_UNKNOWN})
"""Codes of a statement that must not be run otherwise."""


class StandingSession(TimedSession, Protocol):
    """What of a session decides whether a statement stands."""

    journal: OpenJournal
    temporary: Temporary
    cancellation: Cancellation
    transaction: Transaction | None
    autocommit: bool
    names: CommitNames | None

    @property
    def recorded_user(self) -> str | None:
        """Who acts, as records show it."""


@dataclass(frozen=True, slots=True)
class ReadRun:
    """How a statement was run: by a plan of one query, with these parameters besides its own."""

    plan: StatementPlan
    state: JournalState
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _StandingRead:
    request: StatementRequest
    kinds: ParameterKinds
    run: ReadRun
    origin: StatementOrigin | None


def note_run(request: StatementRequest, run: ReadRun) -> None:
    """Note on a request that it was run as a read in one trip."""
    request.cache[_PLACE] = run


class StandingReads:
    """The reads of one session that stand, by their statements; ``ledger`` counts them.

    All of them were run on one state: those of an earlier one are forgotten with the first of
    another.
    """

    def __init__(self, ledger: LineageLedger) -> None:
        self._ledger = ledger
        self._reads: dict[int, _StandingRead] = {}
        self._state: JournalState | None = None

    def keep(self, request: StatementRequest) -> None:
        """Keep a statement that was run by itself, if it is a read and took one trip."""
        run: ReadRun | None = request.cache.get(_PLACE)
        if run is None or run.plan.currents or request.settings.variables:
            return
        if run.state is not self._state or len(self._reads) >= _READS_MAX:
            self._reads.clear()
            self._state = run.state
        # It holds the statement, so that no other one gets its number.
        self._reads[id(request.parsed)] = _StandingRead(
            request, request.kinds, run, request.origin(run.plan)
        )

    def read_again(
        self, session: StandingSession, parsed: Parsed, parameters: Given, batch: object
    ) -> StatementOutcome | None:
        """The outcome of a read that stands; None where it has to take the usual way."""
        read = self._reads.get(id(parsed))
        if read is None or read.request.parsed is not parsed or batch is not None:
            return None
        if not is_as_then(session, read.request) or session.journal.state is not read.run.state:
            return None
        bound = {**own_parameters(session), **bind(parsed, parameters)}
        trips = session.journal.at_once
        if trips is None or parameter_kinds(bound) != read.kinds:
            return None
        plan, state = read.run.plan, read.run.state
        given = {**read.run.given, **bound}
        try:
            found = trips.ask(plan, given, state, session.cancellation)
        except PalimpsestError as error:
            if error.code in FINAL:
                raise
            # The usual way says best what it is; what fails does not stand.
            del self._reads[id(parsed)]
            return None
        if found is None:
            return None
        if read.origin is not None:
            self._ledger.count(read.origin)
        rows, columns = found
        explain = partial(with_position, request=read.request, catalog=state.catalog)
        able = session.journal.capabilities
        named = _named(read.request, columns, in_duckdb=able.names_outputs)
        shown = StreamedRows(rows, None, explain)
        shown.names = [column.name for column in named]
        return StatementOutcome(plan.tag, -1, named, shown, notices=plan.notices)


def is_as_then(session: StandingSession, request: StatementRequest) -> bool:
    """True while a session, which is in no transaction, is as it was when it ran a request."""
    return (
        session.settings is request.settings
        and session.dialect == request.dialect
        and session.transaction is None
        and session.autocommit
        and session.names is None
        and not session.temporary
    )


def _named(
    request: StatementRequest, columns: Sequence[ResultColumn], *, in_duckdb: bool
) -> list[ResultColumn]:
    """The columns under the client's names; those that came the last time were named then."""
    known = request.cache.get("columns")
    if known is None or known[0] is not columns:
        told = client_names(request.parsed, columns, request.dialect, in_duckdb=in_duckdb)
        known = request.cache["columns"] = (columns, told)
    return list(known[1])
