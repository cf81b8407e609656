"""A table of a warehouse as a package for replicas; reads, and writes nothing."""

from __future__ import annotations

from dataclasses import replace

from journal.model.version import Version
from journal.records.backups import Backup
from journal.records.catalog_format import get_meta
from journal.stores.embedded.journal import Journal
from spark_compaction.programs.replica_package import ReplicaPackage
from spark_compaction.programs.replica_reading import (
    gone_meanwhile,
    read_records,
    recorded_backup,
)


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
    journal.make_secret()
    with journal.exclusive_session() as session:
        state = journal.state.tables.get(table_id)
        if state is None:
            raise gone_meanwhile(listing)
        backup = recorded_backup(session, listing) if is_recorded else listing
        now = journal.clock.now()
        package = read_records(session, backup, state.manifest, journal.read_secret, now, since)
        root = str(journal.root.resolve())
        counters = tuple(journal.counters.following(table_id).items())
        return replace(package, root=root, place=root, counters=counters)
