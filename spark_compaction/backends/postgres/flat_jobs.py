"""Writing an adopted journal anew: without what is erased, or without what is history.

    stage   a table like the journal is filled, and for a compaction a segment of what has ended
    verify  current rows and ended versions say the same through old tables and new ones
    swap    if the journal is still what it was, the new table takes its name

A compaction leaves the latest row of each key in the journal, so classic readers see the same rows,
and moves superseded versions to a segment of our own, so every AS OF answer stays. Who writes to
the journal besides the gateway is waited for; what they wrote meanwhile is staged once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.model.segment import Fields, Segment, Tier
from journal.model.version import Version
from journal.records.report import JobReport, Volume, Work
from journal.sql.relations import union_all
from journal.sql.row_layout import fields_of, rows_in_layout
from journal.stores.postgres import as_committed, flat, jobs, layout, pieces
from journal.stores.postgres import exchange as exchanging
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.pieces import hashed
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import JournalState, TableState
from spark_compaction.backend import Replan
from spark_compaction.backends.postgres import rewriting, segment_swap
from spark_compaction.contract import JobRequest
from spark_compaction.planner import NOTHING_TO_REWRITE, WITHIN_LIMITS
from spark_compaction.runner import until_settled

_WHY = "superseded versions move to history"


@dataclass(frozen=True, slots=True)
class RewrittenJournal:
    """What takes the place of a journal and of segments; ``seen`` tells if the journal changed."""

    journal: exp.Table
    gone: tuple[Segment, ...]
    made: tuple[Segment, ...]
    seen: tuple[int, int]
    read: Volume
    written: Volume


def compact(journal: DatabaseJournal, asked: JobRequest, mode: str = "major") -> JobReport:
    """Move what has ended out of an adopted journal; raises JOB_BUSY, JOB_VERIFICATION.

    Its rows are not counted, so mode ``auto`` never finds it due.
    """
    table, name = asked.table, str(asked.table.name)
    if mode == "auto":
        return JobReport(asked.job_id, "compact", name, "nothing", WITHIN_LIMITS)
    with journal.statement(journal.begin(read_only=True)) as statement:
        session = statement.session
        ended = hashed(session, flat.rows_of_tiers(table)[Tier.HISTORY])[0]
        rows = hashed(session, flat.everything(table))[0]
        left = hashed(session, flat.latest(table))[0]
        place = flat.journal_table(table)
        taken = rewriting.taken(place, rows, pieces.size(session, place), _WHY)
    if rows == left:
        return JobReport(asked.job_id, "compact", name, "nothing", NOTHING_TO_REWRITE)
    details = {"current_rows": left, "history_rows": ended}
    if asked.dry_run:
        written = Volume(1 + bool(ended), left + ended, taken.bytes * (left + ended) // rows)
        work = Work((taken,), written, (), rewriting.ABOUT)
        return JobReport.of(work, asked.job_id, "compact", name, "planned", details=details)

    def stage(session: PostgresSession, now: Table, state: TableState) -> RewrittenJournal:
        return _without_history(session, now, state, statement.committed.version)

    why = segment_swap.RetireReason(asked.job_id, "compact", asked.grace_us)
    done = rewrite(journal, table, stage, why)
    segment_swap.reap(journal, table.id)
    # As it was when it was swapped: somebody may have written to it since it was looked at.
    work = Work((replace(taken, rows=done.read.rows, bytes=done.read.bytes),), done.written)
    return JobReport.of(work, asked.job_id, "compact", name, "done", details=details)


Stage = Callable[[PostgresSession, Table, TableState], RewrittenJournal]


def rewrite(
    journal: DatabaseJournal,
    table: Table,
    stage: Stage,
    why: segment_swap.RetireReason,
    alongside: segment_swap.Alongside | None = None,
) -> RewrittenJournal:
    """Stage and swap until nobody wrote in between; raises JOB_BUSY if somebody always does."""
    with segment_swap.turn(journal, table) as session:
        segment_swap.remove_litter(session, table.id)
        exchanging.refuse_ties(session, table)

        def once(_number: int) -> RewrittenJournal:
            with journal.commit_section() as (_, committed, _):
                now = segment_swap.definition(committed, table.id)
                state = committed.tables[table.id]
            session.begin()
            staged = stage(session, now, state)
            session.commit()
            try:
                _swap(journal, now, state, staged, why, alongside)
            except Replan:
                session.begin()
                made = [staged.journal, *(layout.segment_table(s) for s in staged.made)]
                layout.drop_tables(session, made)
                session.commit()
                raise
            return staged

        return until_settled(str(table.journal_name), once)


def _swap(
    journal: DatabaseJournal,
    table: Table,
    planned: TableState,
    staged: RewrittenJournal,
    why: segment_swap.RetireReason,
    alongside: segment_swap.Alongside | None,
) -> None:
    def change(session: PostgresSession, committed: JournalState) -> segment_swap.Changed:
        state = committed.tables[table.id]
        session.text(segment_swap.WAIT)
        place = session.rendered(flat.journal_table(table)).sql
        session.text(f"LOCK TABLE {place} IN ACCESS EXCLUSIVE MODE")
        if state.manifest != planned.manifest:
            raise Replan("the manifest is another")
        if hashed(session, flat.everything(table)) != staged.seen:
            raise Replan("rows were written meanwhile")
        since, epoch = journal.clock.now(), state.manifest.epoch
        name = pieces.new_name(table.id, len(staged.made) + 1)
        size = pieces.size(session, flat.journal_table(table))
        exchanging.exchange(session, table, staged.journal, name)
        for gone in (name, *(s.id for s in staged.gone)):
            retired = jobs.RetiredTable(gone, table.id, epoch, since, since + why.grace_us)
            jobs.retire(session, retired, why.job_id, why.kind, size)
        kept = tuple(s for s in state.manifest.segments if s not in set(staged.gone))
        manifest = replace(
            state.manifest,
            generation=state.manifest.generation + 1,
            epoch=epoch + 1,
            segments=(*kept, *staged.made),
        )
        following = replace(state, manifest=manifest)
        if alongside is not None:
            following = alongside(session, following)
        return segment_swap.Changed({table.id: following})

    segment_swap.publish(journal, change)


def _without_history(
    session: PostgresSession, table: Table, state: TableState, version: Version
) -> RewrittenJournal:
    table = _with_all_columns(table, state)
    tiers = flat.rows_of_tiers(table)
    target = _new_journal(session, table, flat.latest(table))
    ended = _new_segment(session, table, tiers[Tier.HISTORY], version)
    _check(
        session,
        table,
        {
            "current rows": (tiers[Tier.BASE], flat.over(tiers[Tier.BASE], table, target)),
            "ended rows": (
                tiers[Tier.HISTORY],
                union_all(
                    [
                        flat.over(tiers[Tier.HISTORY], table, target),
                        rows_in_layout(table, layout.segment_table(ended), ended.fields),
                    ]
                ),
            ),
        },
    )
    made = (ended,) if ended.counts.total else ()
    return _rewritten(session, table, target, (), made)


def _with_all_columns(table: Table, state: TableState) -> Table:
    """The table with every column it ever had: the journal has them still."""
    columns = {c.physical: replace(c, name=c.physical) for t in state.layouts for c in t.stored}
    return replace(table, columns=tuple(columns.values()))


def without_keys(
    session: PostgresSession,
    table: Table,
    state: TableState,
    erased: exp.Table,
    version: Version,
) -> RewrittenJournal:
    """Stage a journal and its segments without the rows of some keys."""
    target = _new_journal(session, table, flat.without(table, erased))
    made, gone = [], []
    as_committed.check_segments(session, table, flat.moved(state.manifest))
    for segment in flat.moved(state.manifest):
        source = layout.segment_table(segment)
        kept = pieces.kept_rows(table, source, segment.fields, erased)
        anew = _new_segment(session, table, kept, version, segment)
        if anew.counts == segment.counts:
            layout.drop_rows(session, layout.segment_table(anew))
            continue
        gone.append(segment)
        made.append(anew)
    others: dict[str, tuple[exp.Query, exp.Query]] = {
        "rows of others": (flat.without(table, erased), flat.everything(table, target))
    }
    _check(session, table, others)
    return _rewritten(session, table, target, tuple(gone), tuple(made))


def planned_without(
    session: PostgresSession, table: Table, state: TableState, erased: exp.Table
) -> Work:
    """What ``without_keys`` would do: to the whole journal, and to segments with the keys."""
    place = flat.journal_table(table)
    rows = hashed(session, flat.everything(table))[0]
    left = hashed(session, flat.without(table, erased))[0]
    size = pieces.size(session, place)
    taken = rewriting.taken(place, rows, size, f"holds {rows - left} rows of the keys")
    work = Work((taken,), Volume(1, left, size * left // max(1, rows)), (), rewriting.ABOUT)

    def goes(source: exp.Table, fields: Fields) -> exp.Query:
        return pieces.erased_rows(table, source, fields, erased)

    why = "holds {} rows of the keys"
    return work + rewriting.planned(session, table, flat.moved(state.manifest), goes, why)


def _new_journal(session: PostgresSession, table: Table, rows: exp.Query) -> exp.Table:
    target = exp.table_(pieces.new_name(table.id, 0), db=STORE_SCHEMA)
    exchanging.like(session, table, target)
    session.run(exp.Insert(this=target.copy(), expression=rows))
    session.text(f"ANALYZE {session.rendered(target).sql}")
    return target


def _new_segment(
    session: PostgresSession,
    table: Table,
    rows: exp.Query,
    version: Version,
    like: Segment | None = None,
) -> Segment:
    fields = fields_of(table) if like is None else like.fields
    target = exp.table_(pieces.new_name(table.id, 1), db=STORE_SCHEMA)
    layout.create_rows(session, table, target, fields)
    session.run(layout.insert_fields(table, target, fields, rows))
    counts = layout.count_rows(session, table, target)
    layout.finish_rows(session, table, target, fields)
    session.text(f"ANALYZE {session.rendered(target).sql}")
    _, checksum = as_committed.fingerprint(session, table, target, fields)
    return Segment(target.name, Tier.HISTORY, (), fields, counts, 0, version, checksum)


def _check(
    session: PostgresSession, table: Table, pairs: Mapping[str, tuple[exp.Query, exp.Query]]
) -> None:
    for what, (before, after) in pairs.items():
        if hashed(session, before) != hashed(session, after):
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"writing {table.journal_name} anew would change the {what}",
                advice="nothing was changed; look for rows of equal key and version in the journal",
            )


def _rewritten(
    session: PostgresSession,
    table: Table,
    target: exp.Table,
    gone: tuple[Segment, ...],
    made: tuple[Segment, ...],
) -> RewrittenJournal:
    seen = hashed(session, flat.everything(table))
    old = [flat.journal_table(table), *(layout.segment_table(s) for s in gone)]
    new = [target, *(layout.segment_table(s) for s in made)]
    left = hashed(session, flat.everything(table, target))[0]
    read = Volume(
        len(old),
        seen[0] + sum(s.counts.total for s in gone),
        sum(pieces.size(session, t) for t in old),
    )
    written = Volume(
        len(new),
        left + sum(s.counts.total for s in made),
        sum(pieces.size(session, t) for t in new),
    )
    return RewrittenJournal(target, gone, made, seen, read, written)
