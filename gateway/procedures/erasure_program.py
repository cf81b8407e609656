"""The programs that erase, over the backend of a session's store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from gateway.jobs.engines import ENGINES
from gateway.procedures.procedures import database, embedded, hive
from journal.model.errors import Code, PalimpsestError

if TYPE_CHECKING:
    from gateway.session.session import Session
    from spark_compaction.contract import Engine
    from spark_compaction.erasure.backend import ErasureBackend
    from spark_compaction.erasure.program import ErasureProgram


def erasure_of(session: Session) -> ErasureProgram:
    """What can be done about requests to erase in a session's store.

    Raises NOT_SUPPORTED where nothing can be erased.
    """
    from gateway.procedures.erasing import recorded_key_finder
    from spark_compaction.erasure.program import ErasureProgram

    backend, again = erasure_backend(session), partial(recorded_key_finder, session)
    return ErasureProgram(backend, again, partial(_server_engine, session))


@contextmanager
def _server_engine(session: Session) -> Iterator[Engine | None]:
    """What writes rows of a store that purges at once: its server, unless Spark is asked for."""
    settings, on_hive = session.settings, hive(session.journal)
    if on_hive is not None:
        with ENGINES.statements_of(on_hive, settings):
            yield None
    elif (
        settings.job_engine.lower() == "spark"
        and session.journal.capabilities.backend != "embedded"
    ):
        yield ENGINES.jdbc(settings.spark_master)
    else:
        yield None


def erasure_backend(session: Session) -> ErasureBackend:
    """What a session's store does for erasures; raises NOT_SUPPORTED where it does nothing."""
    journal = session.journal
    if journal.capabilities.backend == "embedded":
        from spark_compaction.backends.embedded_erasure.erasure import WarehouseErasure

        return WarehouseErasure(embedded(session, "an erasure"))
    on_hive = hive(journal)
    if on_hive is not None:
        from spark_compaction.backends.hive.erasure import HiveErasure

        return HiveErasure(on_hive)
    if journal.capabilities.backend == "postgres":
        from spark_compaction.backends.postgres.erasure import DatabaseErasure

        return DatabaseErasure(database(session))
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        f"this store cannot erase: {journal.place}",
        advice="docs/index.md says what each store can",
    )
