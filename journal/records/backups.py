"""Backups: what a table's journal consisted of at a moment, as a list of its segments.

The segments themselves are the live ones and the retired ones, so a backup costs no copy. One that
was named, or is the trash of a restore, keeps its files from being removed until it expires; those
that jobs leave behind (kind ``auto``) last as long as the retired segments they name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.segment import Segment, SegmentFile, known_size
from journal.model.spelling import spelling_hint
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records import maintenance as rows_of

if TYPE_CHECKING:
    from journal.model.schema import Table
    from journal.transactions.state import TableState


class BackupKind(StrEnum):
    """Who made a backup: somebody who named it, a job, a restore, or a retention that archives.

    A ``COPY`` lies elsewhere, and lists its files by their names there.
    """

    NAMED = "named"
    AUTO = "auto"
    TRASH = "trash"
    ARCHIVE = "archive"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Backup:
    """The segments of one table at one version; ``place`` is where a copy lies.

    Of an archive only rows that are missing are restored. ``filters`` is the file with the filters
    of a copy, and ``of_store`` the kind of store that it is of, as they were read there. So are
    ``sources`` of a copy that follows its table: the pieces that its files were made of, by file;
    and ``definition``, the statements that make such a table.
    ``is_whole`` is recorded of a copy once all of it is there: if it is not found then, it is out
    of reach, and no half that was killed.
    """

    name: str
    kind: BackupKind
    table_id: int
    table_name: str
    version: Version
    segments: tuple[Segment, ...]
    made_by: str | None
    made_at: datetime
    expires_at: datetime | None
    place: str | None = None
    is_archive: bool = False
    filters: str | None = None
    of_store: str = "warehouse"
    is_whole: bool = False
    sources: Mapping[str, str] | None = None
    definition: tuple[str, ...] = ()

    @property
    def listing(self) -> str:
        """Its segments as they are recorded."""
        segments = [s.to_json() for s in self.segments]
        if self.place is None:
            return json.dumps(segments)
        return json.dumps(
            {
                "place": self.place,
                "is_archive": self.is_archive,
                "is_whole": self.is_whole,
                "segments": segments,
            }
        )

    @property
    def rows(self) -> int:
        """Journal rows in it."""
        return sum(s.counts.total for s in self.segments)

    @property
    def bytes(self) -> int | None:
        """Size of its files; None where that is not known."""
        return known_size(self.segments)

    @property
    def paths(self) -> frozenset[str]:
        """Its files."""
        return frozenset(f.path for s in self.segments for f in s.files)

    @property
    def is_pinned(self) -> bool:
        """True if its files stay for its sake."""
        return self.kind not in {BackupKind.AUTO, BackupKind.COPY}

    def is_over(self, now: datetime) -> bool:
        """True if it has expired by then."""
        return self.expires_at is not None and self.expires_at <= now

    def renamed(self, names: Mapping[str, str]) -> Backup:
        """The backup of those of its files that ``names`` lists, under their names there."""
        segments = []
        for segment in self.segments:
            listed = [f for f in segment.files if f.path in names]
            if listed:
                files = tuple(replace(f, path=names[f.path]) for f in listed)
                segments.append(replace(segment, files=files))
        return replace(self, segments=tuple(segments))


def copying(job_id: str) -> str:
    """What a backup is called that is kept while a job copies it."""
    return f"copying-{job_id}"


def reading(job_id: str) -> str:
    """What a backup is called that is kept while a job restores it."""
    return f"reading-{job_id}"


def held_by(job_id: str) -> tuple[str, ...]:
    """The backups that are kept for a run, and no longer."""
    return copying(job_id), reading(job_id)


@dataclass(frozen=True, slots=True)
class Naming:
    """What a backup is called, what for, who made it, and when it is forgotten."""

    name: str
    kind: BackupKind
    made_by: str | None
    made_at: datetime
    expires_at: datetime | None = None

    def backup(self, table: Table, segments: tuple[Segment, ...], version: Version) -> Backup:
        """What is recorded of a table that consists of these segments."""
        return Backup(
            name=self.name,
            kind=self.kind,
            table_id=table.id,
            table_name=str(table.name),
            version=version,
            segments=segments,
            made_by=self.made_by,
            made_at=self.made_at,
            expires_at=self.expires_at,
            is_archive=self.kind is BackupKind.ARCHIVE,
        )


def archived_by(job_id: str, by: str | None, made_at: datetime) -> Naming:
    """What the rows are called that a retention keeps in a store whose rows a server reads."""
    return Naming(f"archived-{job_id}", BackupKind.ARCHIVE, by, made_at)


def left_by(kind: str, job_id: str, by: str | None, made_at: datetime) -> Naming:
    """What the backup is called that a job leaves of what it removes rows from."""
    return Naming(f"{kind}-{job_id}", BackupKind.AUTO, by, made_at)


def segments_at(state: TableState, settled: Version) -> tuple[Segment, ...] | None:
    """The segments that make up a table at a version up to which no row is left in a head.

    None if one holds rows from before that version and from after it.
    """
    found = tuple(s for s in state.manifest.segments if s.min_version <= settled)
    return found if all(s.max_version <= settled for s in found) else None


def add(session: RecordSession, backup: Backup) -> None:
    """Record a backup in the session's transaction; a taken name is refused."""
    if any(b.name == backup.name for b in load(session, backup.table_id)):
        raise name_taken(backup.table_name, backup.name)
    rows_of.add_backup(
        session,
        [
            *(backup.name, backup.kind.value, backup.table_id, backup.table_name, backup.version),
            *(backup.rows, backup.bytes, backup.listing, backup.made_by, backup.made_at),
            backup.expires_at,
        ],
    )


def add_once(session: RecordSession, backup: Backup) -> None:
    """Record a backup, unless its table has one of that name: the commit may be tried again."""
    if all(b.name != backup.name for b in load(session, backup.table_id)):
        add(session, backup)


def name_taken(table: str, name: str) -> PalimpsestError:
    """What is said of a name that another backup of the table has."""
    return PalimpsestError(
        Code.BACKUP,
        f'{table} has a backup "{name}" already',
        advice="give another name; SELECT * FROM system.backups lists them",
    )


def load(session: RecordSession, table_id: int | None = None) -> list[Backup]:
    """The backups of a table or of all, oldest first."""
    found = [_read(row) for row in rows_of.backups(session)]
    return [b for b in found if table_id in {None, b.table_id}]


def backups_in_store(session: RecordSession, table_id: int) -> list[Backup]:
    """Those whose pieces are in the store, and no copies."""
    return [b for b in load(session, table_id) if b.place is None]


def archives(session: RecordSession, table_id: int) -> list[Backup]:
    """The archives of a table whose pieces are in the store."""
    return [b for b in backups_in_store(session, table_id) if b.kind is BackupKind.ARCHIVE]


def drop(session: RecordSession, table_id: int, names: Iterable[str]) -> None:
    """Forget backups of a table, in the session's transaction."""
    for name in names:
        rows_of.drop_backup(session, table_id, name)


def listed_paths(found: Iterable[Backup]) -> frozenset[str]:
    """The pieces that backups list."""
    return frozenset(path for b in found for path in b.paths)


def _read(row: tuple[Any, ...]) -> Backup:
    values = dict(zip(rows_of.BACKUP_COLUMNS, row, strict=True))
    listed = json.loads(values["segments"])
    copied = listed if isinstance(listed, dict) else {"segments": listed}
    return Backup(
        values["name"],
        BackupKind(values["kind"]),
        values["table_id"],
        values["table_name"],
        values["version"],
        tuple(Segment.from_json(s) for s in copied["segments"]),
        values["made_by"],
        values["made_at"],
        values["expires_at"],
        copied.get("place"),
        copied.get("is_archive", values["kind"] == BackupKind.ARCHIVE),
        # Of copies that were recorded before this was: they may be whole.
        is_whole=copied.get("is_whole", True),
    )


def pinned_paths(session: RecordSession, but: frozenset[str] = frozenset()) -> set[str]:
    """Files that stay for the sake of a backup, ``but`` those of some names."""
    return set(listed_paths(b for b in load(session) if b.is_pinned and b.name not in but))


def expire(
    session: RecordSession, table_id: int, now: datetime, keep: int | None = None
) -> list[Backup]:
    """Forget a table's backups past their time, and all but the ``keep`` latest named ones.

    Copies are left: they must be removed where they lie before they are forgotten.
    """
    found = [b for b in load(session, table_id) if b.kind is not BackupKind.COPY]
    gone = [b for b in found if b.is_over(now)]
    if keep is not None:
        named = [b for b in found if b.kind is BackupKind.NAMED]
        gone += [b for b in named[: max(0, len(named) - keep)] if b not in gone]
    drop(session, table_id, [b.name for b in gone])
    return gone


def forget_without(session: RecordSession, table_id: int, paths: Collection[str]) -> None:
    """Forget the backups of jobs that list a file which goes now."""
    found = load(session, table_id) if paths else []
    gone = [b for b in found if b.kind is BackupKind.AUTO and not b.paths.isdisjoint(paths)]
    drop(session, table_id, [b.name for b in gone])


def last_known_good(found: Iterable[Backup], live: frozenset[str]) -> Backup | None:
    """The latest backup that holds rows and is not what is live now; trash and archives are not."""
    for backup in sorted(found, key=lambda b: (b.made_at, b.version), reverse=True):
        usual = backup.kind in {BackupKind.NAMED, BackupKind.AUTO}
        if usual and backup.rows and backup.paths != live:
            return backup
    return None


def merged(found: Sequence[Backup], naming: Naming, table: Table) -> Backup:
    """What several archives of a table hold together, as one; raises BACKUP if that is nothing."""
    segments = {s.id: s for b in found for s in b.segments}
    version = max((b.version for b in found), default=0)
    backup = naming.backup(table, tuple(segments.values()), version)
    return backup_named([backup], naming.name, str(table.name))


def backup_named(found: Iterable[Backup], name: str, table: str) -> Backup:
    """The backup of that name; one without rows is refused."""
    known = {b.name: b for b in found}
    backup = known.get(name)
    if backup is None:
        near, advice = spelling_hint(name, known), "SELECT * FROM system.backups lists the backups"
        raise PalimpsestError(Code.BACKUP, f'{table} has no backup "{name}"', advice=near + advice)
    if not backup.rows and backup.is_archive:
        raise PalimpsestError(
            Code.BACKUP,
            f"no rows of {table} are archived",
            advice="retention archives rows where the policy says ACTION = ARCHIVE",
        )
    if not backup.rows:
        raise PalimpsestError(
            Code.BACKUP,
            f'the backup "{name}" of {table} is empty',
            advice="name another one; TRUNCATE removes every row",
        )
    return backup


def check_rows(backup: Backup, piece: str, rows: int, listed: int) -> None:
    """Raise SEGMENT_DAMAGED if a piece of a backup has other than the ``listed`` number of rows."""
    if rows != listed:
        raise PalimpsestError(
            Code.SEGMENT_DAMAGED,
            f'the backup "{backup.name}" of {backup.table_name} is not whole: {rows} rows in'
            f" {piece}, which had {listed}",
            advice="restore another backup; SELECT * FROM system.backups lists them",
        )


def follow(session: RecordSession, moved: Mapping[str, SegmentFile | None]) -> int:
    """Let backups list what an erasure has put in the places of files; how many changed.

    A file given as None is gone. A backup that is left without any is forgotten.
    """
    changed = 0
    for backup in load(session) if moved else ():
        if backup.kind is BackupKind.COPY or not backup.paths & moved.keys():
            continue
        changed += 1
        segments = tuple(
            s for s in (follow_replacements(s, moved) for s in backup.segments) if s.files
        )
        if segments:
            text = replace(backup, segments=segments).listing
            rows_of.put_backup_segments(session, backup.table_id, backup.name, text)
        else:
            rows_of.drop_backup(session, backup.table_id, backup.name)
    return changed


def follow_replacements(segment: Segment, moved: Mapping[str, SegmentFile | None]) -> Segment:
    """A segment with the files that an erasure has put in the places of others."""
    found = [moved.get(f.path, f) for f in segment.files]
    files = tuple(f for f in found if f is not None)
    gone = sum(f.rows for f in segment.files) - sum(f.rows for f in files)
    # Which kinds of rows went is not known any more; the total is.
    counts = replace(segment.counts, open=max(0, segment.counts.open - gone))
    return replace(segment, files=files, counts=counts)
