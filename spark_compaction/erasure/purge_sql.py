"""The purge of one table by set-based SQL: every row of some keys goes, of backups as well.

    plan     the pieces, live or listed by backups alone, that hold rows of the keys
    stage    each is written anew without them, and compared
    swap     the new pieces are listed, backups follow, receipts are written: one commit

Since a request was accepted nobody sees the rows of its mask, and nobody can write them again: the
keys of the mask are all there are. Masks stay; who calls takes them off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace

from sqlglot import exp

from journal.erasure.column_changes import Changes, ColumnChange
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Manifest, Segment
from journal.model.store_session import StoreSession
from journal.records import backups, retired
from journal.records.backups import Backup
from journal.records.report import JobReport, Work
from journal.sql.relations import column, ident
from journal.transactions.state import JournalState
from spark_compaction.backend import Alongside, Piece, PurgeBackend, Replan, TableAt
from spark_compaction.contract import JobPlan, Json, Progress, Replacement, Staged, silent
from spark_compaction.erasure.receipts import PurgedRows, nothing_to_purge
from spark_compaction.erasure.units import units_of
from spark_compaction.programs import copies
from spark_compaction.programs.backup_transport import BackupTransport
from spark_compaction.programs.compaction_sql import BYTES
from spark_compaction.programs.journal_rows import journal_names
from spark_compaction.programs.rewriting import (
    ChangedRows,
    Goes,
    RewritePlan,
    RewrittenPiece,
    compare,
    moved_segments,
    plan_rewrite,
    volume_made,
    write_changed,
    write_without,
)
from spark_compaction.programs.table_pieces import each

WHY = ("holds {} rows of the keys", "no row of it goes")


@dataclass(slots=True)
class PurgeInSql:
    """The job for one table; ``masks`` says whose keys go, whenever the job plans.

    With ``changed`` rows of the keys stay, and get other values in these columns. With
    ``unit_bytes`` one run looks at segments of about so many bytes, at one at least; ``in_units``
    has it run until none is left.
    """

    masks: Callable[[], Collection[str]]
    changed: tuple[ColumnChange, ...] = ()
    unit_bytes: int = 0
    is_over: bool = field(default=True, init=False)
    """True if the last plan left no segment out that was not looked at."""
    _clean: set[str] = field(default_factory=set, init=False)
    _looked: frozenset[str] = field(default=frozenset(), init=False)
    _masks: tuple[str, ...] = field(default=(), init=False)
    _rewritten: list[RewrittenPiece] = field(default_factory=list, init=False)
    _removed: Mapping[str, int] = field(default_factory=dict, init=False)

    @property
    def kind(self) -> str:
        """Its name among the kinds of jobs."""
        return "purge"

    @property
    def plans_ahead(self) -> bool:
        """No: rows are counted."""
        return False

    def plan(self, backend: PurgeBackend, at: TableAt) -> JobPlan:
        """Count what goes, piece by piece; there is a plan also where nothing is found.

        What was replaced earlier, and waits to go, may hold the rows.
        """
        table, masks = at.table, tuple(self.masks())
        if set(masks) != set(self._masks):
            self._clean.clear()
        self._masks, self.is_over, self._rewritten = masks, True, []
        found = JobPlan(self.kind, table.id, str(table.name), at.state.manifest.generation)
        if not self._masks:
            return replace(found, is_empty=True, why=nothing_to_purge(table).why)
        changes = changes_of(backend, table, self.changed)
        goes = rows_of_keys(backend, table, self._masks, changes)
        planned = self._planned_unit(backend, at, goes)
        return replace(
            found,
            why="rows were erased",
            taken=planned.taken,
            written=planned.written,
            skipped=planned.skipped,
            inexact=dict.fromkeys(BYTES, backend.sizes),
            task={"pieces": planned.pieces, "gone": planned.gone.total},
        )

    def _planned_unit(self, backend: PurgeBackend, at: TableAt, goes: Goes) -> RewritePlan:
        """What is to be rewritten of the next unit that holds a key, or of the last one."""
        pieces = backend.with_backups(at)
        if not self.unit_bytes:
            return plan_rewrite(backend, at, pieces, goes, WHY)
        left = [s for p in pieces for s in p.segments if s.id not in self._clean]
        units = units_of({s.id: backend.size(s) for s in left}, self.unit_bytes) or [[]]
        looked: set[str] = set()
        for number, ids in enumerate(units, 1):
            unit = frozenset(ids)
            looked |= unit
            some = [one for p in pieces if (one := p.only(unit)).segments]
            planned = plan_rewrite(backend, at, some, goes, WHY)
            self.is_over = number == len(units)
            if planned.pieces or self.is_over:
                break
        self._looked = frozenset(looked)
        return planned

    def end_unit(self) -> None:
        """Look no more at segments that were looked at, nor at what was made of them."""
        self._clean |= self._looked
        self._clean |= {one.made.id for one in self._rewritten if one.made is not None}

    def stage(
        self, backend: PurgeBackend, at: TableAt, plan: JobPlan, progress: Progress
    ) -> Staged:
        """Write what stays of each piece, and count what goes by mask."""
        pieces: Sequence[Piece] = plan.task["pieces"]
        backend.check(at, [s for p in pieces for s in p.segments])
        changes = changes_of(backend, at.table, self.changed)
        total = plan.task["gone"]
        self._removed = count_by_mask(backend, at, pieces, self._masks, total, changes)
        goes = rows_of_keys(backend, at.table, self._masks, changes)
        self._rewritten = rewrite_pieces(backend, at, pieces, goes, changes)
        live = {s.id for s in at.segments}
        replaced = [one for one in self._rewritten if one.piece.segments[0].id in live]
        moved = moved_segments(backend, self._rewritten)
        return Staged(
            Replacement(
                tuple(s for one in replaced for s in one.piece.segments),
                tuple(one.made for one in replaced if one.made is not None),
            ),
            volume_made(backend, self._rewritten),
            moved={p: None if s is None else s.files[0] for p, s in moved.items()},
        )

    def verify(
        self, backend: PurgeBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> Mapping[str, Json]:
        """Every row that was read is left or goes, and none is another."""
        changes = changes_of(backend, at.table, self.changed)
        goes = rows_of_keys(backend, at.table, self._masks, changes)
        compare(backend, self._rewritten, goes, made_of(backend, at.table, goes, changes))
        return {}

    def alongside(
        self, backend: PurgeBackend, at: TableAt, plan: JobPlan, staged: Staged
    ) -> Alongside:
        """Write the receipts, and let backups list what is left."""
        assert staged.replacement is not None
        live = {f.path for s in backend.listed(staged.replacement.removed) for f in s.files}
        work = Work(plan.taken, staged.written)
        now = backend.now()

        def record(session: StoreSession, committed: JournalState, following: Manifest) -> None:
            manifest = committed.tables[at.table.id].manifest
            if not set(self._masks) <= set(manifest.masks):
                raise Replan("a request was cancelled, or a hold was placed")
            PurgedRows(manifest, following, work, self._removed).record(session)
            follow_backups(session, at.table, staged, live, now)

        return Alongside(lambda _pieces: None, record)


def in_units(program: PurgeInSql, run: Callable[[], JobReport]) -> list[JobReport]:
    """Have a program run, unit after unit, each a job and a commit of its own; their reports."""
    reports = [run()]
    while not program.is_over:
        program.end_unit()
        reports.append(run())
    return reports


def follow_backups(
    session: StoreSession, table: Table, staged: Staged, live: Collection[str], now: int
) -> None:
    """Let backups list what is left; what was replaced and no backup lists any more goes.

    What only backups list stays as long as what it stands for.
    """
    known = {r.id: r for r in retired.load_retired(session, table.id)}
    for path, file in staged.moved.items():
        if path in live:
            continue
        if path not in known:
            raise Replan(f"a backup of {table.name} expired meanwhile")
        if file is not None:
            retired.retire(session, [replace(known[path], id=file.path, bytes=file.bytes)])
    backups.follow(session, staged.moved)
    listed = backups.listed_paths(backups.load(session, table.id))
    retired.end_grace(session, table.id, now, listed)


def changes_of(
    backend: PurgeBackend, table: Table, changed: tuple[ColumnChange, ...]
) -> Changes | None:
    """Changes of columns, ready to be made; None if rows go."""
    if not changed:
        return None
    return Changes(table, changed, backend.hash_key())


def rows_of_keys(
    backend: PurgeBackend, table: Table, masks: Sequence[str], changes: Changes | None = None
) -> Goes:
    """The condition of rows whose keys stand in some masks; of those that changes would change."""
    has_key = rows_with(backend, table, backend.erased_keys(table, masks).subquery("e"))
    if changes is None:
        return has_key

    def goes(piece: Piece) -> exp.Expr:
        return exp.and_(has_key(piece), changes.applies(piece.fields, "p"))

    return goes


def made_of(
    backend: PurgeBackend, table: Table, goes: Goes, changes: Changes | None
) -> ChangedRows | None:
    """Gives the rows of a piece with their new values; None if rows go."""
    if changes is None:
        return None

    def rows_with_values(piece: Piece, *, only: bool) -> exp.Select:
        values = changes.values(piece.fields, "p")
        outputs: list[exp.Expr] = []
        for name in journal_names(table, piece.fields):
            held: exp.Expr = column(name, "p")
            if name in values:
                held = exp.Case().when(goes(piece), values[name]).else_(held)
            outputs.append(exp.alias_(held, ident(name)))
        rows = exp.select(*outputs).from_(backend.scan(piece).subquery("p"))
        return rows.where(goes(piece)) if only else rows

    return rows_with_values


def rewrite_pieces(
    backend: PurgeBackend, at: TableAt, pieces: Sequence[Piece], goes: Goes, changes: Changes | None
) -> list[RewrittenPiece]:
    """Write what stays of each piece, or all of it with other values."""
    made = made_of(backend, at.table, goes, changes)
    if made is None:
        return write_without(backend, at, pieces, goes)
    return write_changed(backend, at, pieces, made)


def rows_with(backend: PurgeBackend, table: Table, keys: exp.Expr) -> Goes:
    """The condition of rows whose keys stand in a relation called ``e``."""

    def goes(piece: Piece) -> exp.Expr:
        values = zip(table.key, backend.keys(table, piece), strict=True)
        same = [exp.EQ(this=column(name, "e"), expression=value) for name, value in values]
        return exp.Exists(this=exp.select(exp.Literal.number(1)).from_(keys.copy()).where(*same))

    return goes


def count_by_mask(
    backend: PurgeBackend,
    at: TableAt,
    pieces: Sequence[Piece],
    masks: Sequence[str],
    total: int,
    changes: Changes | None = None,
) -> dict[str, int]:
    """How many rows of each mask's keys there are in pieces that hold ``total`` of all."""
    if len(masks) == 1:
        return {masks[0]: total}
    return {
        mask: sum(
            count_rows(
                backend, at, pieces, rows_of_keys(backend, at.table, [mask], changes)
            ).values()
        )
        for mask in masks
    }


def count_rows(
    backend: PurgeBackend, at: TableAt, pieces: Iterable[Piece], goes: Goes
) -> dict[str, int]:
    """How many rows go, by the segment that they lie in; of segments that have any."""
    return {
        name: counts.total
        for piece in pieces
        for name, counts in backend.count(at, piece, goes(piece)).items()
    }


def planned(backend: PurgeBackend, table: Table, masks: Sequence[str]) -> Work:
    """What a purge of a table would do, copies elsewhere aside; changes nothing."""
    with backend.preview(table) as at:
        plan = PurgeInSql(lambda: masks).plan(backend, at)
    return Work(plan.taken, plan.written, plan.skipped, plan.inexact)


def purge_copy(
    backend: PurgeBackend,
    at: TableAt,
    transport: BackupTransport,
    segments_of: Callable[[Backup], Sequence[Segment]],
    copy: tuple[Backup, Table],
    masks: Sequence[str],
    changed: tuple[ColumnChange, ...] = (),
) -> tuple[int, Mapping[str, int]]:
    """Write the files of one copy anew that hold a key: how many, and the rows that went.

    The copy, a backup as it lies there and the definition of its table, is loaded into pieces that
    nothing lists; who calls removes what is written.
    """
    listed, definition = copy
    with copies.fetched_copy(transport, listed, silent) as here:
        segments = segments_of(here)
        away = _paths(listed.segments)
        pieces = each(segments)
        changes = changes_of(backend, at.table, changed)
        goes = rows_of_keys(backend, at.table, masks, changes)
        planned = plan_rewrite(backend, at, pieces, goes, WHY)
        removed = count_by_mask(backend, at, planned.pieces, masks, planned.gone.total, changes)
        done = rewrite_pieces(backend, at, planned.pieces, goes, changes)
        compare(backend, done, goes, made_of(backend, at.table, goes, changes))
        names = dict(zip(_paths(backend.listed(segments)), away, strict=True))
        moved = {
            names[path]: None if made is None else (made, made.files[0])
            for path, made in moved_segments(backend, done).items()
        }
        if moved:
            copies.list_rewritten_files(transport, listed, definition, moved)
    return len(moved), removed


def _paths(segments: Sequence[Segment]) -> list[str]:
    return [file.path for segment in segments for file in segment.files]
