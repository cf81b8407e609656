"""What maintains the journals of a database: its server, or Spark through a driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from journal.model.schema import Table, TableName
from journal.records.report import JobReport
from journal.stores.postgres.adopt import adoption, indexing
from journal.stores.postgres.adopt.ejection import eject
from journal.stores.postgres.journal import DatabaseJournal
from journal.transactions.transaction_rows import Author
from spark_compaction.backends.postgres import maintenance as jobs
from spark_compaction.backends.postgres.backups import DatabaseBackups, overdue
from spark_compaction.backends.postgres.erasure import DatabaseErasure
from spark_compaction.backends.postgres.replica_source import piece_files, read_package
from spark_compaction.backends.postgres.replicas import DatabaseReplicas
from spark_compaction.backends.postgres.spark_filling import by_server, by_spark
from spark_compaction.contract import Engine, JobRequest, Workers
from spark_compaction.maintenance import AdoptionRequest, Maintenance


def maintenance(journal: DatabaseJournal) -> Maintenance:
    """The programs of a database."""
    return Maintenance(
        compact=partial(_compact, journal),
        retain=partial(jobs.retain, journal),
        backups=partial(DatabaseBackups, journal),
        overdue=partial(overdue, journal),
        erasure=partial(DatabaseErasure, journal),
        adopt=partial(_adopt, journal),
        eject=partial(_eject, journal),
        index=partial(_index, journal),
        replica_source=partial(read_package, journal),
        replica_pieces=partial(piece_files, journal),
        replicas=DatabaseReplicas(journal),
        purge_engine=_purge_engine,
    )


def _compact(journal: DatabaseJournal, asked: JobRequest, mode: str) -> JobReport:
    engine = None if asked.workers is None else asked.workers.jdbc()
    fill = by_server if engine is None else by_spark(engine, asked.progress)
    return jobs.compact(journal, asked, mode, fill)


@contextmanager
def _purge_engine(workers: Workers) -> Iterator[Engine | None]:
    yield workers.jdbc()


def _adopt(journal: DatabaseJournal, asked: AdoptionRequest) -> list[str]:
    wanted = adoption.PostgresAdoption(
        *(asked.name, asked.key, asked.format, asked.stale_writes, asked.replace_view)
    )
    if not asked.run:
        return list(adoption.planned(journal, wanted).steps)
    return list(adoption.adopt(journal, wanted, asked.author).steps)


def _eject(journal: DatabaseJournal, name: TableName, by: Author, run: bool) -> list[str]:
    return eject(journal, name, by, run=run)


def _index(journal: DatabaseJournal, table: Table, make: bool) -> tuple[str, str] | None:
    found = indexing.index(journal, table, make=make)
    return None if found is None else (found.state, found.statement)
