"""The files of a replica in a warehouse: those that it lacks are copied, rows that may not be go.

A file that is there already, by folder, name, size and checksum, is neither read nor copied. What
may not come back by the suppression list is left out before anything is listed. Lists nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from shutil import copyfile
from typing import Any

from journal.erasure.guard import load_fence
from journal.erasure.list_parameters import list_parameters
from journal.erasure.secret import PRIVATE
from journal.files.parquet_files import sync_folder
from journal.local_engine import layout
from journal.local_engine.file_modes import follow_modes
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.places import safe_name
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment, SegmentFile
from journal.records.erasure_rows import copy_suppressions, drop_suppressions
from journal.records.report import Volume
from journal.sql.relations import union_all
from journal.sql.sql import relation
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.keys import write_keys
from journal.transactions.state import TableState
from spark_compaction.backends.embedded_erasure.key_matches import holdings
from spark_compaction.backends.embedded_erasure.purge import (
    check_digests,
    digests,
    moved_files,
    replaced_files,
    rewrite,
    unit_of,
)
from spark_compaction.contract import Engine, Progress
from spark_compaction.programs.file_copying import COPY, copy_units
from spark_compaction.programs.replica_package import Reception, ReplicaPackage, tail
from spark_compaction.programs.replica_store import LeftOut

_LIKE = ("bytes", "rows", "checksum")


@dataclass(slots=True)
class ReplicaFiles:
    """What the files of a package are in the target, and which of them are to be copied.

    ``filtered`` says of files by their tails what is left of them here: ``like`` is what the
    source's were, ``file`` what is listed instead, None if nothing is, ``under`` that of a
    ``LeftOut``. ``reused`` files are there, and ``rows`` lie in those that are ``wanted``.
    """

    segments: tuple[Segment, ...]
    wanted: list[dict[str, Any]]
    reused: int = 0
    rows: int = 0
    filtered: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def lacking_volume(self) -> Volume:
        """What the target lacks."""
        return Volume(len(self.wanted), self.rows, sum(f["bytes"] for f in self.wanted))

    @property
    def lacking_names(self) -> tuple[str, ...]:
        """The files that it lacks, by their full paths."""
        return tuple(f["source"] for f in self.wanted)

    @property
    def folders(self) -> list[str]:
        """The folders that files are copied into."""
        return list(dict.fromkeys(f["folder"] for f in self.wanted))

    @property
    def paths(self) -> set[str]:
        """The files that are to be copied, as the target lists them."""
        return {f"{f['folder']}/{f['name']}" for f in self.wanted}


def matched(
    package: ReplicaPackage,
    root: Path,
    table: Table,
    live: Sequence[Segment],
    filtered: Mapping[str, dict[str, Any]],
    under: str,
) -> ReplicaFiles:
    """What of a package is here, and what is not. Pure.

    What rows were left out of is here only if the same may not be in it now.
    """
    here = {tail(f.path): f for s in live for f in s.files}
    listed = {f.path for f in here.values()}
    place = f"{safe_name(table.name.schema)}/{safe_name(table.journal_name.name)}"
    segments: list[Segment] = []
    wanted: list[dict[str, Any]] = []
    kept: dict[str, dict[str, Any]] = {}
    for segment in package.segments:
        files: list[SegmentFile] = []
        gone = RowCounts()
        for file in segment.files:
            name = tail(file.path)
            known, less = here.get(name), filtered.get(name)
            # One of an earlier version does not say how many rows of which kind went.
            is_known = less is not None and "gone" in less
            if less is not None and is_known and _made_of(less) == (_like(file), under):
                left = None if less["file"] is None else SegmentFile(**less["file"])
                if left is None or left.path in listed:
                    kept[name] = less
                    gone += RowCounts(**less["gone"])
                    files += [] if left is None else [left]
                    continue
            if known is not None and _like(known) == _like(file):
                files.append(known)
                continue
            path = f"{place}/{name}"
            files.append(replace(file, path=path))
            wanted.append(
                {
                    "source": str(Path(package.root) / file.path),
                    "root": str(root),
                    "folder": str(PurePosixPath(path).parent),
                    "name": PurePosixPath(path).name,
                    "bytes": file.bytes,
                    "checksum": file.checksum,
                }
            )
        if files:
            counts = segment.counts + gone.times(-1)
            segments.append(replace(segment, files=tuple(files), counts=counts))
    copied = {f"{f['folder']}/{f['name']}" for f in wanted}
    rows = sum(f.rows for s in segments for f in s.files if f.path in copied)
    reused = sum(len(s.files) for s in segments) - len(copied)
    return ReplicaFiles(tuple(segments), wanted, reused, rows, kept)


def _made_of(less: Mapping[str, Any]) -> tuple[list[Any], str]:
    return less["like"], less["under"]


def _like(file: SegmentFile) -> list[Any]:
    return [getattr(file, name) for name in _LIKE]


def copy_wanted(journal: Journal, found: ReplicaFiles, given: Reception, engine: Engine) -> None:
    """Copy the files that are wanted, with the filters beside them; raises SEGMENT_DAMAGED."""
    if not found.wanted:
        return
    units = copy_units(found.wanted, given.parallel, given.bandwidth)
    engine.map(COPY, units, given.progress)
    for source, folder in {(str(Path(f["source"]).parent), f["folder"]) for f in found.wanted}:
        for sidecar in Path(source).glob("filters*.bloom"):
            target = journal.root / folder / sidecar.name
            if not target.exists():
                copyfile(sidecar, target)
                follow_modes(target)
        sync_folder(journal.root / folder)


def without_erased(
    journal: Journal,
    table: Table,
    state: TableState,
    found: ReplicaFiles,
    leaving: LeftOut,
    folder: str,
    engine: Engine,
    progress: Progress,
) -> int:
    """Leave out of the files the rows that must not be in a replica; how many that was.

    Files without such rows stay as they are. New ones are written into ``folder``.
    """
    with journal.reading_session() as session:
        draft = _suppressed_keys(journal, session, table, found, leaving)
        try:
            masks = [*leaving.masks, *([] if draft is None else [draft])]
            held = holdings(session, journal.root, table, found.segments, masks).held
            units = [
                unit_of(journal, table, state, one, masks, f"{folder}/part_{n}.parquet")
                for n, one in enumerate(held)
            ]
            results = rewrite(engine, units, progress)
        finally:
            if draft is not None:
                (journal.root / draft).unlink(missing_ok=True)
    if units:
        check_digests(digests(results), str(table.name))
        _take_rewritten(found, units, results, leaving.under)
    return sum(one.counts.total for one in held)


def _suppressed_keys(
    journal: Journal, session: DuckDBSession, table: Table, found: ReplicaFiles, leaving: LeftOut
) -> str | None:
    """A file with the keys in copied files that may not come back; None if there are none."""
    copied = found.paths
    segments = [
        replace(s, files=files)
        for s in found.segments
        if (files := tuple(f for f in s.files if f.path in copied))
    ]
    # Seen by this session, which commits nothing.
    for name in leaving.earlier:
        drop_suppressions(session, name)
    copy_suppressions(session, leaving.carried)
    fence = load_fence(session)
    if not segments or not fence.concerns(table):
        return None
    ordered = sorted(segments, key=lambda s: s.fields)
    parts = [
        layout.segment_rows(table, [f.path for s in group for f in s.files], fields, journal.root)
        for fields, group in groupby(ordered, key=lambda s: s.fields)
    ]
    query = Query.of(fence.keys(table, relation(union_all(parts))))
    keys = session.arrow(query, list_parameters(journal, query))
    if not keys.num_rows:
        return None
    draft = f"{PRIVATE}/dry-{journal.new_segment_id()}.keys"
    (journal.root / PRIVATE).mkdir(mode=0o700, exist_ok=True)
    write_keys(session, table, [keys], journal.root / draft)
    return draft


def _take_rewritten(
    found: ReplicaFiles, units: Sequence[Any], results: Sequence[Any], under: str
) -> None:
    """List what was written anew instead of what was there, and note what it is made of."""
    old = {f.path: f for s in found.segments for f in s.files}
    went = {u["path"]: r["gone"] for u, r in zip(units, results, strict=True)}
    for path, new in moved_files(units, results).items():
        left = None if new is None else asdict(new)
        by_kind = {kind: int(went[path][kind]) for kind in ("open", "closing", "tombstone")}
        found.filtered[tail(path)] = {
            "like": _like(old[path]),
            "file": left,
            "under": under,
            "gone": by_kind,
        }
    changed = replaced_files(found.segments, units, results)
    gone = {s.id for s in changed.removed}
    fresh = {s.id: s for s in changed.added}
    found.segments = tuple(
        fresh.get(s.id, s) for s in found.segments if s.id not in gone or s.id in fresh
    )
