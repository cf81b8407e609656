"""The tables of a replica in a database: those that it lacks are loaded, rows that may not be go.

All of it happens in one transaction, which the server undoes if it is not committed. A table that
is there already, by its origin, rows and checksum, is neither read nor loaded. Lists nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from journal.erasure.guard import load_fence
from journal.erasure.matching import shown_keys
from journal.files.parquet_files import checksum
from journal.identity.suppression_list import P_NOW, P_SECRET
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment, Tier
from journal.model.version import to_datetime
from journal.records.backups import Backup, BackupKind
from journal.records.erasure_rows import copy_suppressions, drop_suppressions
from journal.records.report import Volume
from journal.sql.relations import union_all
from journal.sql.sql import relation
from journal.stores.postgres import as_committed, layout
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.reading import committed_state
from journal.transactions.state import TableState
from spark_compaction.backend import TableAt
from spark_compaction.backends.postgres.backup_transport import DatabaseTransport
from spark_compaction.backends.postgres.maintenance import DatabaseBackend
from spark_compaction.backends.postgres.replica_source import copy_name, origin
from spark_compaction.contract import JobRequest
from spark_compaction.erasure.purge_sql import rows_with
from spark_compaction.programs.replica_package import ReplicaPackage
from spark_compaction.programs.replica_store import LeftOut
from spark_compaction.programs.rewriting import compare, plan_rewrite, write_without
from spark_compaction.programs.table_pieces import each

_SHOWN = "keys_left_out"
_ATTEMPT = "replica_fence"
_WHY = ("holds {} rows that may not be in a replica", "holds none")


@dataclass(slots=True)
class ReplicaTables:
    """What the tables of a package are in the target, and which of them are to be loaded.

    ``here`` has what is to be listed by origin; None where nothing is left of a table. ``wanted``
    are loaded, ``unlooked`` may hold rows that are to be left out now. ``filtered`` says of tables
    by origin what is left of them: ``rows`` are what the source's had, ``segment`` what is listed
    instead, ``under`` that of a ``LeftOut``.
    """

    order: tuple[str, ...]
    here: dict[str, Segment | None]
    wanted: tuple[Segment, ...]
    unlooked: tuple[str, ...]
    lacking_volume: Volume
    filtered: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """What is to be listed."""
        found = (self.here.get(name) for name in self.order)
        return tuple(segment for segment in found if segment is not None)

    @property
    def lacking_names(self) -> tuple[str, ...]:
        """The origins of what is to be loaded."""
        return tuple(s.files[0].path for s in self.wanted)

    @property
    def reused(self) -> int:
        """How many tables are there already."""
        return len(self.order) - len(self.wanted)


def live_tables(table_id: int, state: TableState) -> tuple[Segment, ...]:
    """What a journal consists of: its heads as segments, then its segments."""
    heads = [
        Segment(layout.head_table(table_id, h).name, Tier.DELTA, (), h.fields, RowCounts(), 0, 0)
        for h in state.manifest.heads
    ]
    return (*heads, *state.manifest.segments)


def match_tables(
    package: ReplicaPackage,
    store: str,
    table_id: int,
    before: TableState | None,
    detail: Mapping[str, Any],
    under: str,
) -> ReplicaTables:
    """What of a package is here, and what is not. Pure.

    What rows were left out of is here only if the same may not be in it now.
    """
    live = () if before is None else live_tables(table_id, before)
    by_name = {s.id: s for s in live}
    by_origin = {origin(store, s.id): s for s in live}
    known: Mapping[str, dict[str, Any]] = detail.get("filtered", {})
    is_same = detail.get("under") == under
    here: dict[str, Segment | None] = {}
    kept: dict[str, dict[str, Any]] = {}
    wanted: list[Segment] = []
    for segment in package.segments:
        (file,) = segment.files
        name, less = file.path, known.get(file.path)
        if less is not None and (less["rows"], less["under"]) == (file.rows, under):
            left = less["segment"]
            if left is None or left in by_name:
                kept[name] = less
                here[name] = None if left is None else by_name[left]
                continue
        found = by_origin.get(name)
        if found is not None and _is_like(found, segment):
            here[name] = _listed_here(found, segment)
        else:
            wanted.append(segment)
    sizes = dict(package.files)
    copied = Volume(
        len(wanted),
        sum(s.files[0].rows for s in wanted),
        sum(sizes.get(s.files[0].path, s.files[0]).bytes for s in wanted),
    )
    order = tuple(s.files[0].path for s in package.segments)
    unlooked = () if is_same else tuple(n for n in here if n not in kept)
    return ReplicaTables(order, here, tuple(wanted), unlooked, copied, kept)


def _is_like(found: Segment, segment: Segment) -> bool:
    """True if a table of the same origin holds what the package lists; nobody counts heads."""
    rows, checksums = found.counts.total, {found.checksum, segment.checksum} - {None}
    return rows in {0, segment.files[0].rows} and len(checksums) < 2


def _listed_here(found: Segment, segment: Segment) -> Segment:
    """What is listed of a table that is there: a head that takes no rows becomes a segment."""
    if found.counts.total:
        return found
    return Segment(
        *(found.id, Tier.DELTA, (), found.fields, segment.counts),
        *(segment.min_version, segment.max_version, segment.checksum),
    )


def load_tables(
    journal: DatabaseJournal,
    session: PostgresSession,
    package: ReplicaPackage,
    table: Table,
    found: ReplicaTables,
) -> None:
    """Load the tables that are wanted; raises SEGMENT_DAMAGED for one that is not as it was."""
    if not found.wanted:
        return
    files = dict(package.files)
    paths: dict[str, Path] = {}
    for name in found.lacking_names:
        if name not in files:
            raise PalimpsestError(
                Code.JOB_BUSY,
                f"the replica of {table.name} was changed while its pieces were copied",
                advice="nothing was changed; run it again",
            )
        paths[name] = Path(package.path_of(name))
        if checksum(paths[name]) != files[name].checksum:
            raise _damaged(name)
    listing = Backup(
        *("", BackupKind.COPY, table.id, str(table.name), package.version, found.wanted),
        *(None, to_datetime(package.version), None),
    )
    with DatabaseTransport(journal, table, session).load(listing, paths) as loaded:
        for segment, made in zip(found.wanted, loaded.segments, strict=True):
            name = segment.files[0].path
            staged = exp.table_(made.files[0].path, db=STORE_SCHEMA)
            found.here[name] = _finished(session, table, package, segment, staged)


def _finished(
    session: PostgresSession,
    table: Table,
    package: ReplicaPackage,
    segment: Segment,
    staged: exp.Table,
) -> Segment:
    """A loaded table under its own name, with indexes, once it is what the source had."""
    name = copy_name(table.id, segment.files[0].path)
    target = exp.table_(name, db=STORE_SCHEMA)
    renamed = exp.AlterRename(this=exp.to_table(name))
    session.run(exp.Alter(this=staged, kind="TABLE", actions=[renamed]))
    counts = layout.count_rows(session, table, target)
    found = as_committed.fingerprint(session, table, target, segment.fields)[1]
    if counts.total != segment.files[0].rows or segment.checksum not in {None, found}:
        raise _damaged(name)
    layout.finish_rows(session, table, target, segment.fields)
    newest = segment.max_version or package.version
    return Segment(
        *(name, segment.tier, (), segment.fields, counts),
        *(segment.min_version, newest, found),
    )


def leave_out(
    journal: DatabaseJournal,
    session: PostgresSession,
    package: ReplicaPackage,
    table: Table,
    found: ReplicaTables,
    leaving: LeftOut,
) -> int:
    """Leave out of the tables the rows that must not be in a replica; how many that was.

    Tables without such rows stay as they are.
    """
    loaded = {n: s for n in found.lacking_names if (s := found.here[n]) is not None}
    unlooked = {n: s for n in found.unlooked if (s := found.here[n]) is not None}
    keys = [pq.read_table(path) for path in leaving.masks if loaded or unlooked]
    keys += _suppressed_keys(journal, session, table, list(loaded.values()), leaving)
    keys = [k for k in keys if k.num_rows]
    if not keys:
        return 0
    session.show_arrow(_SHOWN, pa.concat_tables(keys, promote_options="permissive"))
    backend = DatabaseBackend(journal, JobRequest(table, ""))
    backend.session = session
    among = exp.alias_(shown_keys(table, _SHOWN).subquery(), "e")
    goes = rows_with(backend, table, among)
    at = TableAt(table, committed_state(journal), package.version)
    names = {s.id: n for n, s in (*loaded.items(), *unlooked.items())}
    pieces = each([*loaded.values(), *unlooked.values()])
    planned = plan_rewrite(backend, at, pieces, goes, _WHY)
    done = write_without(backend, at, planned.pieces, goes)
    compare(backend, done, goes)
    rows = {s.files[0].path: s.files[0].rows for s in package.segments}
    for one in done:
        (old,) = one.piece.segments
        name = names[old.id]
        if name in loaded:
            layout.drop_rows(session, layout.segment_table(old))
        found.here[name] = one.made
        left = None if one.made is None else one.made.id
        found.filtered[name] = {"rows": rows[name], "segment": left, "under": leaving.under}
    return planned.gone.total


def _suppressed_keys(
    journal: DatabaseJournal,
    session: PostgresSession,
    table: Table,
    loaded: Sequence[Segment],
    leaving: LeftOut,
) -> list[pa.Table]:
    """The keys in loaded tables that may not come back, by what is suppressed after the run."""
    if not loaded:
        return []
    session.text(f"SAVEPOINT {_ATTEMPT}")
    for name in leaving.earlier:
        drop_suppressions(session, name)
    copy_suppressions(session, leaving.carried)
    fence = load_fence(session)
    keys = []
    if fence.concerns(table):
        parts = [layout.rows_as(table, layout.segment_table(s), s.fields) for s in loaded]
        query = Query.of(fence.keys(table, relation(union_all(parts))))
        parameters = {P_SECRET: journal.read_secret(), P_NOW: journal.clock.now()}
        keys.append(session.arrow(query, parameters))
    # What is suppressed is recorded where the replica is published.
    session.text(f"ROLLBACK TO SAVEPOINT {_ATTEMPT}")
    session.text(f"RELEASE SAVEPOINT {_ATTEMPT}")
    return keys


def _damaged(name: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SEGMENT_DAMAGED,
        f"{name} does not hold what its source has: nothing was replicated",
        advice="run it again; if it stays, palimpsest verify at the source says what is wrong",
    )
