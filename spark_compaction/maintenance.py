"""What maintains the journals of one open store: a value that its backend makes.

A store's backend has one function from an open journal to a ``Maintenance``; the scheme of the
store's URL names it. The gateway imports it when the first job, hold or erasure needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.records.report import JobReport
from spark_compaction.contract import Engine, JobRequest, Workers

if TYPE_CHECKING:
    from journal.model.schema import JournalFormat, Table, TableName
    from journal.model.version import Version
    from journal.records.backups import Backup
    from journal.transactions.transaction_rows import Author
    from spark_compaction.erasure.backend import ErasureBackend
    from spark_compaction.programs.backup_store import BackupStore
    from spark_compaction.programs.replica_package import ReplicaPackage
    from spark_compaction.programs.replica_store import ReplicaStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AdoptionRequest:
    """Which table of others a store is to adopt, by whom, or only to say what that would do.

    ``folder`` holds its Parquet files, where no table of that name is there yet. ``stale_writes``:
    ``refuse`` or ``allow`` what others write to a classic journal and nobody could see.
    ``replace_view`` lets a view of a classic journal's table give way.
    """

    name: TableName
    key: tuple[str, ...]
    format: JournalFormat
    author: Author
    run: bool
    folder: str | None = None
    stale_writes: str = "refuse"
    replace_view: bool = False


def _no_worker(_workers: Workers) -> AbstractContextManager[Engine | None]:
    return nullcontext(None)


def _nothing_overdue() -> set[int]:
    return set()


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The programs of one store over its open journals; None where the store lacks them.

    - ``compact``: works changes in, by a mode; ``retain``: applies a policy at a moment, in
      somebody's name.
    - ``backups``: how a table's backups are kept; ``overdue``: the tables with retired pieces that
      may be dropped.
    - ``erasure``: what finds, hides and removes rows of people.
    - ``adopt``, ``eject``: take over a table of others, and give one back; both say what they do,
      step by step. ``index``: make an index that an adopted journal lacks, or only propose it; its
      state and its statement.
    - ``replica_source``: the package of what a backup lists, which is on record or only planned,
      with the commits after a version; ``replica_pieces``: a block in which pieces of some names
      are files, with a package that says where, copied so many bytes a second; None where they are
      files already. ``replicas``: how the store has replicas of tables of others.
    - ``server_jobs``: a block in which jobs of the store's server run where the workers say;
      ``purge_engine``: the same for purges, with the engine that writes rows, None if the server
      does.
    """

    compact: Callable[[JobRequest, str], JobReport] | None = None
    retain: Callable[[JobRequest, datetime, str | None], JobReport] | None = None
    backups: Callable[[Table], BackupStore] | None = None
    overdue: Callable[[], set[int]] = _nothing_overdue
    erasure: Callable[[], ErasureBackend] | None = None
    adopt: Callable[[AdoptionRequest], list[str]] | None = None
    eject: Callable[[TableName, Author, bool], list[str]] | None = None
    index: Callable[[Table, bool], tuple[str, str] | None] | None = None
    replica_source: Callable[[Backup, bool, Version], ReplicaPackage] | None = None
    replica_pieces: (
        Callable[
            [ReplicaPackage, Collection[str], int | None], AbstractContextManager[ReplicaPackage]
        ]
        | None
    ) = None
    replicas: ReplicaStore | None = None
    server_jobs: Callable[[Workers], AbstractContextManager[Engine | None]] = _no_worker
    purge_engine: Callable[[Workers], AbstractContextManager[Engine | None]] = _no_worker


def required(found: T | None, what: str, place: str, advice: str = "") -> T:
    """A program of a store; raises NOT_SUPPORTED where the store at ``place`` lacks it."""
    if found is None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"this store has no {what}: {place}",
            advice=advice or "docs/index.md says what each store can do",
        )
    return found
