"""What one run of a job is given, and what makes a kind of job. Values; no work is done here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.jobs.arguments import Arguments
from gateway.procedures.procedures import database, embedded, hive
from journal.model.errors import Code, PalimpsestError
from journal.model.policy import Policy, policy_of
from journal.model.schema import Table
from journal.model.version import from_datetime, to_datetime
from journal.records.report import JobReport
from journal.stores.embedded.journal import Journal
from journal.transactions.protocol import OpenJournal
from spark_compaction.contract import GRACE_US, Engine, JobRequest, Progress

if TYPE_CHECKING:
    from gateway.session.session import Session
    from journal.stores.postgres.journal import DatabaseJournal


@dataclass(frozen=True, slots=True)
class JobContext:
    """One run on one table. ``now`` is the moment policies are applied at; None: the clock's."""

    session: Session
    table: Table
    options: Mapping[str, Any]
    job_id: str
    dry_run: bool
    engine: Callable[[], Engine]
    progress: Progress
    log: Callable[[str], None]
    now: datetime | None = None

    @property
    def journal(self) -> Journal:
        """The journals of the warehouse."""
        return embedded(self.session, "a job")

    @property
    def database(self) -> DatabaseJournal:
        """The journals of the database."""
        return database(self.session)

    @property
    def moment(self) -> datetime:
        """The moment policies are applied at."""
        return self.now or to_datetime(self.session.journal.clock.now())

    @property
    def policy(self) -> Policy:
        """The table's policy."""
        return policy_of(self.table)

    def grace_us(self, usual: int) -> int:
        """How long what is replaced stays: the table's BACKUP policy, else as usual."""
        backup = self.policy.backup
        if backup is None:
            return usual
        return max(0, from_datetime(backup.after(self.moment)) - from_datetime(self.moment))

    def request(self) -> JobRequest:
        """What a job on a server is asked for."""
        grace_us = self.grace_us(GRACE_US)
        return JobRequest(self.table, self.job_id, self.dry_run, grace_us, self.progress)

    @property
    def given(self) -> Arguments:
        """What the job was given, to be read."""
        return Arguments(self.options)

    def text(self, name: str) -> str | None:
        """An option as text."""
        return self.given.text(name)

    def number(self, name: str) -> int | None:
        """An option as a whole number of at least 1; raises SETTING_VALUE for others."""
        return self.given.number(name)

    def flag(self, name: str) -> bool:
        """An option that is on or off."""
        return self.given.flag(name)


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job: found by its name, among ours or under the entry points ``palimpsest.jobs``.

    ``options`` names the arguments it takes besides the table, and ``check`` raises for values that
    it cannot use: before any table's run begins. ``run`` is for embedded warehouses,
    ``on_database`` for databases, whose rows only their server can work on, ``on_hive`` for Spark
    behind a Thrift server.
    """

    name: str
    about: str
    run: Callable[[JobContext], JobReport]
    options: tuple[str, ...] = ()
    on_database: Callable[[JobContext], JobReport] | None = None
    on_hive: Callable[[JobContext], JobReport] | None = None
    check: Callable[[Arguments], object] | None = None

    def on(self, journal: OpenJournal) -> Callable[[JobContext], JobReport]:
        """What runs it on these journals; raises NOT_SUPPORTED where nothing does."""
        if isinstance(journal, Journal):
            return self.run
        on_server = self.on_database if hive(journal) is None else self.on_hive
        if on_server is None:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"the job {self.name} needs an embedded warehouse, this store is {journal.place}",
                advice="docs/postgresql.md and docs/hive.md say which jobs a server has",
            )
        return on_server
