"""Retention by set-based SQL: removes expired rows, versions and history.

    stage     pieces that hold rows past their time are written anew without them
    verify    what stays is what there was, less what goes
    swap      if a row that goes was ended meanwhile, or holds are others: once more; if a row
              refers to one that goes, and the policy has DEPENDENTS = REFUSE: nothing goes
    retire    what was replaced stays until its grace ends, as a backup; what is archived until told

The dates in the data decide. A transaction that began before cannot commit changes of the table: a
row that it ends may be gone. Versions stay for an hour after they ended, for those who read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from sqlglot import exp

from journal.erasure.holds import are_as_judged
from journal.model.dependents import Dependents
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment, Tier
from journal.model.store_session import StoreSession
from journal.model.version import to_datetime
from journal.records import backups
from journal.sql.relations import column, union_all
from journal.sql.row_layout import rows_in_layout
from journal.transactions.expiry import ENDED, HELD, Expiry, RowsUnderHold, substituted
from journal.transactions.orphaned_rows import left_by_date
from journal.transactions.state import JournalState
from spark_compaction.backend import Alongside, Piece, Replan, SetBasedBackend, TableAt
from spark_compaction.contract import JobPlan, Json, Progress, Replacement, Staged
from spark_compaction.limits import READ_US
from spark_compaction.programs.compaction_sql import BYTES
from spark_compaction.programs.retention_rules import NO_ROW, WHY, details, expiry, floor_of, why
from spark_compaction.programs.rewriting import (
    Goes,
    RewrittenPiece,
    compare,
    plan_rewrite,
    volume_made,
    write_rows,
    write_without,
)


@dataclass(slots=True)
class RetentionInSql:
    """The job for one table; ``now`` is the moment the policy is applied at.

    What was there before is left as a backup made ``by`` somebody. ``_found`` is what was planned
    last.
    """

    now: datetime
    job_id: str
    by: str | None = None
    _found: Expiry | None = field(default=None, init=False)
    _rewritten: list[RewrittenPiece] = field(default_factory=list, init=False)

    @property
    def kind(self) -> str:
        """Its name among the kinds of jobs."""
        return "retain"

    @property
    def plans_ahead(self) -> bool:
        """No: rows are counted."""
        return False

    @property
    def expiry(self) -> Expiry:
        """What is past its time."""
        assert self._found is not None
        return self._found

    def plan(self, backend: SetBasedBackend, at: TableAt) -> JobPlan:
        """Count what goes, piece by piece."""
        table, generation = at.table, at.state.manifest.generation
        nothing = JobPlan(self.kind, table.id, str(table.name), generation, is_empty=True)
        if at.is_dropped:
            return replace(nothing, why="the table was dropped")
        judged = expiry(backend.journal, table, self.now, nothing)
        if isinstance(judged, JobPlan):
            return judged
        found = replace(judged, settled=at.version, oldest=backend.now() - READ_US)
        self._found = found
        _show_lists(backend, found, at)
        planned = plan_rewrite(backend, at, at.pieces, self._goes(table), (WHY, NO_ROW))
        kept = _rows_under_hold(backend, found, at)
        left = left_by_date(backend.session, at.committed, found) if planned.gone.total else {}
        archived = sum(
            n.total for p in planned.pieces for n in _archived(backend, found, at, p).values()
        )
        floor = floor_of(found, backend.ask)
        return replace(
            nothing,
            is_empty=not planned.gone.total,
            why=why(kept, planned.gone.total, left),
            taken=planned.taken,
            written=planned.written,
            skipped=planned.skipped,
            inexact=dict.fromkeys(BYTES, backend.sizes),
            task={"pieces": planned.pieces, "floor": floor},
            details=details(found, floor, archived, kept, planned.gone, left),
        )

    def _goes(self, table: Table) -> Goes:
        return lambda piece: _condition(self.expiry.goes("r"), table, piece)

    def stage(
        self, backend: SetBasedBackend, at: TableAt, plan: JobPlan, progress: Progress
    ) -> Staged:
        """Write pieces anew without the rows that go, and those apart that are archived."""
        pieces: Sequence[Piece] = plan.task["pieces"]
        removed = tuple(s for p in pieces for s in p.segments)
        backend.check(at, removed)
        self._rewritten = write_without(backend, at, pieces, self._goes(at.table))
        apart = (
            [self._archived_rows(backend, at, p) for p in pieces] if self.expiry.archives else []
        )
        made = tuple(one.made for one in self._rewritten if one.made is not None)
        return Staged(
            Replacement(removed, made),
            volume_made(backend, self._rewritten),
            archived=backend.listed([s for s in apart if s is not None]),
            floor=plan.task["floor"],
            removes_rows=True,
        )

    def _archived_rows(self, backend: SetBasedBackend, at: TableAt, piece: Piece) -> Segment | None:
        """The rows of a piece that the policy keeps elsewhere."""
        dated = self.expiry.archived("r")
        assert dated is not None
        return write_rows(backend, at, piece, _condition(dated, at.table, piece))

    def verify(
        self, backend: SetBasedBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> Mapping[str, Json]:
        """Every row that was read is left or goes, and none is another."""
        compare(backend, self._rewritten, self._goes(at.table))
        return {}

    def alongside(
        self, backend: SetBasedBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> Alongside:
        """Look whether what was judged is still so, and leave a backup of what was there."""
        made_at = to_datetime(backend.now())
        naming = backups.left_by(self.kind, self.job_id, self.by, made_at)
        before = naming.backup(at.table, backend.listed(at.segments), at.version)
        apart = backups.archived_by(self.job_id, self.by, made_at)

        def record(session: StoreSession, committed: JournalState, _following: Manifest) -> None:
            found = self.expiry
            if not are_as_judged(backend.journal, session, at.table, found.holding):
                raise Replan("a legal hold was placed or released meanwhile")
            if found.policy.dependents is Dependents.REFUSE:
                left_by_date(session, committed, found)
            backups.add_once(session, before)
            if staged.archived:
                backups.add(session, apart.backup(at.table, staged.archived, at.version))

        return Alongside(lambda pieces: self._look_at(backend, at, pieces), record)

    def _look_at(self, backend: SetBasedBackend, at: TableAt, since: Sequence[Piece]) -> None:
        """Raise Replan if rows that were written since end a row that is past its date.

        A closing row carries the values of the row it ends.
        """
        dated, table = self.expiry.archived("r"), at.table
        if dated is None:
            return
        held = self.expiry.held_keys(_in_present(backend, table, [*at.pieces, *since]))
        if held is not None:
            backend.show(HELD, held)
        start, end = table.format.version_column, table.format.subsequent_column
        closing = exp.GT(this=column(end, "r"), expression=column(start, "r"))
        for piece in since:
            rows = backend.scan(piece, table).subquery("r")
            ended = exp.select(exp.alias_(exp.Literal.number(1), "ended")).from_(rows)
            if backend.ask(ended.where(closing.copy(), dated.copy()).limit(1)):
                raise Replan("a row that goes was ended meanwhile")


def _show_lists(backend: SetBasedBackend, found: Expiry, at: TableAt) -> None:
    """Let queries look up the versions and keys that conditions name."""
    if found.looks_at_history:
        heads = {Tier.HEAD} if at.state.manifest.heads else set()
        backend.show(ENDED, found.superseded_versions(at.state.tiers | heads))
    held = found.held_keys(_in_present(backend, at.table, at.pieces))
    if held is not None:
        backend.show(HELD, held)


def _in_present(backend: SetBasedBackend, table: Table, pieces: Iterable[Piece]) -> list[exp.Query]:
    """All rows of pieces in present columns, also those that an erasure hides."""
    return [backend.scan(p, table) for p in pieces]


def _rows_under_hold(backend: SetBasedBackend, found: Expiry, at: TableAt) -> RowsUnderHold:
    """The rows past their time that stay because of holds."""
    if not at.pieces:
        return RowsUnderHold()
    return found.rows_under_hold(union_all(_in_present(backend, at.table, at.pieces)), backend.ask)


def _condition(condition: exp.Expr, table: Table, piece: Piece) -> exp.Expr:
    """A condition over present columns of ``r`` as one over the rows ``p`` of a piece."""
    shown = rows_in_layout(table, exp.to_table("p"), piece.fields).selects
    return exp.paren(substituted(condition, "r", shown))


def _archived(
    backend: SetBasedBackend, found: Expiry, at: TableAt, piece: Piece
) -> Mapping[str, RowCounts]:
    """How many rows of a piece the policy keeps elsewhere when they go, by segment."""
    dated = found.archived("r")
    if dated is None or not found.archives:
        return {}
    return backend.count(at, piece, _condition(dated, at.table, piece))
