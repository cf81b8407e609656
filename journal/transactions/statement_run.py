"""The state of a plan while its steps run, and the steps that all stores share.

    Stage, Guard, Count, Change, and generated numbers             here, in the store's session
    Append, and what a store does in a way of its own              the store's statement

Results (``Fetch``) are the gateway's business.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from journal.model.counters import Numbers
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import (
    AllocateIdentity,
    Append,
    CatalogChange,
    Change,
    Count,
    Guard,
    PutRelation,
    Query,
    SetNumber,
    SkipNumbers,
    Stage,
    Step,
    TakeNumbers,
)
from journal.model.refusal import filled_error
from journal.model.schema import ROW_ID, CatalogSnapshot, Table
from journal.model.segment import RowCounts
from journal.model.store_session import Parameters, RowSet, StagedRows, StoreSession
from journal.model.version import Version
from journal.transactions.session_numbers import SessionNumbers

_ROWS_SET_MAX = 10_000
"""So many rows may set a sequence in one statement."""


@dataclass(slots=True)
class StatementRun:
    """One run of a plan: its parameters and version, and what its steps have made so far.

    ``rows_max``: so many rows may be held in memory. ``few``: the plan writes few rows.
    ``ahead`` holds staged rows that were written at once, by stage.
    """

    parameters: dict[str, Any]
    version: Version
    rows_max: int
    few: bool = False
    count: int = -1
    skipped: int = 0
    rows: list[tuple[int, RowSet]] = field(default_factory=list)
    appended: dict[int, RowCounts] = field(default_factory=dict)
    ahead: dict[str, StagedRows] = field(default_factory=dict)
    changes: list[CatalogChange] = field(default_factory=list)
    session_numbers: SessionNumbers = field(default_factory=SessionNumbers)
    catalog: CatalogSnapshot = field(default_factory=CatalogSnapshot.empty)
    """What its transaction sees, to tell temporary relations from others."""

    def counters_of(self, table_id: int, shared: Numbers) -> Numbers:
        """The counters for the numbers of a table or sequence."""
        return self.session_numbers.counters_of(table_id, self.catalog, shared)

    def table(self, table_id: int, catalog: CatalogSnapshot) -> Table:
        """A table as the statement itself has defined it, or else as it was."""
        for change in reversed(self.changes):
            if isinstance(change, PutRelation) and isinstance(change.relation, Table):
                if change.relation.id == table_id:
                    return change.relation
        found = catalog.by_id(table_id)
        assert found is not None
        return found

    def take(self, step: Append, rows: RowSet | None) -> None:
        """Note the rows that a step has made for its journal, to be committed."""
        if rows is not None:
            self.rows.append((step.table_id, rows))
        if step.single or step.per_change is not None:
            self.count, _ = step.counts(0 if rows is None else rows.counts.total)

    def take_appended(self, step: Append, total: int) -> None:
        """Note how many rows a step has appended to its journal inside the commit section."""
        self.count, counts = step.counts(total)
        if total:
            self.appended[step.table_id] = counts


def run_step(session: StoreSession, numbers: Numbers, step: Step, run: StatementRun) -> None:
    """Run a step in the session; raises the error of a guard that finds a row."""
    match step:
        case Stage(name, query):
            session.stage(name, query, run.parameters)
        case Guard(query):
            check_guard(session, step, query, run.parameters)
        case AllocateIdentity(table_id, column, name, start, increment, stage, count):
            wanted = count if stage is None else session.count(stage)
            counters = run.counters_of(table_id, numbers)
            first = counters.reserve((table_id, column), wanted, start, increment)
            run.parameters[name] = first
            if column != ROW_ID and wanted:
                run.session_numbers.note((table_id, column), first + (wanted - 1) * increment)
        case SkipNumbers(table_id, column, start, increment, query):
            session.execute(query, run.parameters)
            highest = session.fetch_many(1)[0][0]
            if highest is not None:
                counters = run.counters_of(table_id, numbers)
                counters.skip_past((table_id, column), int(highest), start, increment)
        case TakeNumbers(source, name, stage, count):
            wanted = count * (1 if stage is None else session.count(stage))
            counters = run.counters_of(source.table_id, numbers)
            block = run.session_numbers.take(source, wanted, counters)
            run.parameters[name] = block.first
            run.parameters[f"{name}_turn"] = block.until_turn
        case SetNumber(source, query):
            session.execute(query, run.parameters)
            counters = run.counters_of(source.table_id, numbers)
            for value, is_called in session.fetch_many(_ROWS_SET_MAX):
                if value is not None and is_called is not None:
                    run.session_numbers.put(source, int(value), bool(is_called), counters)
        case Count(query):
            session.execute(query, run.parameters)
            run.count = int(session.fetch_many(1)[0][0])
        case Change(change):
            run.changes.append(change)
        case _:
            raise AssertionError(step)


def check_guard(session: StoreSession, guard: Guard, query: Query, parameters: Parameters) -> None:
    """Raise what a guard says if its query, or what is left of it, finds a row."""
    session.execute(query, parameters)
    found = session.fetch_many(1)
    if found:
        raise filled_error(guard, found[0])
