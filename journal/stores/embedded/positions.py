"""Positions: where in sealed files the rows lie that have ended, one bit per row.

Reading the current view with them needs no join with the closing rows. They are derived from keys
and versions alone and hold for one state of a table: the same segments, nothing written since. For
any other state there are none, and the view is read with the anti-join, which gives the same rows.

    a read finds none --> settled long enough? --yes--> found in the background, for later reads
    a large write has ended rows of sealed files -----> found in the background at once

Finding them reads the keys of all sealed rows. A table whose state changes often never has them.
What is found is kept beside the files (``kept_positions``), so that the next process has it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, fold
from journal.model.segment import Segment, Tier
from journal.model.version import Version
from journal.stores.embedded import position_scan as store
from journal.stores.embedded.kept_positions import forget, keep, kept_tiers
from journal.transactions.lookup import SEALED, by_file
from journal.transactions.state import TableState

if TYPE_CHECKING:
    from journal.local_engine.session import DuckDBSession
    from journal.stores.embedded.journal import Journal
    from journal.stores.embedded.statement import Statement

_LOG = logging.getLogger("palimpsest.positions")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """For which tables positions are found: rows, files, and the share of rows that has ended.

    ``wait_ns_per_row``: how long a table must have stayed as it is, several times what finding
    takes; so finding takes a small part of one processor, however often a table changes.
    ``again_ns_per_row``: the same where only what has ended since need be found.
    """

    rows_min: int = 1_000_000
    rows_max: int = 100_000_000
    files_max: int = 256
    ended_min_per_mille: int = 1
    wait_ns_per_row: int = 250
    again_ns_per_row: int = 60
    write_min_per_mille: int = 10
    """Share of the rows that one write must have ended for that they are found at once."""

    def admits(self, state: TableState) -> bool:
        """True if a table of this state is worth it."""
        segments = [s for s in state.manifest.segments if s.tier in SEALED]
        rows = sum(s.counts.open for s in segments)
        if not self.rows_min <= rows <= self.rows_max:
            return False
        if sum(len(s.files) for s in segments) > self.files_max:
            return False
        ended = state.head_counts.closing + sum(s.counts.closing for s in segments)
        return ended > 0 and ended * 1000 >= rows * self.ended_min_per_mille


@dataclass(frozen=True, eq=False, slots=True)
class Positions:
    """The rows of a table's sealed files that have ended, in one state of the table."""

    segments: tuple[Segment, ...]
    last_version: Version
    tiers: Mapping[Tier, store.EndedRows]

    def fits(self, state: TableState) -> bool:
        """True if they hold for this state."""
        manifest = state.manifest
        same = self.last_version == state.last_version and not manifest.masks
        return same and self.segments == manifest.segments

    def leads_to(self, state: TableState) -> bool:
        """True if in this state all those rows have ended, and the same files are there."""
        if self.last_version > state.last_version:
            return False
        segments = state.manifest.segments
        return all(s in segments for s in self.segments)


@dataclass(slots=True)
class _Entry:
    """What is known of a table in the state that was read last.

    ``earlier`` are the positions found last, which hold for this state or for one before it.
    """

    state: TableState
    is_worth: bool
    since_ns: int
    positions: Positions | None
    earlier: Positions | None = None


class PositionKeeper:
    """The positions of one warehouse's tables; ``close`` before its store is closed."""

    def __init__(
        self,
        journal: Journal,
        thresholds: Thresholds | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.thresholds = thresholds or Thresholds()
        self._journal = journal
        self._clock_ns = clock_ns
        self._entries: dict[int, _Entry] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._statement: Statement | None = None
        self._closed = False
        self._wanted: dict[int, None] = {}
        """Tables that large writes have changed and that nobody has looked through since."""
        self._is_awaited = False

    def of(self, table_id: int, state: TableState) -> Positions | None:
        """The positions that hold for a table's state, if they are known."""
        entry = self._entries.get(table_id)
        if entry is None or entry.state is not state:
            entry = self._renew(table_id, state, entry)
        return entry.positions

    def request(self, table_id: int) -> None:
        """Have positions found, if that is worth it by now; nobody waits for them."""
        entry = self._entries.get(table_id)
        if entry is None or not entry.is_worth or entry.positions is not None:
            return
        rows = sum(s.counts.open for s in entry.state.manifest.segments)
        again = entry.earlier is not None and entry.earlier.leads_to(entry.state)
        wait_ns = self.thresholds.again_ns_per_row if again else self.thresholds.wait_ns_per_row
        if self._clock_ns() - entry.since_ns < rows * wait_ns:
            return
        with self._lock:
            self._start(table_id)

    def _start(self, table_id: int) -> None:
        """Have a thread find positions, unless one is at work; under the lock."""
        if self._closed or (self._thread is not None and self._thread.is_alive()):
            return
        self._thread = threading.Thread(
            target=self._run, args=(table_id,), name="palimpsest-positions", daemon=True
        )
        self._thread.start()

    def follow(self, before: Mapping[int, TableState], after: Mapping[int, TableState]) -> None:
        """Take note of what a commit or a job has made of tables, which is published by now."""
        for table_id, state in after.items():
            known = before.get(table_id)
            if known is None or known.manifest.segments is state.manifest.segments:
                continue
            added = [s for s in state.manifest.segments if s not in known.manifest.segments]
            if len(added) + len(known.manifest.segments) > len(state.manifest.segments):
                # Files that positions were of are replaced: an erasure may be why.
                forget(self._journal.root, table_id)
                continue
            rows = sum(s.counts.open for s in state.manifest.segments if s.tier in SEALED)
            ended = sum(s.counts.closing for s in added)
            if ended * 1000 < rows * self.thresholds.write_min_per_mille:
                continue
            if self.thresholds.admits(state):
                with self._lock:
                    self._wanted[table_id] = None
                    self._start(table_id)

    def find(self, table_id: int) -> Positions | None:
        """Find the positions of a table as it is now; None if it cannot have any."""
        transaction = self._journal.begin(read_only=True)
        try:
            with self._journal.statement(transaction) as statement:
                self._statement = statement
                if self._closed:
                    return None
                entry = self._entries.get(table_id)
                earlier = None if entry is None else entry.positions or entry.earlier
                found = _find_positions(statement, table_id, earlier)
        finally:
            self._statement = None
            transaction.rollback()
        state = self._journal.state.tables.get(table_id)
        if found is not None and state is not None:
            # Where it was written to meanwhile, they are what the next search begins with.
            fitting = found if found.fits(state) else None
            self._entries[table_id] = _Entry(state, True, self._clock_ns(), fitting, found)
            if fitting is not None:
                self._keep(table_id, fitting)
        return found

    def _keep(self, table_id: int, found: Positions) -> None:
        try:
            keep(self._journal.root, table_id, found.segments, found.last_version, found.tiers)
        except OSError as error:
            _LOG.warning("positions of table %s were not kept: %s", table_id, error)

    def wait(self) -> None:
        """Wait until nothing is being found."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Stop, and forget everything; what a large write has begun is finished first."""
        if self._wanted or self._is_awaited:
            self.wait()
        with self._lock:
            self._closed = True
            statement = self._statement
        if statement is not None:
            statement.session.interrupt()
        self.wait()
        self._entries.clear()

    def _renew(self, table_id: int, state: TableState, before: _Entry | None) -> _Entry:
        since_ns = self._clock_ns()
        known = None if before is None else before.positions or before.earlier
        if before is not None and _same_state(before.state, state):
            since_ns = before.since_ns
        is_worth = self.thresholds.admits(state)
        if known is None and is_worth:
            known = self._kept_positions(table_id, state)
        fits = known is not None and known.fits(state)
        entry = _Entry(state, is_worth, since_ns, known if fits else None, known)
        self._entries[table_id] = entry
        return entry

    def _kept_positions(self, table_id: int, state: TableState) -> Positions | None:
        """What an earlier process has found in this state."""
        segments, last = state.manifest.segments, state.last_version
        tiers = (
            None
            if state.manifest.masks
            else kept_tiers(self._journal.root, table_id, segments, last)
        )
        return None if tiers is None else Positions(segments, last, MappingProxyType(dict(tiers)))

    def _run(self, table_id: int) -> None:
        """Find the positions of a table, and then of those that large writes have changed."""
        following: int | None = table_id
        while following is not None:
            table_id = following
            with self._lock:
                self._is_awaited = table_id in self._wanted
                self._wanted.pop(table_id, None)
            try:
                with failures():
                    found = self.find(table_id)
                if found is None:
                    self._give_up(table_id)
            except PalimpsestError as error:
                self._give_up(table_id)
                if not self._closed:
                    _LOG.warning("positions of table %s were not found: %s", table_id, error)
            with self._lock:
                self._is_awaited = False
                following = next(iter(self._wanted), None) if not self._closed else None

    def _give_up(self, table_id: int) -> None:
        entry = self._entries.get(table_id)
        if entry is not None:
            entry.is_worth = False


def placeable(table: Table, state: TableState) -> bool:
    """True if all sealed rows of a table lie in files that can be read by position."""
    tiers = {s.tier for s in state.manifest.segments if s.tier in SEALED}
    if not tiers or tiers - by_file(table, state):
        return False
    # A column of that name would hide what the scan says of each row.
    return not {fold(c.physical) for c in table.stored} & {store.FILE, store.ROW}


def _same_state(one: TableState, other: TableState) -> bool:
    if one.last_version != other.last_version:
        return False
    return one.manifest.segments == other.manifest.segments


def _find_positions(
    statement: Statement, table_id: int, earlier: Positions | None
) -> Positions | None:
    state = statement.committed.tables.get(table_id)
    table = statement.transaction.catalog.by_id(table_id)
    if state is None or table is None or not placeable(table, state):
        return None
    statement.check_segments([table_id])
    changes = [t for t in (Tier.DELTA, Tier.HEAD) if t in state.tiers]
    if not changes:
        return None
    if earlier is not None and not earlier.leads_to(state):
        earlier = None
    tiers: dict[Tier, store.EndedRows] = {}
    for tier in SEALED:
        segments = state.manifest.in_tier(tier)
        blocks = _blocks(statement.session, table, tier, segments, changes, earlier)
        files = tuple(f for s in segments for f in s.files)
        if files:
            tiers[tier] = store.EndedRows(files, tuple(blocks[f.path] for f in files))
    return Positions(state.manifest.segments, state.last_version, MappingProxyType(tiers))


def _blocks(
    session: DuckDBSession,
    table: Table,
    tier: Tier,
    segments: Sequence[Segment],
    changes: Sequence[Tier],
    earlier: Positions | None,
) -> dict[str, store.Blocks]:
    """By path what has ended; of files that were there ``earlier``, what is new since is added."""
    old = () if earlier is None else earlier.segments
    new = [f for s in segments if s not in old for f in s.files]
    kept = [f for s in segments if s in old for f in s.files]
    found: dict[str, store.Blocks] = {}
    if new:
        found |= store.ended_rows(session, table, tier, new, changes)
    if kept and earlier is not None:
        before = earlier.tiers[tier]
        known = {f.path: b for f, b in zip(before.files, before.blocks, strict=True)}
        since = earlier.last_version
        found |= store.ended_rows(session, table, tier, kept, changes, since, known)
    return found
