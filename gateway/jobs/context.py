"""What a run of a job gets, and what a kind of job consists of. Values; does no work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.jobs.arguments import Arguments
from gateway.jobs.engines import workers_of
from gateway.procedures.procedures import embedded
from journal.model.effective_policy import effective_policy
from journal.model.lazy_dataclass import dataclass
from journal.model.policy import Policy
from journal.model.schema import CatalogSnapshot, Table
from journal.model.version import from_datetime, to_datetime
from journal.records.report import JobReport
from journal.transactions.reading import committed_state
from spark_compaction.contract import GRACE_US, Engine, JobRequest, Progress, Watching, unwatched

if TYPE_CHECKING:
    from gateway.session.session import Session
    from journal.stores.embedded.journal import Journal
    from spark_compaction.maintenance import Maintenance


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a run on one table receives.

    - ``session``: the caller's session; ``table``: the definition of the table.
    - ``options``: the arguments of the job; ``text``, ``number`` and ``flag`` read them.
    - ``job_id``: the id of the run in ``system.jobs``.
    - ``dry_run``: plan and report, and write nothing.
    - ``engine``: makes the engine that runs units.
    - ``progress``: reports how far the run is, and raises CANCELLED once somebody stops the run;
      ``log``: adds a line to its log.
    - ``now``: the moment at which policies apply; None: the clock's.
    - ``watching``: gives a block in which whoever stops the run interrupts a session of the store.
    """

    session: Session
    table: Table
    options: Mapping[str, Any]
    job_id: str
    dry_run: bool
    engine: Callable[[], Engine]
    progress: Progress
    log: Callable[[str], None]
    now: datetime | None = None
    watching: Watching = unwatched

    @property
    def journal(self) -> Journal:
        """The journals of the warehouse."""
        return embedded(self.session, "a job")

    @property
    def maintenance(self) -> Maintenance:
        """What maintains the journals of the session's store."""
        return self.session.executor.maintenance

    @property
    def moment(self) -> datetime:
        """The moment policies are applied at."""
        return self.now or to_datetime(self.session.journal.clock.time_of_day())

    @property
    def policy(self) -> Policy:
        """The table's policy: its own, and that of wider scopes."""
        return effective_policy(committed_state(self.session.journal).catalog, self.table)

    def grace_us(self, usual: int) -> int:
        """Microseconds for which replaced segments stay: by the BACKUP policy, else ``usual``."""
        backup = self.policy.backup
        if backup is None:
            return usual
        return max(0, from_datetime(backup.after(self.moment)) - from_datetime(self.moment))

    def request(self) -> JobRequest:
        """The request that the store's programs receive."""
        grace_us, session = self.grace_us(GRACE_US), self.session
        workers = workers_of(session.settings, session.engine)
        return JobRequest(
            *(self.table, self.job_id, self.dry_run, grace_us, self.progress, workers),
            watching=self.watching,
        )

    @property
    def given(self) -> Arguments:
        """What the job was given, to be read."""
        return Arguments(self.options)

    def text(self, name: str) -> str | None:
        """An option as text; None if it was not given."""
        return self.given.text(name)

    def number(self, name: str) -> int | None:
        """An option as a whole number of at least 1; raises SETTING_VALUE for others."""
        return self.given.number(name)

    def flag(self, name: str) -> bool:
        """An option that is on or off."""
        return self.given.flag(name)


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job, found by its name among ours or under the entry points ``palimpsest.jobs``.

    - ``about``: one line for people.
    - ``run``: runs it on any store; it raises NOT_SUPPORTED where the store lacks what it needs.
    - ``options``: the names of the arguments that it takes besides the table.
    - ``check``: raises for arguments that it cannot use, before any table's run begins.
    - ``concerns``: which tables a run over all tables takes; all where it is missing.
    - ``prepare``: makes what a run on a table needs before the table is looked up. It receives the
      session, the table's name as the caller gave it, the arguments, and True for a dry run.

    >>> def run(context: JobContext) -> JobReport:
    ...     return JobReport(context.job_id, "count", str(context.table.name), "nothing")
    >>> JobKind("count", "counts the rows of a table", run, options=("since",)).name
    'count'
    """

    name: str
    about: str
    run: Callable[[JobContext], JobReport]
    options: tuple[str, ...] = ()
    check: Callable[[Arguments], object] | None = None
    concerns: Callable[[CatalogSnapshot, Table, Arguments], bool] | None = None
    prepare: Callable[[Session, str, Arguments, bool], None] | None = None
