"""Backups that lie elsewhere: the files of a table copied under a URL or into a folder.

    <place>/<table>/<name>/files/<segment>/part_<n>.parquet
    <place>/<table>/<name>/filters-<id>.bloom   the filters of all its files
    <place>/<table>/<name>/backup.json      what there is, written last: without it there is nothing

Each is recorded among the backups before its first file is written, and forgotten after its last
one is removed, so that purges reach it whatever was killed. What ``backup.json`` says counts.
Files are checked against their checksums when they come back. Who calls holds the table's lock.
Pieces of a store become files, and files pieces, by its ``BackupTransport``. Only the kind of store
that a copy is of reads it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import pyarrow.parquet as pq

from journal.files.object_storage import Folder
from journal.files.parquet_files import checksum
from journal.local_engine.scratch import scratch
from journal.model.catalog import change_from_json, change_to_json
from journal.model.errors import Code, PalimpsestError
from journal.model.places import below, is_elsewhere, local_path, safe_name, shown_place
from journal.model.plan import PutRelation
from journal.model.schema import Table
from journal.model.segment import Segment, SegmentFile
from journal.records import backups
from journal.records import maintenance as rows_of
from journal.records.backups import Backup, BackupKind
from journal.transactions.protocol import OpenJournal
from spark_compaction.contract import Progress
from spark_compaction.programs import copied_filters
from spark_compaction.programs.backup_transport import BackupTransport

MANIFEST = "backup.json"
_FORMAT = 1


def place_of(place: str, table_name: str, name: str) -> str:
    """The folder of one backup among all that lie in a place."""
    return below(place, safe_name(table_name), safe_name(name))


def full_place(root: Path | None, place: str) -> str:
    """A place in full; raises SETTING_VALUE for one inside a warehouse, the folder ``root``."""
    if is_elsewhere(place):
        return place
    path = local_path(place).resolve()
    if root is not None and path.is_relative_to(root.resolve()):
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{place} lies inside the warehouse",
            advice="name a folder outside, or a URL",
        )
    return str(path)


def put_copy(transport: BackupTransport, backup: Backup, place: str, progress: Progress) -> Backup:
    """Copy what a backup lists to a place; all of it is there then, or nothing.

    What could not be removed of one that failed stays recorded, as a backup that can be dropped.
    One of the same name that was killed before all of it was there is undone first.
    """
    if shown_place(place) != place:
        raise _unusable(
            "the gateway records the place of a backup, and must not record a login",
            "leave it out of the URL; the environment or fsspec's configuration has it",
        )
    journal, target = transport.journal, place_of(place, backup.table_name, backup.name)
    folder = Folder(target)
    undo_halves(journal, backup.table_id, backup.name)
    if folder.read(MANIFEST) is not None:
        raise _unusable(f"there is a backup in {folder} already", "give another name or place")
    files = [(s, f) for s in backup.segments for f in s.files]
    # By number: after a purge a segment may have files of the same name in two folders.
    names = {f.path: f"files/{s.id}/part_{n}.parquet" for n, (s, f) in enumerate(files)}
    copied = replace(backup.renamed(names), kind=BackupKind.COPY, place=target)
    copied = replace(copied, of_store=transport.kind, is_whole=False)
    with journal.exclusive_session() as session:
        backups.add(session, copied)
        session.commit()
    try:
        there: dict[str, SegmentFile | None] = {}
        for done, (segment, file) in enumerate(files):
            progress("copy", done, len(files))
            name = names[file.path]
            with transport.file(segment, file) as (path, found):
                folder.put(path, name)
                there[name] = replace(found, path=name)
        copied = replace(
            copied, segments=tuple(backups.follow_replacements(s, there) for s in copied.segments)
        )
        filters = put_filters(transport, folder, names)
        sources = {name: path for path, name in names.items()}
        write_manifest(folder, replace(copied, filters=filters, sources=sources), transport.table)
        _record(journal, copied := replace(copied, is_whole=True))
    except BaseException:
        with suppress(PalimpsestError):
            remove(journal, copied)
        raise
    return copied


def recorded_copies(journal: OpenJournal, table_id: int) -> list[Backup]:
    """The copies of a table's backups that are on record."""
    with journal.reading_session() as session:
        return [b for b in backups.load(session, table_id) if b.place is not None]


def finished_copies(journal: OpenJournal, table_id: int) -> list[Backup]:
    """Those that are there, as they are; what was killed is undone or finished first."""
    return [b for b in recorded_copies(journal, table_id) if tidy(journal, b)]


def _record(journal: OpenJournal, backup: Backup) -> None:
    with journal.exclusive_session() as session:
        rows_of.put_backup_segments(session, backup.table_id, backup.name, backup.listing)
        session.commit()


def undo_halves(journal: OpenJournal, table_id: int, name: str | None = None) -> list[str]:
    """Remove what is there of a table's copies, or of one, that never came to be; their names.

    One that did, but was killed before that was recorded, is whole from then on.
    """
    found = [b for b in recorded_copies(journal, table_id) if name in {None, b.name}]
    return [b.name for b in found if not b.is_whole and not tidy(journal, b)]


def read_copy(backup: Backup) -> Backup | None:
    """A copy as it lies there; None if it is none yet. Raises FILE_ACCESS if it was one."""
    assert backup.place is not None
    if Folder(backup.place).read(MANIFEST) is not None:
        return read(backup.place)[0]
    if backup.is_whole:
        raise _copy_missing(backup)
    return None


def read(place: str) -> tuple[Backup, Table]:
    """A backup that lies somewhere, known to this warehouse or not, and the table it is of."""
    folder = Folder(place)
    held = folder.read(MANIFEST)
    if held is None:
        raise _unusable(f"there is no backup in {folder}", "name the folder that backup.json is in")
    try:
        found = json.loads(held)
        change = change_from_json(found["table"])
        assert isinstance(change, PutRelation)
        assert isinstance(change.relation, Table)
        backup = Backup(
            name=found["name"],
            kind=BackupKind.COPY,
            table_id=change.relation.id,
            table_name=str(change.relation.name),
            version=found["version"],
            segments=tuple(Segment.from_json(s) for s in found["segments"]),
            made_by=found["made_by"],
            made_at=datetime.fromisoformat(found["made_at"]),
            expires_at=None,
            place=folder.place,
            is_archive=found["is_archive"],
            filters=found.get("filters"),
            sources=found.get("sources"),
            definition=tuple(found.get("definition", ())),
            of_store=found.get("store", "warehouse"),
            is_whole=True,
        )
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise _unusable(f"{MANIFEST} in {folder} cannot be read", "name another backup") from error
    return backup, change.relation


def as_recorded(backup: Backup) -> Backup:
    """A copy as it lies there; raises JOB_VERIFICATION if its list is another."""
    assert backup.place is not None
    listed, _ = read(backup.place)
    if listed.segments != backup.segments:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f'the list of the backup "{backup.name}" differs from the one that was written',
            advice="take another backup",
        )
    return listed


def refuse_other_stores(backup: Backup, kind: str) -> None:
    """Raise BACKUP if a copy is of another kind of store, whose values lie otherwise."""
    if backup.of_store != kind:
        raise _unusable(
            f"the backup is of a {backup.of_store} store, and is restored into one",
            "restore it there, and move the rows with palimpsest export and import",
        )


@contextmanager
def fetched_copy(
    transport: BackupTransport, backup: Backup, progress: Progress
) -> Iterator[Backup]:
    """A copy as a backup of pieces of the store, which go with the block.

    Raises SEGMENT_DAMAGED where a file is not what it was, BACKUP if another kind of store made it.
    """
    assert backup.place is not None
    listed, _ = read(backup.place)
    refuse_other_stores(listed, transport.kind)
    with (
        fetched(transport, listed, listed.paths, progress) as paths,
        transport.load(listed, paths) as here,
    ):
        yield replace(here, place=None)


@contextmanager
def fetched(
    transport: BackupTransport, backup: Backup, wanted: Collection[str], progress: Progress
) -> Iterator[dict[str, Path]]:
    """Some files of a copy as it was read, on this machine, by their paths in the copy."""
    with transport.landing() as folder:
        yield fetch(backup, wanted, folder, progress)


def check(transport: BackupTransport, backup: Backup, progress: Progress) -> None:
    """Raise unless a copy lists what is on record, and every file of it is what it was."""
    listed = as_recorded(backup)
    with fetched(transport, listed, listed.paths, progress) as paths:
        rows = {p: pq.read_metadata(path).num_rows for p, path in paths.items()}
    if any(rows[f.path] != f.rows for s in listed.segments for f in s.files):
        raise PalimpsestError(
            Code.SEGMENT_DAMAGED,
            f'files of the backup "{backup.name}" lack rows',
            advice="take another backup",
        )


def fetch(
    backup: Backup, wanted: Collection[str], target: Path, progress: Progress
) -> dict[str, Path]:
    """Bring some files of a copy into a folder of this machine; where they lie, by their paths.

    Raises SEGMENT_DAMAGED where a file is not what it was.
    """
    assert backup.place is not None
    folder = Folder(backup.place)
    paths: dict[str, Path] = {}
    for number, path in enumerate(sorted(wanted)):
        progress("fetch", number, len(wanted))
        paths[path] = target / f"part_{number}.parquet"
        folder.fetch(path, paths[path])
    for file in (f for s in backup.segments for f in s.files if f.path in paths):
        _check(folder, file, paths[file.path])
    return paths


def list_rewritten_files(
    transport: BackupTransport,
    backup: Backup,
    table: Table,
    moved: Mapping[str, tuple[Segment, SegmentFile] | None],
) -> None:
    """List files that a purge has written anew in the places of a copy's; ``tidy`` removes those.

    ``moved`` tells what became of files, by their paths there; None: nothing is left of one.
    """
    assert backup.place is not None
    folder = Folder(backup.place)
    backup, _ = read(backup.place)
    changed: dict[str, SegmentFile | None] = {}
    fresh: dict[str, str] = {}
    for old, new in moved.items():
        changed[old] = None
        if new is not None:
            name = f"{PurePosixPath(old).parent}/part_{uuid.uuid4().hex}.parquet"
            with transport.file(*new) as (path, found):
                folder.put(path, name)
                changed[old] = replace(found, path=name)
            fresh[new[1].path] = name
    segments = tuple(
        s for s in (backups.follow_replacements(s, changed) for s in backup.segments) if s.files
    )
    filters = put_filters(transport, folder, fresh, replace(backup, segments=segments))
    write_manifest(folder, replace(backup, segments=segments, filters=filters), table)


def tidy(journal: OpenJournal, backup: Backup) -> bool:
    """Remove what a copy does not list, and record what it does; False if there is no copy (more).

    What was killed is finished by this, or undone. Raises FILE_ACCESS if a whole copy is not there.
    """
    listed = read_copy(backup)
    if listed is None:
        remove(journal, backup)
        return False
    folder = Folder(listed.place or "")
    found = replace(backup, segments=listed.segments, is_whole=True)
    folder.abandon_uploads()
    for name in set(folder.names()) - found.paths - {MANIFEST, listed.filters}:
        folder.remove(name)
    if found != backup:
        _record(journal, found)
    return True


def remove(journal: OpenJournal, backup: Backup, *, gives_up: bool = False) -> None:
    """Remove a copy and forget it: the list first, so that no half of it is taken for a whole.

    Raises FILE_ACCESS if a whole copy is not there, unless who calls ``gives_up`` such a one.
    """
    assert backup.place is not None
    folder = Folder(backup.place)
    if backup.is_whole:
        if not gives_up and folder.read(MANIFEST) is None:
            raise _copy_missing(backup)
        _record(journal, replace(backup, is_whole=False))
    folder.remove(MANIFEST)
    folder.abandon_uploads()
    for name in folder.names():
        folder.remove(name)
    with journal.exclusive_session() as session:
        rows_of.drop_backup(session, backup.table_id, backup.name)
        session.commit()


def put_filters(
    transport: BackupTransport, folder: Folder, names: Mapping[str, str], rest: Backup | None = None
) -> str | None:
    """Put the filters of files by their names in a copy; the file they are in, None without any.

    Of the filters that ``rest`` has already, those of the files it lists are put as well.
    """
    found = transport.filters(names)
    if not found and (rest is None or rest.filters is None):
        return None
    if rest is not None:
        found |= {p: f for p, f in copied_filters.read(rest).items() if p in rest.paths}
    return copied_filters.put(folder, found, uuid.uuid4().hex)


def write_manifest(folder: Folder, backup: Backup, table: Table) -> None:
    """List what a copy consists of, in the place of what it listed before; from then on it does."""
    listed = {
        "format": _FORMAT,
        "name": backup.name,
        "table": change_to_json(PutRelation(table)),
        "version": backup.version,
        "segments": [s.to_json() for s in backup.segments],
        "made_by": backup.made_by,
        "made_at": backup.made_at.astimezone(UTC).isoformat(),
        "is_archive": backup.is_archive,
        "store": backup.of_store,
        "filters": backup.filters,
        "definition": backup.definition,
    }
    if backup.sources is not None:
        listed["sources"] = {n: s for n, s in backup.sources.items() if n in backup.paths}
    with scratch() as here:
        draft = here / MANIFEST
        draft.write_text(json.dumps(listed))
        folder.put(draft, MANIFEST)


def _check(folder: Folder, file: SegmentFile, path: Path) -> None:
    if path.stat().st_size != file.bytes or checksum(path) != file.checksum:
        raise PalimpsestError(
            Code.SEGMENT_DAMAGED,
            f"{folder}/{file.path} differs from what was copied there",
            advice="take another backup",
        )


def _copy_missing(backup: Backup) -> PalimpsestError:
    return PalimpsestError(
        Code.FILE_ACCESS,
        f'the backup "{backup.name}" is not in {backup.place}, where all of it was',
        advice="bring its folder back, or mount it; or give the backup up with drop => true",
    )


def _unusable(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.BACKUP, message, advice=advice)
