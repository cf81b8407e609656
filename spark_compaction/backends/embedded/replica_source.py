"""A table of a warehouse as a package for replicas; reads, and writes nothing.

Who calls keeps the segments: a backup lists them for as long as files are copied.
"""

from __future__ import annotations

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import PutRelation
from journal.model.schema import Table
from journal.model.version import Version
from journal.records import backups, erasure_rows
from journal.records import catalog as records
from journal.records import maintenance as rows_of
from journal.records.backups import Backup
from journal.records.catalog_format import get_meta
from journal.records.schema import HOLDS, SUPPRESSIONS, TRANSACTIONS
from journal.stores.embedded.journal import Journal
from spark_compaction.programs.replica_package import ReplicaPackage

_TABLES = TRANSACTIONS.names.index("tables")
_OF_SUPPRESSION = SUPPRESSIONS.names.index("table_id")
_OF_HOLD, _RELEASED = HOLDS.names.index("table_id"), HOLDS.names.index("released_at")


def store_id(journal: Journal) -> str:
    """What no other warehouse is called."""
    with journal.reading_session() as session:
        return get_meta(session, "id") or ""


def read_package(
    journal: Journal, listing: Backup, is_recorded: bool, since: Version
) -> ReplicaPackage:
    """The package of what a backup lists, with the commits after ``since``.

    All of it is read while nobody commits; what an erasure has made of the segments of one that
    ``is_recorded`` is in it.
    """
    table_id = listing.table_id
    secret = journal.make_secret()
    with journal.exclusive_session() as session:
        state = journal.state.tables.get(table_id)
        kept = [b for b in backups.load(session, table_id) if b.name == listing.name]
        kept = kept if is_recorded else [listing]
        if state is None or not kept:
            raise PalimpsestError(
                Code.JOB_BUSY,
                f"{listing.table_name} was dropped, or an erasure left nothing of it meanwhile",
                advice="run it again if the table is still there",
            )
        (backup,) = kept
        manifest = state.manifest
        definitions = tuple(
            (version, change.relation)
            for version, change in records.load_changes(session)
            if isinstance(change, PutRelation)
            and isinstance(change.relation, Table)
            and change.relation.id == table_id
        )
        names = {str(t.name) for _, t in definitions}
        last = erasure_rows.last_audit(session)
        commits = records.commits_after(session, since)
        mine = {None, table_id}
        return ReplicaPackage(
            store=get_meta(session, "id") or "",
            root=str(journal.root.resolve()),
            place=str(journal.root.resolve()),
            version=backup.version,
            read_version=journal.clock.now(),
            definitions=definitions,
            segments=backup.segments,
            masks=manifest.masks,
            floor=manifest.floor,
            counters=tuple(journal.counters.following(table_id).items()),
            transactions=tuple(
                row
                for row in commits
                if row[0] <= backup.version and names.intersection(row[_TABLES] or ())
            ),
            suppressions=tuple(
                row
                for row in erasure_rows.load_suppressions(session)
                if row[_OF_SUPPRESSION] in mine
            ),
            holds=tuple(
                row
                for row in rows_of.holds(session)
                if row[_OF_HOLD] in mine and row[_RELEASED] is None
            ),
            secret=secret,
            ledger="" if last is None else last.hash,
        )
