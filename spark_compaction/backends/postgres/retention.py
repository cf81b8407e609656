"""Retention inside the database: rows and versions past their time go, by their table's policy.

    settle  appends go to a fresh head
    stage   tables that hold rows past their time are written anew without them, and compared
    swap    the new tables are listed, unless a row that goes was ended meanwhile: once more; or a
            row refers to one that goes, and the policy has DEPENDENTS = REFUSE: nothing goes
    retire  what was replaced stays until its grace ends, as a backup; what is archived until told

The dates in the data decide. A transaction that began before cannot commit changes of the table: a
row that it ends may be gone. Versions stay for an hour after they ended, for those who read them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlglot import exp

from journal.erasure.holds import active, are_as_judged, conditions, whole_table
from journal.model.dependents import Dependents
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.policy import RetentionAction, policy_of
from journal.model.schema import Table
from journal.model.segment import Fields, Head, Segment, Tier
from journal.model.version import Version, from_datetime, to_datetime
from journal.records import backups
from journal.records.backups import BackupKind, Naming
from journal.records.report import JobReport, Work
from journal.sql.relations import column, union_all
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import rows_in_layout
from journal.stores.postgres import as_committed, backup_segments, jobs, layout, pieces
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.expiry import ENDED, HELD, Expiry, RowsUnderHold, substituted
from journal.transactions.orphaned_rows import left_by_date
from journal.transactions.orphaned_rows import told as told_left
from journal.transactions.state import TableState
from spark_compaction.backend import Replan
from spark_compaction.backends.postgres import rewriting, segment_swap, table_backups
from spark_compaction.backends.postgres.searched import tables_of
from spark_compaction.contract import JobRequest

_ROUNDS_MAX = 5
_WHY = "{} of its rows are past their time"
_READ_US = 3600 * 1_000_000
"""How long a transaction may go on reading versions that ended after it began."""


def retain(
    journal: DatabaseJournal, asked: JobRequest, now: datetime, by: str | None = None
) -> JobReport:
    """Apply the table's policy at a moment.

    Raises NOT_SUPPORTED, JOB_BUSY, or what the server raises. What was there before is left as a
    backup made ``by`` somebody, for as long as the grace lasts.
    """
    table = asked.table
    _refuse_adopted(table)
    found = _expiry(journal, table, now)
    if isinstance(found, str):
        return _nothing(asked, found)
    if asked.dry_run:
        return _planned(journal, asked, found)
    with segment_swap.turn(journal, table) as session:
        segment_swap.remove_litter(session, table.id)
        for _ in range(_ROUNDS_MAX):
            try:
                return _once(journal, session, asked, now, by)
            except Replan:
                session.rollback()
    raise PalimpsestError(
        Code.JOB_BUSY,
        f"rows of {table.name} that are past their time, or its definition, are changed again and"
        " again",
        advice="run it again when fewer of them are written",
    )


def _expiry(journal: DatabaseJournal, table: Table, now: datetime) -> Expiry | str:
    """What is past its time by the policy and the holds of a table, or why nothing is looked for.

    Which rows may be judged is said later.
    """
    policy, holds = policy_of(table), active(journal, table)
    if (whole := whole_table(holds)) is not None:
        return f"under {whole.told()}"
    if not policy.removes:
        return "no policy removes anything"
    return Expiry(table, policy, now, 0, conditions(journal, table, holds))


def _refuse_adopted(table: Table) -> None:
    if is_flat(table):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{table.name} has an adopted journal, from which no policy removes rows: without the"
            " latest row of a key, an earlier one of another date would be current again",
            advice="OPTIMIZE moves superseded versions out of it; or eject the table and adopt it"
            " again, as a plain one",
        )


def _nothing(asked: JobRequest, why: str) -> JobReport:
    return JobReport(asked.job_id, "retain", str(asked.table.name), "nothing", why)


def _kept_all(asked: JobRequest, kept: RowsUnderHold) -> JobReport:
    """Nothing goes: nothing is past its time, or holds keep all that is."""
    told_of = (asked.job_id, "retain", str(asked.table.name), "nothing", kept.told(0))
    return JobReport(*told_of, details=kept.details)


def _planned(journal: DatabaseJournal, asked: JobRequest, found: Expiry) -> JobReport:
    """What would be written anew and what would go, counted."""
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            found = _at(found, statement.committed.version, journal.clock.now())
            state = statement.committed.tables[found.table.id]
            session = statement.session
            _show_lists(session, found, state)
            there = rewriting.to_be_settled(session, found.table, state)
            goes = partial(_rows, found, go=True)
            work = rewriting.planned(session, found.table, there, goes, _WHY)
            archived = _to_archive(session, found, there, work)
            kept = _kept(session, found, state)
            details = found.details(_floor(session, found), archived)
            left = left_by_date(session, statement.committed, found) if work.taken else {}
    finally:
        journal.rollback(transaction)
    if not work.taken:
        return _kept_all(asked, kept)
    return _report(asked, "planned", work, details, left, kept)


def _report(
    asked: JobRequest,
    state: str,
    work: Work,
    details: Mapping[str, Any],
    left: Mapping[str, int],
    kept: RowsUnderHold,
    **more: Any,
) -> JobReport:
    why = kept.told(work.read.rows - work.written.rows)
    details = {**details, **kept.details}
    if left:
        why, details = f"{why}; {told_left(left)}", {**details, "dangling": left}
    told_of = (asked.job_id, "retain", str(asked.table.name), state, why)
    return JobReport.of(work, *told_of, details=details, **more)


def _to_archive(
    session: PostgresSession, found: Expiry, there: Iterable[Head | Segment], work: Work
) -> int:
    """How many rows of what is taken the policy keeps elsewhere."""
    taken, rows = {t.segment for t in work.taken}, 0
    for piece in there:
        source = backup_segments.source_of(found.table, piece)
        query = _archived(found, source, piece.fields) if source.name in taken else None
        rows += 0 if query is None else pieces.hashed(session, query)[0]
    return rows


def _at(found: Expiry, settled: Version, now: Version) -> Expiry:
    return replace(found, settled=settled, oldest=now - _READ_US)


def _show_lists(session: PostgresSession, found: Expiry, state: TableState) -> None:
    """Keep what the conditions look up, until the session's transaction ends."""
    tiers = state.tiers | {Tier.HEAD}
    if found.looks_at_history:
        session.stage(ENDED, Query(found.ended(tiers), ()), {})
    held = found.held(_written(found.table, state))
    if held is not None:
        session.stage(HELD, Query(held, ()), {})


def _written(table: Table, state: TableState) -> list[exp.Query]:
    """All rows of a journal, also those that an erasure hides."""
    return [rows_in_layout(table, source, fields) for source, fields in tables_of(table, state)]


def _kept(session: PostgresSession, found: Expiry, state: TableState) -> RowsUnderHold:
    """The rows past their time that stay because of holds."""

    def ask(query: exp.Select) -> list[tuple[Any, ...]]:
        return session.arrow_rows(session.arrow(Query(query, ()), {}))

    return found.kept(union_all(_written(found.table, state)), ask)


def _once(
    journal: DatabaseJournal,
    session: PostgresSession,
    asked: JobRequest,
    now: datetime,
    by: str | None,
) -> JobReport:
    """Judge and swap once, by the policy as it is now; raises Replan if it must be done again."""
    started = time.monotonic()
    settled = segment_swap.settle(journal, asked.table)
    table, state = settled.table, settled.state
    judged = "the table was dropped" if settled.is_dropped else _expiry(journal, table, now)
    if isinstance(judged, str):
        return _nothing(asked, judged)
    found = _at(judged, settled.version, journal.clock.now())
    session.begin()
    session.read_epochs(journal.state.epoch_of)
    as_committed.check_heads(session, table)
    _show_lists(session, found, state)
    staged = rewriting.rewrite(
        *(session, table, state),
        partial(_rows, found, go=True),
        partial(_rows, found, go=False),
        *(settled.version, _WHY),
    )
    archived = table_backups.archived(
        *(session, table, staged.inputs, lambda s, f: _archived(found, s, f), settled.version)
    )
    floor = _floor(session, found)
    made_at = to_datetime(journal.clock.now())
    naming = Naming(f"retain-{asked.job_id}", BackupKind.AUTO, by, made_at)
    leave_backup = table_backups.left_by(session, settled, naming)
    left = left_by_date(session, journal.state, found) if staged.work.taken else {}
    kept = _kept(session, found, state)
    session.commit()
    if not staged.work.taken:
        return _kept_all(asked, kept)

    def alongside(section: PostgresSession, following: TableState) -> TableState:
        if _ended_since(section, found, state):
            raise Replan("a row that goes was ended meanwhile")
        if not are_as_judged(journal, section, found.table, found.holding):
            raise Replan("a legal hold was placed or released meanwhile")
        if found.policy.dependents is Dependents.REFUSE:
            # In the section this is the state that is committed.
            left_by_date(section, journal.state, found)
        leave_backup(section)
        if archived:
            apart = backups.archived_by(asked.job_id, by, made_at)
            table_backups.keep_archived(
                journal, section, apart.backup(table, archived, settled.version)
            )
        # Who began before may have ended a row that is gone.
        jobs.replaced(section, table.id, following.manifest.epoch, erased=True)
        manifest = following.manifest
        return replace(following, manifest=replace(manifest, floor=max(manifest.floor, floor)))

    why = segment_swap.RetireReason(asked.job_id, "retain", asked.grace_us)
    segment_swap.swap(
        *(journal, table, staged.inputs, staged.segments, staged.head_counts, why, alongside),
        planned_as=table,
    )
    reaped = segment_swap.reap(journal, table.id)
    details = found.details(floor, sum(s.counts.total for s in archived))
    return _report(
        *(asked, "done", staged.work, details, left, kept),
        retired=tuple(t.name for t in staged.inputs.tables(table)),
        reaped=len(reaped.removed),
        seconds={"retain": round(time.monotonic() - started, 3)},
    )


def _rows(found: Expiry, source: exp.Table, fields: Fields, *, go: bool) -> exp.Query:
    """The rows of a table that go, or those that stay."""
    shown = rows_in_layout(found.table, source, fields).selects
    condition = exp.paren(substituted(found.goes("r"), "r", shown))
    rows = pieces.all_rows(found.table, source, fields)
    return rows.where(condition if go else exp.Not(this=condition))


def _archived(found: Expiry, source: exp.Table, fields: Fields) -> exp.Query | None:
    """The rows of a table that the policy keeps elsewhere when they go; None if it keeps none."""
    condition = found.archived("r")
    if condition is None or found.policy.action is not RetentionAction.ARCHIVE:
        return None
    shown = rows_in_layout(found.table, source, fields).selects
    rows = pieces.all_rows(found.table, source, fields)
    return rows.where(exp.paren(substituted(condition, "r", shown)))


def _ended_since(session: PostgresSession, found: Expiry, state: TableState) -> bool:
    """True if the last head of a state ends rows that are past their date.

    A closing row carries the values of the row it ends.
    """
    dated = found.archived("r")
    if dated is None:
        return False
    table, last = found.table, state.manifest.heads[-1]
    rows = rows_in_layout(table, layout.head_table(table.id, last), last.fields).subquery("r")
    start, end = table.format.version_column, table.format.subsequent_column
    closing = exp.GT(this=column(end, "r"), expression=column(start, "r"))
    held = found.held(_written(table, state))
    if held is not None:
        session.stage(HELD, Query(held, ()), {})
    ended = exp.select(exp.Literal.number(1)).from_(rows).where(closing, dated).limit(1)
    session.execute(Query(ended, ()), {})
    return bool(session.fetch_many(1))


def _floor(session: PostgresSession, found: Expiry) -> Version:
    """The end of the latest version that goes, before which the past cannot be told."""
    if not found.looks_at_history:
        return 0
    latest = exp.Max(this=column(found.table.format.subsequent_column))
    query = exp.select(latest).from_(exp.alias_(exp.to_table(ENDED), "r", table=True))
    (last,) = session.row(Query(query.where(found.unheld("r")), ()), {})
    return 0 if last is None else last if isinstance(last, int) else from_datetime(last)
