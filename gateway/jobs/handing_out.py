"""A restore's statement, handed out: what its plan says is done by units of an engine.

The plan is the one that the owner would run. Each unit runs it for the keys of one file, and writes
the rows; together they are the segment that the transaction commits. Where a step reads more than
the two states of the table, or what one unit writes concerns another one, nothing is handed out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from gateway.jobs.context import JobContext
from gateway.running import Asked, digest
from gateway.time_points import TimePoints
from journal.catalog import change_to_json
from journal.errors import PalimpsestError
from journal.jobs.contract import Engine
from journal.plan import (
    P_SNAPSHOT,
    P_VERSION,
    Append,
    Count,
    Guard,
    PutRelation,
    Query,
    Stage,
    StatementPlan,
)
from journal.schema import Table
from journal.segment import Manifest, RowCounts, SegmentFile
from journal.statement import Statement
from journal.stores.base import StagedRows
from journal.stores.duckdb_layout import fields_of
from journal.transaction import StatementWrites, Transaction
from rewriter.parsing import Parsed
from spark_compaction.restored import UNIT

_OWN = {P_VERSION, P_SNAPSHOT}
_ZONE = exp.Anonymous(this="current_setting", expressions=[exp.Literal.string("TimeZone")])
_SEALED = ("base", "delta", "history")


@dataclass(frozen=True, slots=True)
class Sides:
    """Both states of a table, the second one shown under an id of its own; keys that differ."""

    table: Table
    now: Manifest
    shown: Table
    then: Manifest
    among: tuple[str, ...]

    @property
    def paths(self) -> list[str]:
        """The files of both."""
        return [f.path for m in (self.now, self.then) for s in m.segments for f in s.files]


def hand_out(
    context: JobContext,
    begun: Transaction,
    parsed: Parsed,
    sides: Sides,
    engine: Engine,
    folder: str,
    *,
    keep: bool,
) -> int | None:
    """Have the rows of a restore written into an open folder; how many change, None if not so."""
    session, journal = context.session, context.journal
    asked = Asked(parsed, {}, session.settings, "duckdb")
    statement = journal.statement(begun)
    try:
        assert isinstance(statement, Statement)
        statement.leave_positions(sides.table.id)
        plan = session.executor.plan_for(statement, asked, TimePoints(journal, {}))
        if not _can(plan, sides):
            return None
        statement.check_segments(plan.tables)
        # Which is the one of this process, unless it was set: executors may have another.
        statement.session.use_zone(session.settings.timezone)
        (zone,) = statement.session.row(Query.of(exp.select(_ZONE.copy())), {})
    finally:
        statement.close()
    version = journal.clock.next()
    parameters = {P_VERSION: version, P_SNAPSHOT: begun.snapshot.version}
    units = [_unit(context, plan, sides, path, parameters, folder) for path in sides.among]
    units = [{**unit, "writes": keep, "timezone": zone} for unit in units]

    def told(_function: str, done: int, total: int) -> None:
        context.progress("restore", done, total)

    with journal.pins.hold(sides.paths):
        results: list[Any] = engine.map(UNIT, units, told)
    _raise_refused(plan, results)
    files = tuple(SegmentFile(**f) for r in results for f in r["files"])
    if files:
        counts = sum((RowCounts(**r["counts"]) for r in results if r["counts"]), RowCounts())
        journal.staged.update(f.path for f in files)
        rows = StagedRows(files, fields_of(sides.table), counts)
        begun.record(StatementWrites(version, ((sides.table.id, rows),), (), digest(parsed)))
    return sum(int(r["rows"]) for r in results)


def _can(plan: StatementPlan, sides: Sides) -> bool:
    """True if every step needs no more than a unit has."""
    if sides.table.uniques or plan.lookups or plan.points or plan.system:
        # Other rows of this restore may take the values of a UNIQUE constraint, or free them.
        return False
    known = {f"t{table.id}_{tier}" for table in (sides.table, sides.shown) for tier in _SEALED}
    known |= {step.name for step in plan.steps if isinstance(step, Stage)}
    for step in plan.steps:
        if not isinstance(step, Stage | Guard | Append | Count):
            return False
        if not _OWN.issuperset(step.query.parameters):
            return False
        for source in step.query.ast.find_all(exp.Table):
            if isinstance(source.this, exp.Identifier) and source.name not in known:
                return False
    return True


def _unit(
    context: JobContext,
    plan: StatementPlan,
    sides: Sides,
    keys: str,
    parameters: dict[str, Any],
    folder: str,
) -> dict[str, Any]:
    staged = [s for s in plan.steps if isinstance(s, Stage)]
    (append,) = [s for s in plan.steps if isinstance(s, Append)]
    (count,) = [s for s in plan.steps if isinstance(s, Count)]
    return {
        "root": str(context.journal.root),
        "table": change_to_json(PutRelation(sides.table)),
        "sides": [
            (sides.table.id, sides.now.to_json()),
            (sides.shown.id, sides.then.to_json()),
        ],
        "stages": [(s.name, _text(s.query, sides.among, keys)) for s in staged],
        "guards": [_text(s.query) for s in plan.steps if isinstance(s, Guard)],
        "append": _text(append.query),
        "count": _text(count.query),
        "parameters": parameters,
        "folder": folder,
    }


def _text(query: Query, all_keys: Sequence[str] = (), keys: str = "") -> str:
    """A query for a unit, which reads one of the files of keys."""
    ast = query.ast.copy()
    for listed in list(ast.find_all(exp.Array)):
        if all_keys and [e.name for e in listed.expressions] == list(all_keys):
            listed.set("expressions", [exp.Literal.string(keys)])
    return ast.sql(dialect="duckdb")


def _raise_refused(plan: StatementPlan, results: Sequence[Any]) -> None:
    guards = [s for s in plan.steps if isinstance(s, Guard)]
    for refused in (r["refused"] for r in results if r["refused"] is not None):
        number, values = refused
        guard = guards[number]
        raise PalimpsestError(guard.code, guard.message.format(*values), advice=guard.advice)
