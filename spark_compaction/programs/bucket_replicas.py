"""Replicas in buckets: a copy of a table that each run brings up to where the table is.

    list what there is -> put the files that the copy lacks -> its new list -> remove the others

Such a replica lies as a backup that was copied does (``copies``), on every store, and is recorded
among the backups: purges reach it, and it can be verified and restored. Its list comes last, so
whoever reads it by that list sees the table as it was before or after a run; killed anywhere, it is
one of both. A run of an unchanged table reads no piece of it.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

from journal.files.object_storage import Folder
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.places import shown_place, why_no_place
from journal.model.segment import Segment, SegmentFile
from journal.model.version import Version
from journal.records import backups
from journal.records.backups import Backup, BackupKind
from journal.records.report import Volume
from spark_compaction.programs import copies
from spark_compaction.programs.backup import forget, record, refuse_hidden_rows
from spark_compaction.programs.backup_store import BackupRun
from spark_compaction.programs.file_copying import Bandwidth

_LISTED = timedelta(days=7)
"""How long segments are kept for a run whose process ends meanwhile."""


@dataclass(frozen=True, slots=True)
class BucketReplica:
    """What a run did: ``put`` went there, ``reused`` files were there; or what it would do."""

    name: str
    place: str
    version: Version
    put: Volume
    reused: int
    changed: bool
    made: bool


@dataclass(frozen=True, slots=True)
class _Renewal:
    """The files of a table, those that a copy has by their pieces, and those that it lacks."""

    listed: Backup | None
    files: tuple[tuple[Segment, SegmentFile], ...]
    reused: Mapping[str, SegmentFile]

    @property
    def lacking_files(self) -> list[tuple[Segment, SegmentFile]]:
        """What the copy lacks."""
        return [(s, f) for s, f in self.files if f.path not in self.reused]

    def result(self, name: str, place: str, version: Version, *, changed: bool) -> BucketReplica:
        """What comes of it."""
        new = [f for _, f in self.lacking_files]
        put = Volume(len(new), sum(f.rows for f in new), sum(f.bytes for f in new))
        return BucketReplica(
            *(name, place, version, put, len(self.reused), changed), made=self.listed is None
        )


def replica_name(place: str) -> str:
    """What the copy in a place is called among the backups of its table."""
    return f"replica-{hashlib.sha256(place.encode()).hexdigest()[:8]}"


def check_place(run: BackupRun, place: str) -> None:
    """Raise SETTING_VALUE for a place in which no replica of the table can be."""
    why = why_no_place(place)
    if why is not None:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{shown_place(place)} cannot hold a replica: {why}",
            advice="name one as s3://bucket/folder or file:///folder",
        )
    copies.full_place(run.transport.root, place)


def follow(run: BackupRun, place: str, parallel: int, bandwidth: int | None) -> BucketReplica:
    """Bring the replica of a table in a place up to date; it is made where there is none.

    ``parallel`` files go there at once, where a store has files; ``bandwidth``: bytes a second.
    Raises BACKUP while rows of the table are being erased, and where something else lies there;
    FILE_ACCESS where the place cannot be reached, SEGMENT_DAMAGED for a damaged file.
    """
    place = copies.full_place(run.transport.root, place)
    name = replica_name(place)
    refuse_hidden_rows(run)
    if run.dry_run:
        planned, _ = run.store.planned(run.naming(name, BackupKind.NAMED))
        found = _renewal(planned, _recorded_copy(run, name))
        changed = bool(found.lacking_files) or found.listed is None
        return found.result(name, place, planned.version, changed=changed)
    listing = run.naming(backups.copying(run.job_id), BackupKind.TRASH, run.moment + _LISTED)
    record(run, listing)
    try:
        with run.transport.lock():
            refuse_hidden_rows(run)
            # As it is now: an erasure may have rewritten it since.
            now = _recorded_copy(run, listing.name)
            assert now is not None, "the table's lock is ours"
            wanted = replace(now, name=name, kind=BackupKind.COPY, expires_at=None)
            return _brought_up(
                run, wanted, place, parallel if run.store.has_files else 1, bandwidth
            )
    finally:
        forget(run, listing.name)
        run.store.reap()


def _recorded_copy(run: BackupRun, name: str) -> Backup | None:
    """The copy of a name as it is recorded; None if there is none."""
    return next((b for b in run.backups() if b.name == name), None)


def _brought_up(
    run: BackupRun, wanted: Backup, place: str, parallel: int, bandwidth: int | None
) -> BucketReplica:
    known = _recorded_copy(run, wanted.name)
    if known is not None and not copies.tidy(run.journal, known):
        known = None
    found = _renewal(wanted, known)
    if known is None:
        target = copies.place_of(place, wanted.table_name, wanted.name)
        if Folder(target).read(copies.MANIFEST) is not None:
            raise PalimpsestError(
                Code.BACKUP,
                f"{Folder(target)} has a replica that this store has no record of",
                advice="name another place; or remove that folder, if nobody needs it",
            )
        copies.put_copy(run.transport, wanted, place, run.progress)
        return found.result(wanted.name, place, wanted.version, changed=True)
    changed = _renew(run, wanted, known, found, parallel, Bandwidth(bandwidth))
    return found.result(wanted.name, place, wanted.version, changed=changed)


def _renewal(wanted: Backup, known: Backup | None) -> _Renewal:
    """What of a table its copy has: files that were made of the very pieces."""
    files = tuple((s, f) for s in wanted.segments for f in s.files)
    if known is None:
        return _Renewal(None, files, {})
    listed = copies.read_copy(known)
    if listed is None:
        return _Renewal(None, files, {})
    held = {f.path: f for s in listed.segments for f in s.files}
    by_piece = {piece: held[n] for n, piece in (listed.sources or {}).items() if n in held}
    reused = {
        f.path: by_piece[f.path]
        for _, f in files
        if f.path in by_piece and by_piece[f.path].rows == f.rows
    }
    return _Renewal(listed, files, reused)


def _renew(
    run: BackupRun,
    wanted: Backup,
    known: Backup,
    found: _Renewal,
    parallel: int,
    bandwidth: Bandwidth,
) -> bool:
    """Put what the copy lacks, list it, and remove the rest; False if nothing was to be done."""
    listed, transport = found.listed, run.transport
    assert listed is not None
    assert listed.place is not None
    _, table = copies.read(listed.place)
    kept = {f.path for f in found.reused.values()}
    if not found.lacking_files and kept == listed.paths and table == run.table:
        return False
    folder = Folder(listed.place)
    there: dict[str, SegmentFile | None] = dict(found.reused)
    names = {piece: file.path for piece, file in found.reused.items()}

    def put(one: tuple[Segment, SegmentFile]) -> None:
        segment, file = one
        name = f"files/{segment.id}/part_{uuid.uuid4().hex}.parquet"
        with transport.file(segment, file) as (path, made):
            bandwidth.take(made.bytes)
            folder.put(path, name)
        names[file.path] = name
        there[file.path] = replace(made, path=name)

    with ThreadPoolExecutor(max_workers=parallel) as pool:
        for done, _ in enumerate(pool.map(put, found.lacking_files)):
            run.progress("copy", done + 1, len(found.lacking_files))
    segments = tuple(backups.follow_replacements(s, there) for s in wanted.segments if s.files)
    copied = replace(
        wanted,
        place=listed.place,
        of_store=transport.kind,
        is_whole=True,
        segments=segments,
        sources={name: piece for piece, name in names.items()},
    )
    new = {f.path: names[f.path] for _, f in found.lacking_files}
    filters = copies.put_filters(transport, folder, new, replace(listed, segments=segments))
    copies.write_manifest(folder, replace(copied, filters=filters), run.table)
    with run.journal.exclusive_session() as session:
        backups.drop(session, known.table_id, [known.name])
        backups.add(session, copied)
        session.commit()
    copies.tidy(run.journal, copied)
    return True
