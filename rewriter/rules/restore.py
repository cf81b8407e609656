"""RESTORE TABLE: writes the difference between now and then as a new version.

Rows of then that are missing come back, changed ones change back, later ones go. With WHERE, a row
takes part if it meets the condition now or met it then. Being an ordinary write, it can be undone
by another RESTORE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.copied_rows import moved_from
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import (
    P_SNAPSHOT,
    Count,
    PointRequest,
    Query,
    Stage,
    StatementKind,
    StatementPlan,
    Step,
    TransactionBoundary,
)
from journal.model.schema import Table
from journal.model.triggers import INSERT
from journal.sql.relations import Reader, column, ident
from rewriter.context import RewriteContext
from rewriter.definitions.generated_values import writable_columns
from rewriter.name_resolution import VERSION, find_table, position_of
from rewriter.reading.around import rewrite_around
from rewriter.reading.past.history import Past, comparable
from rewriter.reading.past.time_travel import Moment, check_versioned, point_request
from rewriter.reading.policies.security import RowSecurity, refuse_restricted
from rewriter.reading.read_rewriter import Reads
from rewriter.statement import Restore, Source
from rewriter.writing.changes import OLD_VERSION, ChangeSet, append_step, new_name, old_name
from rewriter.writing.guards import guard_steps
from rewriter.writing.references import reference_guards
from rewriter.writing.replaced_rows import replaced_rows
from rewriter.writing.row_triggers import refuse_triggers
from rewriter.writing.target import physical_rows, target_outputs

STAGE = "changed"
PICKED = "picked"
AMONG = "among"
_ENDS, _BEGINS = "is_ended", "is_begun"


def rewrite_restore(statement: Restore, context: RewriteContext) -> StatementPlan:
    """The plan of a RESTORE TABLE."""
    reads = Reads(context)
    table = find_table(statement.table, context)
    check_versioned(table, statement.table, context.catalog)
    if RowSecurity.of(table, context) is not None:
        raise refuse_restricted("restore", table, "its owner may")
    if statement.source is None and (earlier := _earlier_table(statement, table, context)):
        return _restored_from(earlier, table, statement, context)
    past = statement.source or _moment(statement, table, reads)
    sides = _Sides(table, reads, past)
    steps: list[Step] = []
    if sides.key_files:
        steps.append(Stage(AMONG, Query.of(sides.keys_in(sides.key_files))))
    picked = statement.where is not None
    if statement.where is not None:
        steps.append(Stage(PICKED, Query.of(sides.chosen_keys(statement))))
    steps.append(Stage(STAGE, Query.of(sides.difference(picked=picked))))
    changes = ChangeSet(table, STAGE, _ENDS, _BEGINS, frozenset(c.physical for c in table.stored))
    steps += guard_steps(changes, lambda: physical_rows(reads, table))
    steps += reference_guards(reads, [changes])
    steps.append(append_step(changes))
    steps.append(Count(Query.of(exp.select(exp.Count(this=exp.Star())).from_(STAGE))))
    return reads.plan(StatementKind.WRITE, steps, table, "RESTORE")


def _earlier_table(statement: Restore, table: Table, context: RewriteContext) -> Table | None:
    """What the table was then, if its rows moved to another journal afterwards; else None."""
    ids = moved_from(table)
    catalog = context.times(_request(statement)).catalog if ids else context.catalog
    if catalog.by_id(table.id) is not None:
        return None
    return next((found for found in map(catalog.by_id, sorted(ids)) if found is not None), None)


def _restored_from(
    earlier: Table, table: Table, statement: Restore, context: RewriteContext
) -> StatementPlan:
    """The plan that puts the rows of then in the place of all there are: no key connects the two.

    Columns that it did not have then get their defaults. Raises NOT_SUPPORTED for a condition, and
    beside triggers, which would fire on the rows of then.
    """
    name = table.name.name
    if statement.where is not None:
        then = f"{statement.kind} AS OF {statement.point.sql(dialect='duckdb')}"
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"RESTORE .. WHERE of {table.name} from before its primary key changed: its rows"
            " then are in another journal",
            advice=f"RESTORE the whole table, or INSERT rows of {name} {then}",
            position=position_of(statement.table),
        )
    advice = f"ALTER TABLE {name} DISABLE TRIGGER ALL, RESTORE it, and ENABLE TRIGGER ALL"
    refuse_triggers(table, INSERT, "RESTORE from before its primary key changed", advice)
    before = {column.physical: column for column in earlier.columns}
    given = [c for c in writable_columns(table.columns) if c.physical in before]
    clause = exp.Version(this=statement.kind, kind="AS OF", expression=statement.point)
    source = exp.Table(this=ident(earlier.name.name), db=ident(earlier.name.schema), version=clause)
    rows = exp.select(*[column(before[c.physical].name) for c in given]).from_(source)
    within = replace(context, dialect="duckdb", as_of=None, batch=False)
    return replace(replaced_rows(table, rows, within, given=given), tag="RESTORE")


def _request(statement: Restore) -> PointRequest:
    where, by_number = position_of(statement.table), statement.kind == "VERSION"
    at = TransactionBoundary.AT
    found = point_request(statement.point, at, by_number=by_number, position=where)
    # Nobody means to go back to the future: a digit too many would restore nothing without a word.
    return replace(found, is_reached=True)


def _moment(statement: Restore, table: Table, reads: Reads) -> Moment:
    moment = reads.point(_request(statement))
    if moment.point.catalog.by_id(table.id) is None:
        raise PalimpsestError(
            Code.TIME_POINT,
            f"{table.name} did not exist at {statement.point.sql(dialect='duckdb')}",
            advice="name a later point in time; DROP the table if it shall be gone",
            position=position_of(statement.table),
        )
    return moment


@dataclass(frozen=True, slots=True)
class _Sides:
    """The table now and then, both in its present columns."""

    table: Table
    reads: Reads
    past: Moment | Source

    @property
    def key_files(self) -> tuple[str, ...]:
        """Files of all keys whose rows may differ, if they are known."""
        return self.past.among if isinstance(self.past, Source) else ()

    def keys_in(self, files: Sequence[str]) -> exp.Query:
        """Keys that stand in files, under the names and types of the table's."""
        paths = exp.Array(expressions=[exp.Literal.string(path) for path in files])
        rows = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[paths]))
        outputs = [
            exp.alias_(exp.cast(column(p), self.table.by_physical(p).type, dialect="duckdb"), name)
            for p, name in zip(self.table.key, map(ident, self.keys), strict=True)
        ]
        return exp.select(*outputs).from_(rows)

    def current_rows(self) -> exp.Query:
        return self._candidates(self.reads.relation(self.table, target_outputs(self.table)))

    def past_rows(self) -> exp.Query:
        return self._candidates(self._past_query())

    def _candidates(self, rows: exp.Query) -> exp.Query:
        """Of a side's rows those that may differ."""
        if not self.key_files:
            return rows
        same = [exp.EQ(this=column(k, "s"), expression=column(k, "a")) for k in self.keys]
        among = exp.alias_(exp.to_table(AMONG), "a", table=True)
        found = exp.select("*").from_(rows.subquery("s"))
        return found.join(among, on=exp.and_(*same), join_type="semi")

    def _past_query(self) -> exp.Query:
        if isinstance(self.past, Source):
            shown = replace(self.table, id=self.past.table_id)
            return Reader(shown, self.past.tiers).current(target_outputs(self.table))
        scan = self.reads.context.scan_info(self.table.id)
        limit = exp.Placeholder(this=P_SNAPSHOT) if scan.pinned else None
        past = Past(self.table, scan.tiers, limit)
        return past.state_at(self.past.version, target_outputs(self.table))

    @property
    def keys(self) -> list[str]:
        return [self.table.by_physical(p).name for p in self.table.key]

    def chosen_keys(self, statement: Restore) -> exp.Query:
        """Keys of the rows that meet the condition now or met it then."""
        alias = exp.TableAlias(this=ident(statement.table.name))
        both = exp.union(self.current_rows(), self.past_rows(), distinct=False)
        rows = exp.select(*[column(k) for k in self.keys]).distinct()
        rows = rows.from_(exp.Subquery(this=exp.select("1")), copy=False)
        rows.set("where", exp.Where(this=statement.where))
        rewrite_around(self.reads, rows, exp.Subquery(this=both, alias=alias))
        return rows

    def difference(self, *, picked: bool) -> exp.Query:
        """One row for each key whose row differs."""
        stored = self.table.stored
        gone, back = column(VERSION, "n"), column(VERSION, "t")
        outputs: list[exp.Expr] = []
        for index, found in enumerate(stored):
            outputs.append(exp.alias_(column(found.name, "n"), old_name(index)))
            outputs.append(exp.alias_(column(found.name, "t"), new_name(index)))
        outputs.append(exp.alias_(gone.copy(), OLD_VERSION))
        outputs.append(exp.alias_(_is_given(gone), _ENDS))
        outputs.append(exp.alias_(_is_given(back), _BEGINS))
        same = [exp.EQ(this=column(k, "n"), expression=column(k, "t")) for k in self.keys]
        rows = exp.select(*outputs).from_(self.current_rows().subquery("n"))
        rows = rows.join(self.past_rows().subquery("t"), on=exp.and_(*same), join_type="full")
        different: list[exp.Expr] = [_is_missing(gone), _is_missing(back)]
        different += [
            exp.NullSafeNEQ(
                this=comparable(c, column(c.name, "n")),
                expression=comparable(c, column(c.name, "t")),
            )
            for c in stored
        ]
        rows = rows.where(exp.NullSafeNEQ(this=gone, expression=back), exp.or_(*different))
        if isinstance(self.past, Source) and self.past.only_missing:
            rows = rows.where(_is_missing(gone))
        if picked:
            names = [
                exp.EQ(
                    this=column(k, "p"),
                    expression=exp.Coalesce(this=column(k, "n"), expressions=[column(k, "t")]),
                )
                for k in self.keys
            ]
            chosen = exp.select(exp.Literal.number(1)).from_(
                exp.alias_(exp.to_table(PICKED), "p", table=True)
            )
            rows = rows.where(exp.Exists(this=chosen.where(*names)))
        return rows


def _is_missing(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value.copy(), expression=exp.Null())


def _is_given(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=_is_missing(value))
