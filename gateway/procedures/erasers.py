"""Who erases in a store: one set of verbs over embedded warehouses and databases.

What is asked, recorded and proved is the same; how rows are found and removed is the store's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gateway.jobs.engines import ENGINES
from gateway.procedures.procedures import hive
from journal.model.errors import Code, PalimpsestError
from journal.stores.embedded.journal import Journal

if TYPE_CHECKING:
    from gateway.session.session import Session
    from journal.erasure.erased import Erased
    from journal.erasure.erasure_spec import ErasureSpec
    from journal.erasure.requests import ErasureRequest
    from journal.erasure.seam import ErasureJournal
    from journal.records.report import Work
    from journal.stores.hive.journal import HiveJournal
    from journal.stores.postgres.journal import DatabaseJournal
    from spark_compaction.contract import Engine, Progress
    from spark_compaction.erasure.access import AccessSource
    from spark_compaction.erasure.held import HoldChange

    OpenEngine = Callable[[], AbstractContextManager[Engine]]


@dataclass(frozen=True, slots=True)
class Eraser:
    """What can be done about requests to erase.

    ``planned`` tells of a table, by its id, what a purge of some requests would find.
    ``change_holds`` places or releases a hold, given who does it; what it covers of open requests
    is seen from that commit on, and what no hold covers any more is not.

    ``accept`` and ``cancel`` are given who does it; ``purge`` is given what starts the engine that
    rewrites files, who, the ids of requests (None: all) and whom to tell how far it is. A store
    that purges ``at_once`` needs none.
    """

    journal: ErasureJournal
    accept: Callable[[ErasureSpec, str], ErasureRequest]
    dry_run: Callable[[ErasureSpec], ErasureRequest]
    cancel: Callable[[ErasureRequest, str], ErasureRequest]
    purge: Callable[[OpenEngine | None, str, Sequence[str] | None, Progress], Erased]
    sight: AccessSource
    planned: Callable[[int, Sequence[ErasureRequest]], Work]
    change_holds: Callable[[HoldChange, str], object]
    at_once: bool = False


def eraser_of(session: Session) -> Eraser:
    """Who erases in a session's store; raises NOT_SUPPORTED where nobody does."""
    if isinstance(session.journal, Journal):
        return _embedded(session, session.journal)
    from journal.stores.postgres.journal import DatabaseJournal

    if isinstance(session.journal, DatabaseJournal):
        return _in_database(session, session.journal)
    on_hive = hive(session.journal)
    if on_hive is not None:
        return _on_hive(session, on_hive)
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        f"this store cannot erase: {session.journal.place}",
        advice="docs/index.md says what each store can do",
    )


def _embedded(session: Session, journal: Journal) -> Eraser:
    """Files are hidden by masks, then written anew by an engine."""
    from gateway.procedures.erasing import ask_again
    from spark_compaction.erasure import acceptance, completion, key_files
    from spark_compaction.erasure.access import AccessSource
    from spark_compaction.erasure.erasing import erase, planned
    from spark_compaction.erasure.historical_schema import show_ever
    from spark_compaction.erasure.locate import keys_of

    def purge(
        engine: OpenEngine | None, by: str, only: Sequence[str] | None, progress: Progress
    ) -> Erased:
        assert engine is not None
        with engine() as chosen:
            again = partial(ask_again, session)
            return erase(journal, chosen, by, only=only, progress=progress, ask_again=again)

    return Eraser(
        journal,
        partial(acceptance.accept, journal),
        partial(acceptance.dry_run, journal),
        partial(completion.cancel, journal),
        purge,
        AccessSource(partial(keys_of, journal.root), partial(show_ever, journal), has_dropped=True),
        partial(planned, journal),
        lambda change, by: key_files.settle(journal, by, change=change),
    )


def _in_database(session: Session, journal: DatabaseJournal) -> Eraser:
    """The server writes its tables anew by itself, or Spark does through JDBC."""
    from gateway.procedures.erasing import ask_again
    from spark_compaction.backends.postgres import acceptance, key_tables
    from spark_compaction.backends.postgres.erasing import erase, planned
    from spark_compaction.erasure.access import AccessSource

    def purge(
        _engine: OpenEngine | None, by: str, only: Sequence[str] | None, progress: Progress
    ) -> Erased:
        settings, chosen = session.settings, None
        if settings.job_engine.lower() == "spark":
            chosen = ENGINES.jdbc(settings.spark_master)
        again = partial(ask_again, session)
        return erase(journal, by, only=only, progress=progress, engine=chosen, ask_again=again)

    return Eraser(
        journal,
        partial(acceptance.accept, journal),
        partial(acceptance.dry_run, journal),
        partial(acceptance.cancel, journal),
        purge,
        AccessSource(acceptance.keys_of),
        partial(planned, journal),
        lambda change, by: key_tables.settle(journal, by, change=change),
        at_once=True,
    )


def _on_hive(session: Session, journal: HiveJournal) -> Eraser:
    """Lists of keys hide rows until the partitions that hold them are written anew."""
    from gateway.procedures.erasing import ask_again
    from spark_compaction.backends.hive import acceptance, erasing, key_partitions
    from spark_compaction.erasure.access import AccessSource

    def purge(
        _engine: OpenEngine | None, by: str, only: Sequence[str] | None, progress: Progress
    ) -> Erased:
        again = partial(ask_again, session)
        with ENGINES.statements_of(journal, session.settings):
            return erasing.erase(journal, by, only=only, progress=progress, ask_again=again)

    return Eraser(
        journal,
        partial(acceptance.accept, journal),
        partial(acceptance.dry_run, journal),
        partial(acceptance.cancel, journal),
        purge,
        AccessSource(acceptance.keys_of),
        partial(erasing.planned, journal),
        lambda change, by: key_partitions.settle(journal, by, change=change),
        at_once=True,
    )
