"""Retention in Spark: rows and versions past their time go, by their table's policy.

    turn    the table's lease: nobody else commits to it meanwhile
    stage   partitions that hold rows past their time are written anew without them, and compared
    swap    the new partitions are listed, under another epoch
    retire  what was replaced stays until its grace ends, what is archived until told

The dates in the data decide. A transaction that began before cannot commit to the table: a row that
it ends may be gone. Versions stay for an hour after they ended, for those who read them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlglot import exp

from journal.erasure.holds import active, are_as_judged, conditions, whole_table
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.policy import policy_of
from journal.model.segment import Segment
from journal.model.version import Version, from_datetime, to_datetime
from journal.records import backups
from journal.records.backups import BackupKind, Naming
from journal.records.report import JobReport, Work
from journal.sql.relations import column, union_all
from journal.sql.row_layout import rows_in_layout
from journal.sql.substitution import in_terms_of
from journal.stores.hive import layout, written
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.leases import HeldLeases
from journal.stores.hive.pieces import SegmentGroup, pieces
from journal.stores.hive.segment_check import count_rows
from journal.stores.hive.statement import HiveStatement
from journal.stores.hive.tiers import SeenTiers
from journal.transactions.expiry import ENDED, HELD, Expiry, RowsUnderHold, substituted
from spark_compaction.backends.hive import cleaning, partition_backups, rewriting
from spark_compaction.backends.hive.rewriting import HiveRetireReason
from spark_compaction.contract import JobRequest

_WRITTEN = "written_rows"
_WHY = "{} of its rows are past their time"
_READ_US = 3600 * 1_000_000
"""How long a transaction may go on reading versions that ended after it began."""


def retain(
    journal: HiveJournal, asked: JobRequest, now: datetime, by: str | None = None
) -> JobReport:
    """Apply the table's policy at a moment; raises what the server raises.

    What was there before is left as a backup made ``by`` somebody, for as long as the grace lasts.
    """
    if asked.dry_run:
        with journal.statement(journal.begin(read_only=True)) as statement:
            found = _expiry(journal, statement, asked.table.id, now)
            if isinstance(found, str):
                return _nothing(asked, found)
            return _planned(journal, asked, _at(journal, statement, found), statement)
    with (
        journal.leases.holding([f"table:{asked.table.id}"]) as held,
        rewriting.staging(journal) as made,
        journal.statement(journal.begin(read_only=True)) as statement,
    ):
        found = _expiry(journal, statement, asked.table.id, now)
        if isinstance(found, str):
            return _nothing(asked, found)
        return _once(journal, asked, _at(journal, statement, found), statement, held, made, by)


def _expiry(
    journal: HiveJournal, statement: HiveStatement, table_id: int, now: datetime
) -> Expiry | str:
    """What is past its time by the policy that a table has, or why nothing is looked for.

    Who changes its definition holds the table's lease, and so does a run from here on.
    """
    table = statement.committed.catalog.by_id(table_id)
    if table is None:
        return "the table was dropped"
    policy, holds = policy_of(table), active(journal, table)
    if (whole := whole_table(holds)) is not None:
        return f"under {whole.told()}"
    if not policy.removes:
        return "no policy removes anything"
    return Expiry(table, policy, now, 0, conditions(journal, table, holds))


def _nothing(asked: JobRequest, why: str) -> JobReport:
    return JobReport(asked.job_id, "retain", str(asked.table.name), "nothing", why)


def _kept_all(asked: JobRequest, kept: RowsUnderHold) -> JobReport:
    """Nothing goes: nothing is past its time, or holds keep all that is."""
    told_of = (asked.job_id, "retain", str(asked.table.name), "nothing", kept.told(0))
    return JobReport(*told_of, details=kept.details)


def _at(journal: HiveJournal, statement: HiveStatement, found: Expiry) -> Expiry:
    """The policy at this moment; what its conditions look up is there for queries in Spark."""
    committed, session = statement.committed, statement.session
    oldest = journal.clock.now() - _READ_US
    found = replace(found, settled=committed.version, oldest=oldest)
    state = committed.tables[found.table.id]
    find = SeenTiers(journal.names, committed, statement.transaction).in_spark
    written = [_written_rows(journal, found, p) for p in pieces(state.manifest.segments)]
    ended = found.ended(state.tiers) if found.looks_at_history else None
    lists = {ENDED: ended, HELD: found.held(written)}
    if found.holding and written:
        lists[_WRITTEN] = union_all(written)
    for name, rows in lists.items():
        if rows is not None:
            query = in_terms_of(rows, find)
            assert isinstance(query, exp.Query)
            session.put_remote(name, query)
    return found


def _planned(
    journal: HiveJournal, asked: JobRequest, found: Expiry, statement: HiveStatement
) -> JobReport:
    """What would be written anew and what would go, counted."""
    work, archived = Work(), 0
    for piece in pieces(statement.committed.tables[found.table.id].manifest.segments):
        counts = rewriting.counted(statement.session, _rows(journal, found, piece, go=True))
        work += rewriting.planned(piece, counts, _WHY)
        if counts and (rows := _kept_apart(journal, found, piece)) is not None:
            archived += sum(rewriting.counted(statement.session, rows).values())
    kept = _kept(statement, found)
    if not work.taken:
        return _kept_all(asked, kept)
    details = found.details(_floor(statement, found), archived)
    return _report(asked, "planned", work, details, kept)


def _report(
    asked: JobRequest,
    state: str,
    work: Work,
    details: Mapping[str, Any],
    kept: RowsUnderHold,
    **more: Any,
) -> JobReport:
    why = kept.told(work.read.rows - work.written.rows)
    told_of = (asked.job_id, "retain", str(asked.table.name), state, why)
    return JobReport.of(work, *told_of, details={**details, **kept.details}, **more)


def _kept(statement: HiveStatement, found: Expiry) -> RowsUnderHold:
    """The rows past their time that stay because of holds."""
    session = statement.session
    if not statement.committed.tables[found.table.id].manifest.segments:
        return RowsUnderHold()

    def ask(query: exp.Select) -> list[tuple[Any, ...]]:
        return session.arrow_rows(session.arrow(Query(query, ()), {}))

    return found.kept(exp.select("*").from_(_WRITTEN), ask)


def _written_rows(journal: HiveJournal, found: Expiry, piece: SegmentGroup) -> exp.Query:
    """The rows of a piece in present columns, also those that an erasure hides."""
    source = layout.rows_of(journal.names, piece.paths).subquery()
    return rows_in_layout(found.table, source, piece.fields)


def _rows(journal: HiveJournal, found: Expiry, piece: SegmentGroup, *, go: bool) -> exp.Select:
    """The rows of a piece that go, or those that stay."""
    source = layout.rows_of(journal.names, piece.paths).subquery()
    shown = rows_in_layout(found.table, source, piece.fields).selects
    condition = exp.paren(substituted(found.goes("r"), "r", shown))
    every = rewriting.all_rows(journal, found.table, piece)
    return every.where(condition if go else exp.Not(this=condition))


def _once(
    journal: HiveJournal,
    asked: JobRequest,
    found: Expiry,
    statement: HiveStatement,
    held: HeldLeases,
    made: list[str],
    by: str | None,
) -> JobReport:
    started, table = time.monotonic(), found.table
    state = statement.committed.tables[table.id]

    goes, stays = (partial(_rows, journal, found, go=go) for go in (True, False))
    given = (journal, statement.session, table, state, (goes, stays), made)
    staged = rewriting.rewrite(*given, why=_WHY)
    kept = _kept(statement, found)
    if not staged.replaced:
        return _kept_all(asked, kept)
    archived = _archived(journal, found, statement, staged.replaced, made)
    floor = _floor(statement, found)
    following = staged.in_place(state, floor)
    moment = journal.now()
    why = HiveRetireReason(asked.job_id, moment, moment + asked.grace_us)
    made_at = to_datetime(journal.clock.now())
    naming = Naming(f"retain-{asked.job_id}", BackupKind.AUTO, by, made_at)
    with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
        held.check(connection)
        row, committed = journal.look_in(connection)
        row = replace(row, generation=row.generation + 1)
        with journal.recording(connection) as session:
            if not are_as_judged(journal, session, table, found.holding):
                raise _judged_otherwise(found)
            partition_backups.leave(session, committed, table, naming)
            if archived:
                apart = backups.archived_by(asked.job_id, by, made_at)
                backups.add(session, apart.backup(table, archived, committed.version))
                HiveRetireReason(asked.job_id, moment, moment).retire(connection, table, archived)
            session.commit()
        rewriting.swap(connection, row.generation, table, following, staged, why)
        rows_of.put_state(connection, row)
    journal.keep(row, committed.with_tables({table.id: following}))
    reaped = cleaning.reap(journal, statement.session.connection)
    details = found.details(floor, sum(s.counts.total for s in archived))
    return _report(
        *(asked, "done", staged.work, details, kept),
        retired=tuple(s.id for s in staged.replaced),
        reaped=len(reaped),
        seconds={"retain": round(time.monotonic() - started, 3)},
    )


def _judged_otherwise(found: Expiry) -> PalimpsestError:
    return PalimpsestError(
        Code.JOB_BUSY,
        f"a legal hold on rows of {found.table.name} was placed or released meanwhile",
        advice="run it again; nothing was changed",
    )


def _archived(
    journal: HiveJournal,
    found: Expiry,
    statement: HiveStatement,
    replaced: Sequence[Segment],
    made: list[str],
) -> tuple[Segment, ...]:
    """Copy the rows that the policy keeps elsewhere into segments of their own."""
    session = statement.session
    kept: list[Segment] = []
    for piece in pieces(replaced):
        going = _kept_apart(journal, found, piece)
        if going is None:
            return ()
        query = session.in_spark(going)
        assert isinstance(query, exp.Query)
        given = (journal, session.connection, found.table, piece.fields, query, made, False)
        path = written.write(*given)
        counts = count_rows(journal.names, session.connection, found.table, path)
        if counts.total:
            kept.append(piece.written_to(path, counts))
        else:
            journal.drop_segments([path])
    return tuple(kept)


def _kept_apart(journal: HiveJournal, found: Expiry, piece: SegmentGroup) -> exp.Select | None:
    """The rows of a piece that are archived; None if the policy archives none."""
    condition = found.archived("r")
    if condition is None or not found.archives:
        return None
    source = layout.rows_of(journal.names, piece.paths).subquery()
    shown = rows_in_layout(found.table, source, piece.fields).selects
    rows = rewriting.all_rows(journal, found.table, piece)
    return rows.where(exp.paren(substituted(condition, "r", shown)))


def _floor(statement: HiveStatement, found: Expiry) -> Version:
    """The end of the latest version that goes, before which the past cannot be told."""
    if not found.looks_at_history:
        return 0
    latest = exp.Max(this=column(found.table.format.subsequent_column))
    query = exp.select(latest).from_(exp.alias_(exp.to_table(ENDED), "r", table=True))
    shown = statement.session.arrow(Query(query.where(found.unheld("r")), ()), {})
    last = shown.column(0)[0].as_py()
    return 0 if last is None else last if isinstance(last, int) else from_datetime(last)
