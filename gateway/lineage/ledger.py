"""Records the lineage of committed statements, and counts how often columns are used.

    commit is due -> lineage of its statements, read once for     -> the store records what is new,
                     each digest and catalog                         in the same transaction
    committed, or read -> counted in memory -> a minute later, or at the end: sums are recorded

Whoever kills the process loses the sums of the last minute; edges are as durable as their commits.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from datetime import UTC, datetime

from gateway.activity.statement_text import READ_MAX, shape_digest, without_literals
from gateway.lineage.changed_datasets import ChangedDataset, changed_datasets
from gateway.lineage.statement_end import LineageListener, StatementEnd
from gateway.lineage.temporary_origins import TemporaryOrigins
from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import (
    CLIENT,
    ColumnNode,
    CommittedLineage,
    LineageTrace,
    NodeEdge,
    StatementLineage,
    StatementOrigin,
    changes_definitions,
    file_node,
)
from journal.model.schema import CatalogSnapshot
from journal.model.version import Version
from journal.records.lineage import LineageAuthor, Uses, add_counts, add_lineage_of
from journal.transactions.protocol import OpenJournal
from journal.transactions.transaction import StatementWrites, Transaction
from journal.transactions.transaction_rows import Author

_LOG = logging.getLogger("palimpsest.lineage")
_KNOWN_MAX = 4096
_RECORDED_MAX = 50_000
_AGE_S = 60.0
_COUNTED_MAX = 20_000
"""So many plans are counted before sums are recorded; the uses of further ones are not counted."""
_VALUES_MATTER = re.compile(
    r"\b(select|from|with|using|table|merge|copy|pivot|unpivot|create|alter|restore|refresh)\b"
)
"""Words of statements whose values may say what is read: a file, a place in GROUP BY, a table."""


@dataclass(slots=True)
class _Counted:
    """Runs of a plan since the sums were recorded."""

    origin: StatementOrigin
    committed: str | None = None
    """The id of its lineage, empty where it has no edges; None for a statement that reads."""
    runs: int = 0
    last: float = 0.0


@dataclass(frozen=True, slots=True)
class PreparedCommit:
    """What a commit that is due has run, with versions; and what follows."""

    ran: tuple[tuple[StatementWrites, StatementOrigin, CommittedLineage], ...]
    origins: TemporaryOrigins


@dataclass(slots=True)
class LineageLedger:
    """Shared by the sessions of a store in this process. Thread-safe.

    ``clock`` gives seconds since the epoch. Nothing is noted unless it ``is_on``.
    """

    journal: OpenJournal
    clock: Callable[[], float] = time.time
    is_on: bool = True
    listener: LineageListener | None = None
    """Is told of statements that write, as they are committed or fail."""
    _known: OrderedDict[tuple[object, ...], tuple[object, CommittedLineage]] = field(
        default_factory=OrderedDict
    )
    _recorded: set[str] = field(default_factory=set)
    _counted: dict[tuple[LineageTrace, str | None], _Counted] = field(default_factory=dict)
    _timer: threading.Timer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def is_on_record(self, trace: LineageTrace | None) -> bool:
        """True for a statement whose commit has nothing to record."""
        if trace is None or not self.is_on:
            return True
        known = trace.known
        return known is not None and not self._is_news(known)

    def prepare(self, transaction: Transaction, origins: TemporaryOrigins) -> PreparedCommit:
        """Have a commit record what its statements bring; ``committed`` is told when it has.

        ``origins`` are those of the session's temporary tables before it.
        """
        if not self.is_on:
            return PreparedCommit((), origins)
        news: dict[str, CommittedLineage] = {}
        ran = []
        for written in transaction.writes:
            if written.origin is None:
                continue
            found = self._lineage_of(written.origin)
            if found.lineage.temporary:
                origins = origins.with_edges(found.lineage)
                followed = replace(found.lineage, edges=origins.followed(found.lineage))
                found = lineage_under_id(followed, found.digest, found.tag, found.text)
            ran.append((written, written.origin, found))
            if self._is_news(found):
                news[found.id] = found
        transaction.lineage = tuple(news.values())
        return PreparedCommit(tuple(ran), origins)

    def uncommitted_edges(self, transaction: Transaction) -> list[NodeEdge]:
        """The edges of what a transaction has run, less those of temporary tables."""
        origins = [written.origin for written in transaction.writes]
        found = [self._lineage_of(origin).lineage for origin in origins if origin is not None]
        return [edge for one in found if not one.temporary for edge in one.edges]

    def committed(self, transaction: Transaction, prepared: PreparedCommit, by: Author) -> None:
        """A transaction is committed that was prepared; its statements are counted."""
        if not prepared.ran:
            return
        with self._lock:
            self._recorded.update(found.id for found in transaction.lineage)
            if len(self._recorded) > _RECORDED_MAX:
                self._recorded.clear()
        for written, origin, found in prepared.ran:
            self.count(origin, found.id)
            changed = changed_datasets(written, found, transaction.catalog)
            self._tell_listener(found, transaction.catalog, by, written.version, changed=changed)

    def count(self, origin: StatementOrigin, committed: str | None = None) -> None:
        """A statement has run: one that reads, or one that is ``committed`` with an id."""
        if not self.is_on:
            return
        key = (origin.trace, committed)
        with self._lock:
            found = self._counted.get(key)
            if found is None:
                if len(self._counted) >= _COUNTED_MAX:
                    return
                found = self._counted[key] = _Counted(origin, committed)
                if self._timer is None:
                    self._timer = threading.Timer(_AGE_S, self.record)
                    self._timer.daemon = True
                    self._timer.start()
            found.runs += 1
            found.last = self.clock()

    def count_inline(
        self, origin: StatementOrigin, catalog: CatalogSnapshot, by: Author, version: Version
    ) -> None:
        """A statement was committed as it ran; it had nothing to record."""
        if self.is_on:
            found = self._lineage_of(origin)
            self.count(origin, found.id)
            self._tell_listener(found, catalog, by, version)

    def failed(
        self, origin: StatementOrigin, catalog: CatalogSnapshot, by: Author, error: PalimpsestError
    ) -> None:
        """A statement that writes has failed, and is not tried again."""
        if self.is_on and self.listener is not None:
            self._tell_listener(self._lineage_of(origin), catalog, by, None, error)

    def commit_failed(self, transaction: Transaction, by: Author, error: PalimpsestError) -> None:
        """The statements of a transaction have failed, as it could not be committed."""
        for written in transaction.writes if self.listener is not None else ():
            if written.origin is not None:
                self.failed(written.origin, transaction.catalog, by, error)

    def _tell_listener(
        self,
        found: CommittedLineage,
        catalog: CatalogSnapshot,
        by: Author,
        version: Version | None,
        error: PalimpsestError | None = None,
        changed: tuple[ChangedDataset, ...] = (),
    ) -> None:
        if self.listener is not None and (found.lineage.edges or changed):
            end = StatementEnd(found, catalog, by, self.clock(), version, error, changed)
            self.listener(end)

    def record_export(self, origin: StatementOrigin, by: LineageAuthor) -> None:
        """Record the edges of a statement that has written a file: no commit comes for it."""
        if not self.is_on:
            return
        found = self._lineage_of(origin)
        self.count(origin, found.id)
        if not self._is_news(found):
            return
        try:
            with failures(), self.journal.exclusive_session() as session:
                add_lineage_of(session, found, self.journal.clock.next(), by)
                session.commit()
        except PalimpsestError as error:
            _LOG.warning("the lineage of an exported file could not be recorded: %s", error)
            return
        with self._lock:
            self._recorded.add(found.id)

    def close(self) -> None:
        """Record the sums; nothing is counted any more."""
        self.record()
        self.is_on = False

    def record(self) -> None:
        """Record the sums; those that cannot be recorded now, as by a reader, are lost."""
        with self._lock:
            timer, self._timer = self._timer, None
            taken, self._counted = self._counted, {}
            # Retention may forget a statement, here or in another process: the next commit asks.
            self._recorded.clear()
        if timer is not None:
            timer.cancel()
        if not taken:
            return
        runs, used = self._sums(taken.values())
        if not runs and not used:
            return
        try:
            with failures(), self.journal.exclusive_session() as session:
                add_counts(session, runs, _moment(self.clock()).date().isoformat(), used)
                session.commit()
        except PalimpsestError as error:
            _LOG.info("how columns were used could not be recorded: %s", error)

    def _sums(
        self, counted: Iterable[_Counted]
    ) -> tuple[dict[str, tuple[int, datetime]], dict[ColumnNode, Uses]]:
        runs: dict[str, tuple[int, datetime]] = {}
        used: dict[ColumnNode, Uses] = {}
        for one in counted:
            found, last = self._lineage_of(one.origin), _moment(one.last)
            if one.committed:
                further, latest = runs.get(one.committed, (0, last))
                runs[one.committed] = (further + one.runs, max(latest, last))
            writes = 0 if one.committed is None else one.runs
            own = found.lineage.temporary
            for nodes, uses in (
                (found.lineage.reads, Uses(reads=one.runs, last_read=last)),
                (found.lineage.writes, Uses(writes=writes, last_written=last)),
            ):
                for node in nodes if uses.reads or uses.writes else ():
                    if node.node not in own:
                        used.setdefault(node, Uses()).add(uses)
        return runs, used

    def _is_news(self, found: CommittedLineage) -> bool:
        if changes_definitions(found.lineage):
            return True
        return bool(found.lineage.edges) and found.id not in self._recorded

    def _lineage_of(self, origin: StatementOrigin) -> CommittedLineage:
        """The lineage of a statement, kept with its plan, and under its digest and catalog."""
        trace = origin.trace
        if trace.known is not None:
            return trace.known
        shown = without_literals(origin.text, origin.dialect)
        by_shape = len(origin.text) <= READ_MAX and not _VALUES_MATTER.search(shown.lower())
        key = (by_shape, shown if by_shape else origin.text, origin.dialect, trace.names)
        with self._lock:
            entry = self._known.get(key)
        if entry is not None and entry[0] is trace.catalog:
            trace.known = entry[1]
            return entry[1]
        lineage = _from_client(trace.read(), origin)
        found = lineage_under_id(lineage, shape_digest(shown), origin.tag, shown)
        trace.known = found
        with self._lock:
            self._known[key] = (trace.catalog, found)
            self._known.move_to_end(key)
            if len(self._known) > _KNOWN_MAX:
                self._known.popitem(last=False)
        return found


def lineage_under_id(
    lineage: StatementLineage, digest: str, tag: str, shown: str
) -> CommittedLineage:
    """A lineage under an id made of its statement, ``shown`` without values, and its edges."""
    said = repr((digest, sorted(map(repr, lineage.edges))))
    name = hashlib.sha256(said.encode()).hexdigest()[:16] if lineage.edges else ""
    return CommittedLineage(name, digest, tag, shown, lineage)


def _from_client(lineage: StatementLineage, origin: StatementOrigin) -> StatementLineage:
    """Rows of a file that the client has sent come from the client."""
    if origin.sent_in is None:
        return lineage
    sent = file_node(origin.sent_in)
    edges = tuple(e._replace(source=CLIENT) if e.source == sent else e for e in lineage.edges)
    reads = frozenset(n for n in lineage.reads if n.node != sent)
    return replace(lineage, edges=tuple(dict.fromkeys(edges)), reads=reads)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
