"""Writes of a row by its key that a session runs again without planning them once more.

    usual way, in one trip --noted--> the same statement, settings and definitions --> one trip

A plan depends on the statement, the session's settings, the kinds of its parameters, the
definitions, and which tiers its tables have. All of that is compared; what is committed besides
makes no difference, as the store looks at it in the trip. All else takes the usual way.
"""

from __future__ import annotations

from gateway.lineage.ledger import LineageLedger
from gateway.session.outcome import StatementOutcome
from gateway.session.own_parameters import own_parameters
from gateway.session.parameters import Given, bind
from gateway.session.plan_cache import CachedPlan
from gateway.session.request import StatementRequest, digest
from gateway.session.scan_info import scan_info_of
from gateway.session.standing_reads import FINAL, StandingSession, is_as_then
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import StatementOrigin
from journal.model.plan import P_SNAPSHOT, P_VERSION
from journal.transactions.protocol import OneTripStatement
from journal.transactions.statement_run import StatementRun
from journal.transactions.transaction_rows import Author
from rewriter.reading.equal_keys import ParameterKinds, parameter_kinds
from rewriter.syntax.parsing import Parsed

_WRITES_MAX = 256
_PLACE = "write"
"""Where a request holds the plan that it was run by."""


@dataclass(frozen=True, slots=True)
class _StandingWrite:
    request: StatementRequest
    kinds: ParameterKinds
    planned: CachedPlan
    origin: StatementOrigin | None
    digest: str


def note_plan(request: StatementRequest, planned: CachedPlan) -> None:
    """Note on a request by which plan it was written and committed in one trip."""
    request.cache[_PLACE] = planned


class StandingWrites:
    """The writes of one session that stand, by their statements; ``ledger`` counts them."""

    def __init__(self, ledger: LineageLedger) -> None:
        self._ledger = ledger
        self._writes: dict[int, _StandingWrite] = {}

    def keep(self, request: StatementRequest) -> None:
        """Keep a statement that was committed by itself, if it was in one trip."""
        planned: CachedPlan | None = request.cache.get(_PLACE)
        if planned is None or request.settings.variables:
            return
        plan = planned.plan
        if plan.currents or plan.counted or planned.catalogs:
            return
        if len(self._writes) >= _WRITES_MAX:
            self._writes.clear()
        # It holds the statement, so that no other one gets its number.
        self._writes[id(request.parsed)] = _StandingWrite(
            *(request, request.kinds, planned, request.origin(plan)),
            digest(request.parsed, request.dialect),
        )

    def write_again(
        self, session: StandingSession, parsed: Parsed, parameters: Given, batch: object
    ) -> StatementOutcome | None:
        """The outcome of a write that stands, committed; None where it takes the usual way."""
        write = self._writes.get(id(parsed))
        if write is None or write.request.parsed is not parsed or batch is not None:
            return None
        trips, plan = session.journal.at_once, write.planned.plan
        if trips is None or not is_as_then(session, write.request):
            return None
        given = {**own_parameters(session), **bind(parsed, parameters)}
        if parameter_kinds(given) != write.kinds or not self._ledger.is_on_record(plan.trace):
            return None
        if not trips.may_write():
            # It is asked once for each statement: those that follow take the usual way.
            del self._writes[id(parsed)]
            return None
        settings = session.settings
        author = Author(session.recorded_user, settings.application)
        with trips.start(settings.commit_message, session.cancellation) as statement:
            session.temporary.show(statement.transaction)
            if not _is_planned_so(write.planned, statement) or not statement.takes(plan):
                del self._writes[id(parsed)]
                return None
            version = session.journal.clock.next()
            transaction = statement.transaction
            given |= {P_VERSION: version, P_SNAPSHOT: transaction.snapshot.version}
            numbers, catalog = transaction.numbers, transaction.catalog
            run = StatementRun(
                *(given, version, settings.memory_rows),
                few=True,
                session_numbers=numbers,
                catalog=catalog,
            )
            try:
                with session.cancellation.watching(statement.session):
                    is_done = statement.write(plan, run, write.digest, author)
            except PalimpsestError as error:
                # The usual way says best what it is; what fails does not stand.
                del self._writes[id(parsed)]
                if error.code not in FINAL:
                    return None
                if write.origin is not None:
                    self._ledger.failed(write.origin, catalog, author, error)
                raise
        if not is_done:
            return None
        if run.appended and write.origin is not None:
            self._ledger.count_inline(write.origin, catalog, author, version)
        return StatementOutcome(plan.tag, run.count, written=run.appended, notices=plan.notices)


def _is_planned_so(planned: CachedPlan, statement: OneTripStatement) -> bool:
    """True if the definitions, and the tiers that a plan has been made for, are the same."""
    if planned.catalog is not statement.transaction.catalog:
        return False
    scan_info = scan_info_of(statement, {})
    return all(scan_info(i) == scan for i, scan in planned.scan_info.items())
