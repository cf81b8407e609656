"""Checks that partitions and files of a query exist: Spark reads missing ones as empty.

    a job dropped a partition    --the catalog says so, after every query-->           40001
    somebody else changed files  --sizes say so, beside a query now and then-->        58030

A query may read at a manifest of before, as a transaction's snapshot does in a gateway that did
not look since; so jobs let a segment's grace end before they drop it. What others change nobody
tells, and asking costs Spark nearly as much as a small query does. Each session of the server is
asked for itself, since each remembers files as it saw them. Of Apache Hive only partitions are
asked for. Thread-safe; repairs nothing.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.records import backups
from journal.records import retired as retired_rows
from journal.stores.hive import layout
from journal.stores.hive.client.connection import HiveConnection, Row, partitions_text
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.object_names import made_us
from journal.stores.hive.partition_pruning import Needed, listed_rows
from journal.stores.hive.row_count_check import RowCountDifference, SizeQuery, Whole
from journal.stores.hive.segment_check import damaged, partitions_missing
from journal.stores.hive.sizes import segment_groups
from journal.stores.hive.tiers import SeenTiers
from journal.transactions.state import JournalState

if TYPE_CHECKING:
    from journal.stores.hive.journal import HiveJournal

EVERY_S = 5.0
"""How long it is trusted that segments are as they were when a session was asked about them."""


@dataclass(frozen=True, slots=True)
class PartitionQuery:
    """What is asked beside a query about the segments it reads; ``sizes`` None: partitions."""

    wanted: Needed
    beside: tuple[str, ...]
    sizes: SizeQuery | None = None


@dataclass(frozen=True, slots=True)
class _Looked:
    """When a session was asked about a table, by two clocks, and about which segments."""

    at_s: float
    at_us: int
    segments: frozenset[str]

    def unasked_segments(self, segments: frozenset[str]) -> frozenset[str]:
        """Segments that were there at that time, and were not asked about.

        What was written since waits for the next look, or every commit would bring one.
        """
        if segments <= self.segments:
            return frozenset()
        return frozenset(s for s in segments - self.segments if (made_us(s) or 0) < self.at_us)


class Presence:
    """See the module's head; ``every_s`` 0 asks the server beside every query."""

    def __init__(self, journal: HiveJournal, every_s: float) -> None:
        self._journal = journal
        self._every_s = every_s
        self._looked: weakref.WeakKeyDictionary[HiveConnection, dict[str, _Looked]]
        self._looked = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._whole = Whole(journal)

    def due_query(
        self, connection: HiveConnection, wanted: Needed, tiers: SeenTiers
    ) -> PartitionQuery | None:
        """What a session is to be asked again beside a query; None if nothing is due."""
        due = self._due(connection, wanted)
        if not due:
            return None
        if connection.engine is HiveEngine.APACHE:
            return PartitionQuery(due, tuple(_listing(self._journal.names, due)))
        listed = listed_rows(tiers, due)
        asked = self._whole.questions(connection, segment_groups(due, listed), listed)
        return PartitionQuery(due, asked.texts, asked)

    def _due(self, connection: HiveConnection, wanted: Needed) -> Needed:
        now = time.monotonic()
        due: dict[str, frozenset[str]] = {}
        with self._lock:
            looked = self._looked.get(connection, {})
            for table, segments in wanted.items():
                last = looked.get(table)
                is_old = last is None or now - last.at_s >= self._every_s
                left = segments if last is None or is_old else last.unasked_segments(segments)
                if left:
                    due[table] = left
        return due

    def check(
        self, connection: HiveConnection, look: PartitionQuery, answers: Sequence[Sequence[Row]]
    ) -> None:
        """Raise unless what the session reads is what is listed.

        SERIALIZATION if a job has dropped what a snapshot of before names, else SEGMENT_DAMAGED.
        """
        if look.sizes is None:
            self._check_listed(look.wanted, answers)
        else:
            found = self._whole.differences(connection, look.sizes, answers)
            if found is None or found:
                texts = _listing(self._journal.names, look.wanted)
                self._check_listed(look.wanted, [connection.short_query(text) for text in texts])
            if found:
                self._check_kept(d.path for d in found)
                raise self._differing(found)
        self._note(connection, look.wanted)

    def _note(self, connection: HiveConnection, seen: Needed) -> None:
        now, now_us = time.monotonic(), self._journal.now()
        with self._lock:
            looked = self._looked.setdefault(connection, {})
            for table, segments in seen.items():
                last = looked.get(table)
                if last is None or now - last.at_s >= self._every_s:
                    looked[table] = _Looked(now, now_us, segments)
                else:
                    looked[table] = replace(last, segments=last.segments | segments)

    def _check_listed(self, asked: Needed, found: Iterable[Sequence[Row]]) -> None:
        missing: list[str] = []
        for (table, segments), rows in zip(asked.items(), found, strict=True):
            there = {str(row[0]).partition("/")[0].partition("=")[2] for row in rows}
            missing += [f"{table}/{segment}" for segment in sorted(segments - there)]
        if missing:
            self._check_kept(missing)
            raise partitions_missing(self._journal.names, missing)

    def check_kept(self, wanted: Needed, seen: JournalState) -> None:
        """Raise SERIALIZATION if jobs may have dropped what was read at the manifests of ``seen``.

        Run it once the query has planned what it reads.
        """
        if wanted and self._journal.read_committed()[1] is not seen:
            self._check_kept([f"{t}/{segment}" for t, found in wanted.items() for segment in found])

    def _check_kept(self, paths: Iterable[str]) -> None:
        journal = self._journal
        known = set(journal.staged)
        for state in journal.read_committed()[1].tables.values():
            known |= {s.files[0].path for s in state.manifest.segments}
            known |= set(state.manifest.key_lists)
        left = [path for path in paths if path not in known]
        if not left:
            return
        with journal.catalog.reading() as reading:
            retired = retired_rows.load_retired(reading)
        known = {r.id for r in retired if (r.until or 0) > journal.now()}
        with journal.reading_session() as session:
            known |= backups.pinned_paths(session)
        if not known.issuperset(left):
            raise PalimpsestError(
                Code.SERIALIZATION,
                "what this snapshot reads was written anew since, and the old rows are gone",
                advice="roll back and run the transaction again, which reads what is there now",
            )

    def refresh(self, connection: HiveConnection, wanted: Needed) -> None:
        """Have a session list the files of segments anew."""
        for table in wanted:
            connection.refresh(self._journal.names.journal_database, table)

    def _differing(self, found: Sequence[RowCountDifference]) -> PalimpsestError:
        first = found[0]
        return damaged(self._journal.names, first.path, first.there, first.listed)

    def finish(self) -> None:
        """Ask nothing more in the background."""
        self._whole.finish()


def _listing(names: layout.Names, wanted: Needed) -> list[str]:
    """Statements that tell, table by table, which partitions there are."""
    found: list[str] = []
    for table, segments in wanted.items():
        only = (layout.PARTITION, min(segments)) if len(segments) == 1 else None
        found.append(partitions_text(names.journal_database, table, only))
    return found
