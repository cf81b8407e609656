"""Where a table is replicated to: the clauses of its policy, profiles by name, and open targets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from gateway.config import Settings
from gateway.governance.entity import Entity, EntityKind
from gateway.opening.folder_urls import check_exists
from gateway.opening.schemes import SCHEMES, scheme_of
from gateway.opening.sessions import open_session
from gateway.opening.url_secrets import without_password
from gateway.packages import entry_points
from journal.model.effective_policy import effective_policy
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.places import shown_place
from journal.model.replication import Replication
from journal.records.entity_rows import entity_versions

if TYPE_CHECKING:
    from gateway.jobs.context import JobContext
    from gateway.session.client_session import ClientSession
    from gateway.session.session import Session
    from journal.model.schema import Table

_STORES = "palimpsest.stores"


@dataclass(frozen=True, slots=True)
class ReplicaPlace:
    """One target: its clause, its URL, and the profile that has the URL, if one was named."""

    clause: Replication
    url: str
    profile: str | None = None
    engine: str | None = None
    master: str | None = None

    @property
    def is_store(self) -> bool:
        """True for a store of a gateway; else it is a folder or a bucket with files."""
        scheme = self.url.partition("://")[0]
        return scheme in SCHEMES or any(e.name == scheme for e in entry_points(_STORES))

    @property
    def recorded_name(self) -> str:
        """The place as records name it, without logins."""
        return (
            scheme_of(self.url).recorded_name(self.url) if self.is_store else shown_place(self.url)
        )


def replica_places(session: Session, table: Table, to: str | None) -> list[ReplicaPlace]:
    """The targets of a table: the one named, with its clause if it has one, or all of its policy.

    Raises SETTING_VALUE where there is none, UNKNOWN_ENTITY for a profile that is not declared.
    """
    clauses = replication_of(session, table)
    if to is None and not clauses:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{table.name} has no policy REPLICATION, and no target was named",
            advice="give to=URL or a profile; or SET POLICY (REPLICATION = (TO 'profile', ..))",
        )
    if to is not None:
        known = next((c for c in clauses if c.target == to), None)
        return [replica_place(session, known or Replication(to))]
    return [replica_place(session, clause) for clause in clauses]


def replication_of(session: Session, table: Table) -> tuple[Replication, ...]:
    """The clauses of a table's policy: its own, or those of the nearest scope that has some."""
    return effective_policy(session.journal.state.catalog, table).replication


def replica_place(session: Session, clause: Replication) -> ReplicaPlace:
    """The target of a clause, in the window that clause and profile have in common."""
    target = clause.target
    if not clause.names_profile:
        if without_password(target) != target:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                "the gateway records where replicas are, and must not record a password",
                advice="leave it to ~/.pgpass, PGPASSWORD or the environment",
            )
        return ReplicaPlace(clause, target)
    with session.journal.reading_session() as records:
        versions = entity_versions(records, EntityKind.PROFILE.value, target)
    if not versions or versions[-1].ended_at is not None:
        raise PalimpsestError(
            Code.UNKNOWN_ENTITY,
            f"profile {target} does not exist",
            advice="`palimpsest entity submit` declares it; or name a URL",
        )
    fields = Entity(EntityKind.PROFILE, target, versions[-1].definition).fields
    start, end = (_moment(fields.get(name)) for name in ("start", "end"))
    return ReplicaPlace(
        clause.within(start, end),
        fields["url"],
        target,
        fields.get("engine"),
        fields.get("master"),
    )


@contextmanager
def open_target(context: JobContext, place: ReplicaPlace) -> Iterator[ClientSession]:
    """A session on the store of a target, which is made where there is none."""
    own = context.session.settings
    settings = Settings()
    for name, value in (
        ("job_engine", place.engine or own.job_engine),
        ("spark_master", place.master or own.spark_master),
    ):
        settings = settings.with_setting(name, value)
    opened = open_session(
        place.url,
        dialect="duckdb",
        autocommit=True,
        user=context.session.recorded_user,
        application="palimpsest replicate",
        settings=settings,
    )
    try:
        yield opened.session
    finally:
        opened.close()


def is_there(place: ReplicaPlace) -> bool:
    """False for a warehouse that would be made; True for any other store."""
    root = scheme_of(place.url)
    if root is not SCHEMES["palimpsest"]:
        return True
    try:
        check_exists(place.url)
    except PalimpsestError:
        return False
    return True


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
