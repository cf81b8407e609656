"""The programs that erase, over the backend of a session's store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateway.jobs.engines import workers_of
from gateway.privacy_desk.exports import drop_naming
from spark_compaction.maintenance import required

if TYPE_CHECKING:
    from gateway.session.session import Session
    from spark_compaction.erasure.backend import ErasureBackend
    from spark_compaction.erasure.program import ErasureProgram


def erasure_of(session: Session) -> ErasureProgram:
    """What can be done about requests to erase in a session's store.

    Raises NOT_SUPPORTED where nothing can be erased.
    """
    from gateway.procedures.erasing import recorded_key_finder
    from gateway.procedures.view_refresh import refresh_views
    from spark_compaction.erasure.program import ErasureProgram

    backend, again = erasure_backend(session), partial(recorded_key_finder, session)
    engine = partial(
        session.executor.maintenance.purge_engine, workers_of(session.settings, session.engine)
    )
    forget = partial(drop_naming, backend.journal)
    return ErasureProgram(backend, again, engine, partial(refresh_views, session), forget)


def erasure_backend(session: Session) -> ErasureBackend:
    """The erasure backend of a session's store; raises NOT_SUPPORTED if it has none."""
    return required(session.executor.maintenance.erasure, "erasure", session.journal.place)()
