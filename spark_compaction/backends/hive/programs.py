"""What maintains the journals behind a Hive server: the server, or an application on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from journal.model.schema import TableName
from journal.stores.hive.adopt import adoption
from journal.stores.hive.adopt.ejection import eject
from journal.stores.hive.inlining import flush_all
from journal.stores.hive.journal import HiveJournal
from journal.transactions.transaction_rows import Author
from spark_compaction import set_based
from spark_compaction.backends.hive.application import running_in
from spark_compaction.backends.hive.backups import HiveBackups, overdue
from spark_compaction.backends.hive.erasure import HiveErasure
from spark_compaction.backends.hive.maintenance import HiveBackend
from spark_compaction.backends.hive.replica_source import piece_files, read_package
from spark_compaction.backends.hive.replicas import HiveReplicas
from spark_compaction.contract import Workers
from spark_compaction.maintenance import AdoptionRequest, Maintenance


def maintenance(journal: HiveJournal) -> Maintenance:
    """The programs of a Hive store."""
    backend = partial(HiveBackend, journal)
    return Maintenance(
        compact=partial(set_based.compact, backend),
        retain=partial(set_based.retain, backend),
        backups=partial(HiveBackups, journal),
        overdue=partial(overdue, journal),
        erasure=partial(_erasure, journal),
        adopt=partial(_adopt, journal),
        eject=partial(_eject, journal),
        replica_source=partial(read_package, journal),
        replica_pieces=partial(piece_files, journal),
        replicas=HiveReplicas(journal),
        server_jobs=partial(_statements, journal),
        purge_engine=partial(_statements, journal),
    )


def _erasure(journal: HiveJournal) -> HiveErasure:
    """What searches and removes rows, which are in partitions from the beginning.

    Whatever is decided is decided on tables that are flushed once more, under their leases.
    """
    flush_all(journal)
    return HiveErasure(journal)


@contextmanager
def _statements(journal: HiveJournal, workers: Workers) -> Iterator[None]:
    application = workers.application()
    if application is None:
        yield
        return
    with running_in(application, journal):
        yield


def _adopt(journal: HiveJournal, asked: AdoptionRequest) -> list[str]:
    wanted = adoption.HiveAdoption(asked.name, asked.key, asked.format, asked.folder)
    if not asked.run:
        return list(adoption.plan_only(journal, wanted).steps)
    return list(adoption.adopt(journal, wanted, asked.author).steps)


def _eject(journal: HiveJournal, name: TableName, by: Author, run: bool) -> list[str]:
    return eject(journal, name, by, run=run)
