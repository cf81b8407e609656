"""What the target's session does for a replication: report its state, take a package.

The package comes as text, since the target may be open in another process, which reads the files
by itself. It holds what suppressions are hashed with, and is neither logged nor recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.jobs.engines import workers_of
from gateway.session.operations import Advance, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.system_user import system_user
from journal.records.replicas import ReplicaRole, ReplicaRow, load_replicas
from spark_compaction.maintenance import required
from spark_compaction.programs.replica_package import Reception, ReplicaPackage, ReplicaResult
from spark_compaction.programs.replica_receiving import lacking_pieces, receive

if TYPE_CHECKING:
    from gateway.session.session import Session


@dataclass(frozen=True, slots=True)
class CopyLimits:
    """How files are copied: so many at once, so many bytes a second together."""

    parallel: int = 4
    bandwidth: int | None = None


@operation
def known_replica(
    session: Session, _advance: Advance, store: str, table_id: int
) -> ReplicaRow | None:
    """The replica here of a table of another store; None if there is none."""
    _check_may_replicate(session)
    required(session.executor.maintenance.replicas, "replicas", session.journal.place)
    with session.journal.reading_session() as records:
        found = load_replicas(records)
    of_source = (ReplicaRole.REPLICA, store, table_id)
    return next((r for r in found if (r.role, r.other_store, r.other_table) == of_source), None)


@operation
def lacking_names(session: Session, _advance: Advance, package: str) -> tuple[str, ...]:
    """The pieces of a package that a replica here lacks; see ``lacking_pieces``."""
    _check_may_replicate(session)
    store = required(session.executor.maintenance.replicas, "replicas", session.journal.place)
    return lacking_pieces(store, ReplicaPackage.from_json(package))


@operation
def take_replica(
    session: Session,
    advance: Advance,
    package: str,
    job_id: str,
    limits: CopyLimits,
    *,
    dry_run: bool,
) -> ReplicaResult:
    """Make a replica what a package says; see ``replica_receiving.receive``."""
    _check_may_replicate(session)
    store = required(session.executor.maintenance.replicas, "replicas", session.journal.place)
    given = Reception(
        by=session.recorded_user or system_user(),
        job_id=job_id,
        workers=workers_of(session.settings, session.engine),
        progress=advance,
        parallel=limits.parallel,
        bandwidth=limits.bandwidth,
        dry_run=dry_run,
    )
    return receive(store, ReplicaPackage.from_json(package), given)


def _check_may_replicate(session: Session) -> None:
    if session.settings.role is not None:
        raise PalimpsestError(
            Code.PRIVILEGE,
            "permission denied to write replicas",
            advice="who runs the store replicates into it",
        )
