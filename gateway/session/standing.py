"""Statements that a session runs again without looking once more at what has not changed."""

from __future__ import annotations

from gateway.lineage.ledger import LineageLedger
from gateway.session.outcome import StatementOutcome
from gateway.session.parameters import Given
from gateway.session.request import StatementRequest
from gateway.session.standing_reads import StandingReads, StandingSession
from gateway.session.standing_writes import StandingWrites
from rewriter.syntax.parsing import Parsed


class StandingStatements:
    """The reads and writes of one session that stand; ``ledger`` counts them."""

    def __init__(self, ledger: LineageLedger) -> None:
        self._reads, self._writes = StandingReads(ledger), StandingWrites(ledger)

    def keep(self, request: StatementRequest, outcome: StatementOutcome) -> StatementOutcome:
        """The outcome of a statement that was run, and committed, by itself."""
        self._reads.keep(request)
        self._writes.keep(request)
        return outcome

    def run_again(
        self, session: StandingSession, parsed: Parsed, parameters: Given, batch: object
    ) -> StatementOutcome | None:
        """The outcome of a statement that stands; None where it has to take the usual way."""
        found = self._reads.read_again(session, parsed, parameters, batch)
        return found or self._writes.write_again(session, parsed, parameters, batch)
