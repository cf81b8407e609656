"""A table of a store as a package for replicas; reads records, and writes nothing.

Who calls keeps the pieces: a backup lists them for as long as they are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from journal.erasure.holds import key_of_hashes
from journal.identity.key_ring import parted
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import PutRelation
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records import backups, erasure_rows
from journal.records import catalog as records
from journal.records import maintenance as rows_of
from journal.records.backups import Backup
from journal.records.catalog_format import get_meta
from journal.records.schema import HOLDS, SUPPRESSIONS, TRANSACTIONS
from spark_compaction.programs.replica_package import ReplicaPackage

_TABLES = TRANSACTIONS.names.index("tables")
_KIND, _SUBJECT = SUPPRESSIONS.names.index("kind"), HOLDS.names.index("subject_value")
_OF_SUPPRESSION = SUPPRESSIONS.names.index("table_id")
_OF_HOLD, _RELEASED = HOLDS.names.index("table_id"), HOLDS.names.index("released_at")


def recorded_backup(session: RecordSession, listing: Backup) -> Backup:
    """A backup as it is on record, with what an erasure has made of its pieces.

    Raises JOB_BUSY if it is not there any more.
    """
    kept = [b for b in backups.load(session, listing.table_id) if b.name == listing.name]
    if not kept:
        raise gone_meanwhile(listing)
    return kept[0]


def gone_meanwhile(listing: Backup) -> PalimpsestError:
    """The error for a table that went between its listing and its package."""
    return PalimpsestError(
        Code.JOB_BUSY,
        f"{listing.table_name} was dropped, or an erasure left nothing of it meanwhile",
        advice="run it again if the table is still there",
    )


def _kept_keys(
    suppressions: Iterable[tuple[Any, ...]], holds: Iterable[tuple[Any, ...]]
) -> list[str]:
    """The ids of the keys of other stores that rows are hashed with."""
    found = {parted(row[_KIND])[1] for row in suppressions}
    found |= {key_of_hashes(row[_SUBJECT] or "") for row in holds}
    return sorted(key for key in found if key is not None)


def read_records(
    session: RecordSession,
    backup: Backup,
    manifest: Manifest,
    secret_of: Callable[[str | None], str],
    read_version: Version,
    since: Version,
) -> ReplicaPackage:
    """The package of what a backup lists, with the commits after ``since``.

    ``secret_of`` gives the store's secret, and those that it has kept, by id. ``read_version`` is
    the present. The session sees one moment in which nobody commits. The package says of no file
    where it lies, and of no generated number how it goes on.
    """
    table_id = backup.table_id
    mine = {None, table_id}
    suppressions = tuple(
        row for row in erasure_rows.load_suppressions(session) if row[_OF_SUPPRESSION] in mine
    )
    holds = tuple(
        row for row in rows_of.holds(session) if row[_OF_HOLD] in mine and row[_RELEASED] is None
    )
    definitions = tuple(
        (version, change.relation)
        for version, change in records.load_changes(session)
        if isinstance(change, PutRelation)
        and isinstance(change.relation, Table)
        and change.relation.id == table_id
    )
    names = {str(t.name) for _, t in definitions}
    last = erasure_rows.last_audit(session)
    return ReplicaPackage(
        store=get_meta(session, "id") or "",
        root="",
        place="",
        version=backup.version,
        read_version=read_version,
        definitions=definitions,
        segments=backup.segments,
        masks=manifest.masks,
        floor=manifest.floor,
        counters=(),
        transactions=tuple(
            row
            for row in records.commits_after(session, since)
            if row[0] <= backup.version and names.intersection(row[_TABLES] or ())
        ),
        suppressions=suppressions,
        holds=holds,
        secret=secret_of(None),
        kept_secrets=tuple(map(secret_of, _kept_keys(suppressions, holds))),
        ledger="" if last is None else last.hash,
    )
