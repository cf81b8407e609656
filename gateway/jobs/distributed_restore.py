"""Restores a large table: units of an engine run the plan of its statement.

The plan is the one that the owner would run. Each unit runs it for the keys of one file and writes
the rows; together these are the segment that the transaction commits. Guards that concern rows of
other units or other tables (UNIQUE, foreign keys) run in the owner, over the rows that the units
have written, before the owner lists them. If a stage reads more than the two states of the table,
the owner runs the whole plan itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from gateway.jobs import restore_statement
from gateway.jobs.context import JobContext
from gateway.jobs.restore_statement import RestoreDifference
from gateway.session.request import StatementRequest, digest
from gateway.session.time_points import TimePoints
from journal.local_engine.layout import fields_of, segment_rows
from journal.model.catalog import change_to_json
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import (
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
from journal.model.refusal import filled_error
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, SegmentFile
from journal.model.store_session import StagedRows
from journal.records.backups import Backup
from journal.sql.relations import column, ident
from journal.sql.unique_keys import further_keys
from journal.stores.embedded.scratch_folders import scratch_folder
from journal.transactions.statement_run import check_guard
from journal.transactions.transaction import StatementWrites, Transaction
from rewriter.name_resolution import INTERNAL
from rewriter.syntax.parsing import Parsed
from rewriter.writing.changes import new_name, old_name
from spark_compaction.backends.embedded.maintenance import staged_folders
from spark_compaction.contract import Engine
from spark_compaction.programs.backup_store import BackupStore
from spark_compaction.programs.differences import States, differing
from spark_compaction.programs.restored import UNIT
from spark_compaction.programs.swap import settled_version

_OWN = {P_VERSION, P_SNAPSHOT}
_ZONE = exp.Anonymous(this="current_setting", expressions=[exp.Literal.string("TimeZone")])
_SEALED = ("base", "delta", "history")
_ENDED, _BEGUN = "is_ended", "is_begun"


@dataclass(frozen=True, slots=True)
class Sides:
    """Both states of a table, the second one shown under an id of its own; keys that differ."""

    table: Table
    current_manifest: Manifest
    backup_table: Table
    backup_manifest: Manifest
    key_files: tuple[str, ...]

    @property
    def paths(self) -> list[str]:
        """The files of both."""
        return [
            f.path
            for m in (self.current_manifest, self.backup_manifest)
            for s in m.segments
            for f in s.files
        ]


def write_difference(
    context: JobContext,
    store: BackupStore,
    backup: Backup,
    where: exp.Expr | None,
    engine: Engine,
) -> int:
    """Write the difference to a backup by units of an engine; how many rows it is.

    Raises SERIALIZATION if somebody wrote since the table was sealed: it is tried again then.
    """
    journal, table = context.journal, context.table
    if not context.dry_run:
        settled_version(journal, table.id)
    folder = journal.warehouse.new_folder(table)
    with (
        staged_folders(journal, [folder]),
        restore_statement.restore_transaction(context, backup) as begun,
    ):
        difference = restore_statement.difference_of(context, store, begun, backup, where)
        sides = _read_sides(context, begun, difference)
        with _differing_keys(context, sides, engine) as among:
            if not among:
                return 0
            difference, sides = (
                replace(difference, key_files=among),
                replace(sides, key_files=among),
            )
            parsed = restore_statement.parse_restore(context, difference)
            found = _hand_out(context, begun, parsed, sides, engine, folder)
            if found is not None:
                return found
            return restore_statement.write_difference(context, begun, difference)


def _read_sides(context: JobContext, begun: Transaction, difference: RestoreDifference) -> Sides:
    table = context.table
    state = context.journal.state.tables[table.id]
    if state.head_counts.total or state.last_version > begun.snapshot.version:
        raise PalimpsestError(
            Code.SERIALIZATION,
            f"{table.name} changed just before it was restored",
            advice="run it again",
        )
    now = replace(state.manifest, heads=())
    return Sides(table, now, difference.backup_table, difference.manifest, ())


@contextmanager
def _differing_keys(context: JobContext, sides: Sides, engine: Engine) -> Iterator[tuple[str, ...]]:
    """Files of the keys that differ, while the block lasts."""
    journal = context.journal
    folder = journal.warehouse.new_folder(sides.table)
    with scratch_folder(journal, folder):
        states = States(
            sides.table, sides.current_manifest, sides.backup_table, sides.backup_manifest
        )
        with journal.pins.hold([f.path for s in sides.current_manifest.segments for f in s.files]):
            found = differing(journal, states, folder, engine, context.progress)
        yield tuple(str(journal.root / path) for path in found)


def _hand_out(
    context: JobContext,
    begun: Transaction,
    parsed: Parsed,
    sides: Sides,
    engine: Engine,
    folder: str,
) -> int | None:
    """Have the rows of a restore written into an open folder; how many change, None if not so."""
    session, journal = context.session, context.journal
    asked = StatementRequest(parsed, {}, session.settings.unrestricted, session.dialect)
    statement = journal.statement(begun)
    try:
        statement.leave_positions(sides.table.id)
        plan = session.executor.planner.plan(statement, asked, TimePoints(journal, {}))
        if not _is_distributable(plan, sides):
            return None
        shared = _shared_guards(plan, sides)
        statement.check_segments(plan.tables)
        # Which is the one of this process, unless it was set: executors may have another.
        statement.session.use_zone(session.settings.timezone)
        (zone,) = statement.session.row(Query.of(exp.select(_ZONE.copy())), {})
    finally:
        statement.close()
    version = journal.clock.next()
    parameters = {P_VERSION: version, P_SNAPSHOT: begun.snapshot.version}
    units = [_unit_task(context, plan, sides, path, parameters, folder) for path in sides.key_files]
    writes = not context.dry_run or bool(shared)
    units = [{**unit, "writes": writes, "timezone": zone} for unit in units]

    def advance(_function: str, done: int, total: int) -> None:
        context.progress("restore", done, total)

    with journal.pins.hold(sides.paths):
        results: list[Any] = engine.map(UNIT, units, advance)
    _raise_refused(_unit_guards(plan, sides), results)
    files = tuple(SegmentFile(**f) for r in results for f in r["files"])
    if files and shared:
        _check_shared_guards(context, begun, asked, sides, files, parameters)
    if files and not context.dry_run:
        counts = sum((RowCounts(**r["counts"]) for r in results if r["counts"]), RowCounts())
        journal.staged.update(f.path for f in files)
        rows = StagedRows(files, fields_of(sides.table), counts)
        text = digest(parsed, asked.dialect)
        begun.record(StatementWrites(version, ((sides.table.id, rows),), (), text))
    return sum(int(r["rows"]) for r in results)


def _is_distributable(plan: StatementPlan, sides: Sides) -> bool:
    """True if every step needs no more than a unit has."""
    if plan.lookups or plan.points or plan.system:
        return False
    shared = _shared_guards(plan, sides)
    if shared and len(_staged_relations(plan, shared)) != 1:
        return False
    places = _staged_origins(sides.table)
    for step in plan.steps:
        if not isinstance(step, Stage | Guard | Append | Count):
            return False
        if not _OWN.issuperset(step.query.parameters):
            return False
        if step in shared:
            if not _staged_columns(step) <= places.keys():
                return False
        elif _relations_read(step.query) - _unit_relations(plan, sides):
            return False
    return True


def _unit_relations(plan: StatementPlan, sides: Sides) -> set[str]:
    """The relations that a unit has."""
    known = {
        f"t{table.id}_{tier}" for table in (sides.table, sides.backup_table) for tier in _SEALED
    }
    return known | {step.name for step in plan.steps if isinstance(step, Stage)}


def _relations_read(query: Query) -> set[str]:
    sources = query.ast.find_all(exp.Table)
    return {s.name for s in sources if isinstance(s.this, exp.Identifier)}


def _shared_guards(plan: StatementPlan, sides: Sides) -> list[Guard]:
    """The guards whose answer depends on rows that another unit has, or on another table.

    Keys are a unit's alone. Other rows of this restore may take the values of a unique key,
    or free them, and be what a foreign key refers to.
    """
    across = {Code.FOREIGN_KEY} | ({Code.DUPLICATE_KEY} if further_keys(sides.table) else set())
    known = _unit_relations(plan, sides)
    guards = [step for step in plan.steps if isinstance(step, Guard)]
    return [g for g in guards if g.code in across or _relations_read(g.query) - known]


def _staged_relations(plan: StatementPlan, guards: Sequence[Guard]) -> set[str]:
    """The stages that some guards read: of a restore its changes."""
    names = {step.name for step in plan.steps if isinstance(step, Stage)}
    return names & {name for guard in guards for name in _relations_read(guard.query)}


def _staged_origins(table: Table) -> dict[str, tuple[str, str] | None]:
    """The columns of staged changes: the side and the column of the rows that they are of."""
    found: dict[str, tuple[str, str] | None] = {_ENDED: None, _BEGUN: None}
    for index, stored in enumerate(table.stored):
        found[old_name(index)] = ("o", stored.physical)
        found[new_name(index)] = ("n", stored.physical)
    return found


def _staged_columns(guard: Guard) -> set[str]:
    """The columns of staged changes that a guard names; those of tables have names of their own."""
    names = {c.name for c in guard.query.ast.find_all(exp.Column)}
    return {n for n in names if n.startswith(INTERNAL) or n in {_ENDED, _BEGUN}}


def _check_shared_guards(
    context: JobContext,
    begun: Transaction,
    asked: StatementRequest,
    sides: Sides,
    files: Sequence[SegmentFile],
    parameters: dict[str, Any],
) -> None:
    """Check the rows that units wrote; raises the refusal of the first guard that fails."""
    session, journal = context.session, context.journal
    statement = journal.statement(begun)
    try:
        statement.leave_positions(sides.table.id)
        # Others may have had the table sealed since: its rows lie elsewhere then.
        plan = session.executor.planner.plan(statement, asked, TimePoints(journal, {}))
        statement.check_segments(plan.tables)
        statement.session.use_zone(session.settings.timezone)
        guards = _shared_guards(plan, sides)
        (stage,) = _staged_relations(plan, guards)
        names = set().union(*map(_staged_columns, guards))
        changes = _changes_query(sides.table, files, names, journal.root)
        statement.session.stage(stage, changes, {})
        for guard in guards:
            check_guard(statement.session, guard, guard.query, parameters)
    finally:
        statement.close()


def _changes_query(
    table: Table, files: Sequence[SegmentFile], names: set[str], root: Path
) -> Query:
    """The changes that rows of a journal say, as a restore stages them: some of the columns."""
    start, end = table.format.version_column, table.format.subsequent_column
    rows = segment_rows(table, [f.path for f in files], fields_of(table), root)
    is_open = exp.Is(this=column(end, "r"), expression=exp.null())
    is_closing = exp.GT(this=column(end, "r"), expression=column(start, "r"))
    begun, ended = (
        exp.select("*").from_(rows.copy().subquery("r")).where(kind).subquery(alias)
        for kind, alias in ((is_open, "n"), (is_closing, "o"))
    )
    outputs: list[exp.Expr] = [
        exp.alias_(exp.not_(exp.Is(this=column(start, side), expression=exp.null())), name)
        for side, name in (("o", _ENDED), ("n", _BEGUN))
    ]
    for name, place in sorted(_staged_origins(table).items()):
        if place is not None and name in names:
            outputs.append(exp.alias_(column(place[1], place[0]), ident(name)))
    same = exp.and_(*[exp.EQ(this=column(k, "o"), expression=column(k, "n")) for k in table.key])
    return Query.of(exp.select(*outputs).from_(ended).join(begun, on=same, join_type="full"))


def _unit_task(
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
            (sides.table.id, sides.current_manifest.to_json()),
            (sides.backup_table.id, sides.backup_manifest.to_json()),
        ],
        "stages": [(s.name, _unit_sql(s.query, sides.key_files, keys)) for s in staged],
        "guards": [_unit_sql(g.query) for g in _unit_guards(plan, sides)],
        "append": _unit_sql(append.query),
        "count": _unit_sql(count.query),
        "parameters": parameters,
        "folder": folder,
    }


def _unit_sql(query: Query, all_keys: Sequence[str] = (), keys: str = "") -> str:
    """A query for a unit, which reads one of the files of keys."""
    ast = query.ast.copy()
    for listed in list(ast.find_all(exp.Array)):
        if all_keys and [e.name for e in listed.expressions] == list(all_keys):
            listed.set("expressions", [exp.Literal.string(keys)])
    return ast.sql(dialect="duckdb")


def _unit_guards(plan: StatementPlan, sides: Sides) -> list[Guard]:
    """The guards that each unit asks of its own rows."""
    shared = _shared_guards(plan, sides)
    return [s for s in plan.steps if isinstance(s, Guard) and s not in shared]


def _raise_refused(guards: Sequence[Guard], results: Sequence[Any]) -> None:
    for refused in (r["refused"] for r in results if r["refused"] is not None):
        number, values = refused
        raise filled_error(guards[number], values)
