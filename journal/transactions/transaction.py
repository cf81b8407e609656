"""A transaction: what it reads at, what it has written so far, and how to go back.

    OPEN --error--> FAILED --rollback to savepoint--> OPEN
    OPEN --commit--> done        OPEN | FAILED --rollback--> done

It holds no lock and no transaction of the store: only the snapshot it reads at, its own journal
rows in buffers, and its catalog changes. So an idle or abandoned one costs nothing but memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

from journal.model.catalog import apply
from journal.model.errors import Code, PalimpsestError
from journal.model.lineage import CommittedLineage, StatementOrigin
from journal.model.plan import CatalogChange
from journal.model.schema import CatalogSnapshot, Table, fold
from journal.model.segment import Manifest, SegmentFile, Tier
from journal.model.store_session import RecordSession, RowSet, StagedRows
from journal.model.version import Version
from journal.transactions.constraint_timing import ConstraintKey, ConstraintTiming
from journal.transactions.pieces import add_piece
from journal.transactions.session_numbers import SessionNumbers
from journal.transactions.state import JournalState


@dataclass(frozen=True, slots=True)
class StatementWrites:
    """What one statement wrote: rows by table id, and catalog changes, under one version.

    ``origin`` is the statement for its lineage; None for what no client's statement has written.
    ``relied_on`` are tables whose rows decided which rows the client might write.
    """

    version: Version
    rows: tuple[tuple[int, RowSet], ...]
    changes: tuple[CatalogChange, ...]
    digest: str
    origin: StatementOrigin | None = None
    relied_on: frozenset[int] = frozenset()


Alongside = Callable[[RecordSession, Version], None]
"""What is recorded in the very transaction of the store that commits, given the version.

It may refuse the commit by raising, and must bear being asked again where a commit is tried again.
"""
Forget = Callable[[Iterable[SegmentFile]], None]
"""Removes staged rows from a store, which no manifest lists."""


def nothing_staged(_files: Iterable[SegmentFile]) -> None:
    """What a store forgets that stages no rows: they are all in memory."""


class Status(Enum):
    """Where a transaction stands."""

    OPEN = "open"
    FAILED = "failed"


@dataclass(slots=True)
class _Savepoint:
    name: str
    written: int
    catalog: CatalogSnapshot


@dataclass(slots=True, weakref_slot=True, eq=False)
class Transaction:
    """One client's unit of work; see the module's head for its states.

    ``forget`` removes what it has staged in its store. One that ``is_fresh`` reads what is there
    when its next statement starts. ``explicit``: the client began it by a statement.
    """

    snapshot: JournalState
    read_only: bool = False
    message: str | None = None
    forget: Forget = nothing_staged
    is_fresh: bool = False
    explicit: bool = field(default=False, init=False)
    is_over: bool = field(default=False, init=False)
    status: Status = Status.OPEN
    writes: list[StatementWrites] = field(default_factory=list)
    catalog: CatalogSnapshot = field(init=False)
    abandoned: list[StagedRows] = field(default_factory=list)
    shown: list[tuple[Table, Manifest]] = field(default_factory=list)
    """Further segments that its statements can read, under table ids of their own."""
    own_rows: Mapping[int, tuple[RowSet, ...]] = field(default_factory=dict)
    """Rows of the session's temporary tables as they were when it began."""
    with_own: Callable[[CatalogSnapshot], CatalogSnapshot] | None = None
    """Adds the session's temporary relations to a catalog; None where there are none."""
    numbers: SessionNumbers = field(default_factory=SessionNumbers)
    """The numbers that its session has taken."""
    plans: object = None
    """Under what plans are kept that know temporary relations; None where there are none."""
    timing: ConstraintTiming | None = None
    """When deferrable foreign keys are checked; None: at the end of each statement."""
    lineage: tuple[CommittedLineage, ...] = ()
    """What its commit has to record of lineage, unless that is on record already."""
    alongside: Alongside | None = None
    """What else its commit records, and may refuse; see ``Alongside``."""
    at_end: list[Callable[[], None]] = field(default_factory=list)
    """What is called once it is over, committed or not; none of it may raise."""
    _deferred: tuple[CatalogSnapshot, ConstraintTiming, frozenset[ConstraintKey]] | None = None
    _savepoints: list[_Savepoint] = field(default_factory=list)
    _buffered: dict[int, list[RowSet]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.catalog = self.snapshot.catalog

    @property
    def deferred(self) -> frozenset[ConstraintKey]:
        """The foreign keys that are checked when it commits."""
        if self.timing is None or not self.catalog.references:
            return frozenset()
        known = self._deferred
        if known is None or known[0] is not self.catalog or known[1] is not self.timing:
            known = (self.catalog, self.timing, self.timing.deferred(self.catalog))
            self._deferred = known
        return known[2]

    @property
    def plan_scope(self) -> object:
        """Under what plans are kept that others might not share; None: all share them."""
        return (self.plans, self.deferred) if self.deferred else self.plans

    def begin_at(self, committed: JournalState) -> None:
        """Read what is committed now from here on, if it is fresh."""
        if self.is_fresh:
            self.is_fresh = False
            self.read_at(committed)
            for mark in self._savepoints:
                mark.catalog = self.catalog

    def read_at(self, state: JournalState) -> None:
        """Read at another state."""
        self.snapshot = state
        self.catalog = state.catalog if self.with_own is None else self.with_own(state.catalog)

    def show(self, table: Table, manifest: Manifest) -> None:
        """Let segments be read by the name of a table, in the place of what it holds."""
        self.catalog = self.catalog.with_relation(table)
        self.shown.append((table, manifest))

    def check_open(self) -> None:
        """Raise unless statements may run."""
        if self.status is Status.FAILED:
            raise PalimpsestError(
                Code.FAILED_TRANSACTION,
                "the transaction is aborted because an earlier statement failed",
                advice="ROLLBACK, or ROLLBACK TO a savepoint",
            )

    def check_writable(self, what: str) -> None:
        """Raise in a read-only transaction."""
        if self.read_only:
            raise PalimpsestError(
                Code.READ_ONLY,
                f"{what} is not possible in a read-only transaction",
                advice="end it and start one that may write; SET default_transaction_read_only ="
                " off if the session is read only",
            )

    def record(self, writes: StatementWrites) -> None:
        """Keep what a statement wrote."""
        self.writes.append(writes)
        for table_id, rows in writes.rows:
            add_piece(self._buffered.setdefault(table_id, []), rows)
        for change in writes.changes:
            self.catalog = apply(self.catalog, change)

    def buffered(self, table_id: int) -> Sequence[RowSet]:
        """Own rows of a table, oldest first, those of small statements in few pieces."""
        written = self._buffered.get(table_id, ())
        before = self.own_rows.get(table_id) if self.own_rows else None
        return written if before is None else (*before, *written)

    def newly_read(
        self, table_ids: Iterable[int], known: set[int]
    ) -> Iterator[tuple[Table, Sequence[RowSet]]]:
        """Tables that are not ``known`` yet, which they are then, with own rows of them."""
        for table_id in table_ids:
            table = self.catalog.by_id(table_id)
            if table is not None and table_id not in known:
                known.add(table_id)
                yield table, self.buffered(table_id)

    def buffered_tables(self) -> frozenset[int]:
        """Ids of the tables this transaction has written rows to."""
        return frozenset(self._buffered)

    @property
    def relied_on(self) -> frozenset[int]:
        """Ids of the tables whose rows decided which rows it might write."""
        return frozenset[int]().union(*(writes.relied_on for writes in self.writes))

    def tiers(self, table_id: int, committed: JournalState) -> frozenset[Tier]:
        """The tiers a statement of this transaction reads for a table."""
        state = committed.tables.get(table_id)
        found = state.tiers if state is not None else frozenset()
        for shown, manifest in self.shown:
            if shown.id == table_id:
                found |= {s.tier for s in manifest.segments}
        if table_id in self._buffered or table_id in self.own_rows:
            return found | {Tier.BUFFER}
        return found

    def is_pinned(self, table_id: int, committed: JournalState) -> bool:
        """True when others committed to the table since the snapshot was taken."""
        state = committed.tables.get(table_id)
        return state is not None and state.last_version > self.snapshot.version

    def is_replaced(self, table_id: int, committed: JournalState) -> bool:
        """True when the table lists other pieces, or hides other rows, than in the snapshot."""
        state, known = committed.tables.get(table_id), self.snapshot.tables.get(table_id)
        if state is None or known is None:
            return state is not known
        now, then = state.manifest, known.manifest
        return (now.generation, now.epoch) != (then.generation, then.epoch)

    def fail(self) -> None:
        """A statement failed inside an explicit transaction."""
        self.status = Status.FAILED

    def reopen(self) -> None:
        """A statement that failed, and has left nothing behind, is run in another way."""
        self.status = Status.OPEN

    def savepoint(self, name: str) -> None:
        """Mark a place to go back to; a later one of the same name hides an earlier one."""
        self.check_open()
        self._savepoints.append(_Savepoint(name, len(self.writes), self.catalog))

    def release(self, name: str) -> None:
        """Forget a savepoint and those set after it."""
        self.check_open()
        del self._savepoints[self._find(name) :]

    def rollback_to(self, name: str) -> None:
        """Undo everything since the savepoint, which stays usable."""
        index = self._find(name)
        mark = self._savepoints[index]
        self._undo(mark.written)
        self.catalog = mark.catalog
        del self._savepoints[index + 1 :]
        self.status = Status.OPEN

    def discard(self) -> None:
        """Undo everything; what it has staged stays until it ends."""
        self._undo(0)
        self.catalog = self.snapshot.catalog
        self._savepoints.clear()

    def rollback(self) -> None:
        """Forget everything it wrote, and end."""
        self.discard()
        self._end()

    @contextmanager
    def committing(self) -> Iterator[None]:
        """A block that commits it, after which it is over; raises FAILED_TRANSACTION if it failed.

        If the block raises, everything that it wrote is forgotten.
        """
        try:
            self.check_open()
            yield
        except BaseException:
            self.discard()
            raise
        finally:
            self._end()

    def _end(self) -> None:
        self.is_over = True
        files = [file for rows in self.abandoned for file in rows.files]
        self.abandoned.clear()
        self.forget(files)
        while self.at_end:
            self.at_end.pop()()

    def keep_only(self, writes: Sequence[StatementWrites]) -> None:
        """Put ``writes`` in the place of what was written so far."""
        self.writes[:] = writes
        self._gather()

    def _undo(self, kept: int) -> None:
        self.abandoned.extend(
            r for w in self.writes[kept:] for _, r in w.rows if isinstance(r, StagedRows)
        )
        del self.writes[kept:]
        self._gather()

    def _gather(self) -> None:
        self._buffered.clear()
        for statement in self.writes:
            for table_id, rows in statement.rows:
                add_piece(self._buffered.setdefault(table_id, []), rows)

    def _find(self, name: str) -> int:
        for index in range(len(self._savepoints) - 1, -1, -1):
            if fold(self._savepoints[index].name) == fold(name):
                return index
        raise PalimpsestError(
            Code.UNKNOWN_SAVEPOINT,
            f'savepoint "{name}" does not exist',
            advice="set it with SAVEPOINT in this transaction",
        )

    def changes(self) -> Iterator[tuple[Version, CatalogChange]]:
        """Catalog changes in order, with the versions of their statements."""
        for statement in self.writes:
            for change in statement.changes:
                yield statement.version, change


def staged_files(writes: Sequence[StatementWrites]) -> list[SegmentFile]:
    """The files a transaction has written itself."""
    sets = [rows for w in writes for _, rows in w.rows]
    return [f for rows in sets if isinstance(rows, StagedRows) for f in rows.files]
