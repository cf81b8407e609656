"""Whether the partitions that a query names are there: one that is not reads as if it were empty.

    a job dropped it    --the catalog says so, after every query-->           40001
    somebody else did   --SHOW PARTITIONS, beside a query now and then-->     58030

A query may read at a manifest of before, as a transaction's snapshot does in a gateway that did
not look since; so jobs let a segment's grace end before they drop it. What others drop nobody
tells, and asking costs Spark nearly as much as a small query does. Thread-safe; repairs nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.jobs import backups
from journal.state import JournalState
from journal.stores import hive_layout as layout
from journal.stores import sql_retired
from journal.stores.hive import Row, partitions_text

if TYPE_CHECKING:
    from journal.hive.journal import HiveJournal

EVERY_S = 5.0
"""How long it is trusted that the partitions of a table are there which were there before."""

Needed = Mapping[str, frozenset[str]]
"""By table of the store's own the partitions that must be there."""


def needed(names: layout.Names, ast: exp.Expr) -> Needed:
    """What a query over the store's own tables reads of them."""
    found: dict[str, frozenset[str]] = {}
    for table in ast.find_all(exp.Table):
        if table.db != names.own:
            continue
        within = table.find_ancestor(exp.Select)
        listed = None if within is None else within.args.get("where")
        if listed is None or not isinstance(listed.this, exp.In):
            continue
        if listed.this.this.name == layout.PARTITION and not table.name.startswith(names.adopted):
            segments = frozenset(e.name for e in listed.this.expressions)
            found[table.name] = found.get(table.name, frozenset()) | segments
    return found


def listing(names: layout.Names, wanted: Needed) -> list[str]:
    """Statements that tell, table by table, which partitions there are."""
    found: list[str] = []
    for table, segments in wanted.items():
        only = (layout.PARTITION, min(segments)) if len(segments) == 1 else None
        found.append(partitions_text(names.own, table, only))
    return found


class Presence:
    """See the module's head; ``every_s`` 0 asks the server beside every query."""

    def __init__(self, journal: HiveJournal, every_s: float) -> None:
        self._journal = journal
        self._every_s = every_s
        self._seen: dict[str, float] = {}
        self._lock = threading.Lock()

    def due(self, wanted: Needed) -> Needed:
        """Of what a query needs the tables that the server is to be asked about again."""
        now = time.monotonic()
        with self._lock:
            return {
                table: segments
                for table, segments in wanted.items()
                if table not in self._seen or now - self._seen[table] >= self._every_s
            }

    def check_listed(self, asked: Needed, found: Iterable[Sequence[Row]]) -> None:
        """Raise unless the server has listed all that was asked about, in the order of it.

        SERIALIZATION if a job has dropped what a snapshot of before names, else SEGMENT_DAMAGED.
        """
        missing: list[str] = []
        for (table, segments), rows in zip(asked.items(), found, strict=True):
            there = {str(row[0]).partition("/")[0].partition("=")[2] for row in rows}
            missing += [f"{table}/{segment}" for segment in sorted(segments - there)]
        if missing:
            self._check_kept(missing)
            raise _missing(self._journal.names, missing)
        with self._lock:
            self._seen.update(dict.fromkeys(asked, time.monotonic()))

    def check_kept(self, wanted: Needed, seen: JournalState) -> None:
        """Raise SERIALIZATION if jobs may have dropped what was read at the manifests of ``seen``.

        Run it once the query has planned what it reads.
        """
        if wanted and self._journal.look()[1] is not seen:
            self._check_kept([f"{t}/{segment}" for t, found in wanted.items() for segment in found])

    def _check_kept(self, paths: Iterable[str]) -> None:
        journal = self._journal
        known = set(journal.staged)
        for state in journal.look()[1].tables.values():
            known |= {s.files[0].path for s in state.manifest.segments} | set(state.manifest.masks)
        left = [path for path in paths if path not in known]
        if not left:
            return
        with journal.catalog.reading() as reading:
            retired = sql_retired.load_retired(reading)
        known = {r.path for r in retired if r.until_us > journal.now()}
        with journal.reading_session() as session:
            known |= backups.pinned_paths(session)
        if not known.issuperset(left):
            raise PalimpsestError(
                Code.SERIALIZATION,
                "what this snapshot reads was written anew since, and the old rows are gone",
                advice="roll back and run the transaction again, which reads what is there now",
            )


def _missing(names: layout.Names, missing: Sequence[str]) -> PalimpsestError:
    return PalimpsestError(
        Code.SEGMENT_DAMAGED,
        f"{len(missing)} partitions of journals are missing in {names.own}, the first is"
        f" {missing[0]}: somebody dropped them",
        advice="restore the partition's files and ALTER TABLE .. ADD PARTITION, or restore"
        " a backup of the store; palimpsest verify tells what else is missing",
    )
