"""Evaluates points in time of a running statement, and binds them to versions.

    expression --store--> number --not after now--> version --whole transactions--> version, catalog

A point that lies above the last commit is settled first: whatever commits later lies above it, so
the same point gives the same answer for ever. The values of a statement's points are kept, so that
a statement that has to start over reads at the same moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.config import Settings
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import P_TIME, PointRequest, StatementPlan, TransactionBoundary
from journal.model.version import Version, to_datetime
from journal.records.catalog import commits_across
from journal.transactions.protocol import OpenJournal, OpenStatement
from journal.transactions.state import JournalState
from rewriter.context import TimePoint, Times


def check_present(settings: Settings, plan: StatementPlan) -> None:
    """Raise READ_ONLY for a statement that would change the past."""
    if settings.as_of is not None:
        raise PalimpsestError(
            Code.READ_ONLY,
            f"{plan.tag} is not possible while the connection reads the past"
            f" (as_of = {settings.as_of})",
            advice="RESET as_of first",
        )


def check_kept_history(
    settings: Settings, statement: OpenStatement, plan: StatementPlan, bound: Mapping[str, Any]
) -> None:
    """Raise TIME_POINT if a policy removed versions of that past, unless partial_history is 1."""
    if not plan.points or settings.partial_history:
        return
    for table_id in plan.tables:
        state = statement.committed.tables.get(table_id)
        floor = 0 if state is None else state.manifest.floor
        early = [p for i, p in enumerate(plan.points) if bound[f"{P_TIME}{i}"] < floor]
        table = statement.transaction.catalog.by_id(table_id)
        if early and table is not None:
            raise PalimpsestError(
                Code.TIME_POINT,
                f"{early[0].text} lies before {floor} ({to_datetime(floor):%Y-%m-%d %H:%M:%S}),"
                f" and versions of {table.name} that ended by then were removed by its policy",
                advice="name a later point, or SET partial_history = 1 to read what is left",
                position=early[0].position,
            )


class TimePoints:
    """The points in time of one run of a statement."""

    def __init__(self, journal: OpenJournal, parameters: Mapping[str, Any]) -> None:
        self._journal = journal
        self._parameters = parameters
        self._meant: dict[tuple[str, TransactionBoundary], Version] = {}
        self._highest: Version = 0
        self._settled: Version = 0

    def of(self, statement: OpenStatement) -> Times:
        """Finds points as a stay in the store sees them."""

        def find(request: PointRequest) -> TimePoint:
            version = self._align(statement, self._version(statement, request), request.edge)
            committed = statement.committed
            catalog = committed.catalog_at(version, is_number=request.is_number)
            return TimePoint(version, catalog, committed.history)

        return find

    def bind(self, statement: OpenStatement, plan: StatementPlan) -> dict[str, Version]:
        """The versions of a plan's points by parameter."""
        find = self.of(statement)
        return {f"{P_TIME}{i}": find(point).version for i, point in enumerate(plan.points)}

    def advance(self, committed: JournalState) -> bool:
        """Keep later commits above the points; False if some came in between, so start over."""
        if self._highest <= max(committed.version, self._settled):
            return True
        self._settled = self._highest
        return self._journal.advance(self._highest, committed)

    def _version(self, statement: OpenStatement, request: PointRequest) -> Version:
        # The key holds the text, not the query: equal points of one statement mean one moment.
        key = (request.query.ast.sql(dialect="duckdb"), request.edge)
        found = self._meant.get(key)
        if found is None:
            found = self._meant[key] = self._evaluate(statement, request)
            self._highest = max(self._highest, found)
        return found

    def _evaluate(self, statement: OpenStatement, request: PointRequest) -> Version:
        session = statement.session
        try:
            session.execute(request.query, self._parameters)
            ((number,),) = session.fetch_many(1)
            session.fetch_many(1)  # DuckDB takes a result for unfinished until one gives no rows.
        except PalimpsestError as error:
            raise PalimpsestError(
                Code.TIME_POINT,
                f"{request.text} is not a point in time: {error.message}",
                advice="give a timestamp, or a version number from system.transactions",
                position=request.position,
            ) from error
        if number is None:
            raise PalimpsestError(
                Code.TIME_POINT,
                f"the point in time {request.text} is NULL",
                advice="give a timestamp, or a version number from system.transactions",
                position=request.position,
            )
        now = self._journal.clock.now()
        if request.is_reached and int(number) > max(now, statement.committed.version):
            raise PalimpsestError(
                Code.TIME_POINT,
                f"the point in time {request.text} lies in the future",
                advice="give a point that has passed, or a version from system.transactions",
                position=request.position,
            )
        # A range that ends before a point in the future takes in all there is.
        latest = now + 1 if request.edge is TransactionBoundary.BEFORE else now
        return max(0, min(int(number), latest))

    def _align(
        self, statement: OpenStatement, version: Version, edge: TransactionBoundary
    ) -> Version:
        found = commits_across(statement.session, version)
        if not found:
            return version
        if edge is TransactionBoundary.AT:
            return max(last for _, last in found)
        return min(first for first, _ in found)
