"""Erasures of one store, from a request to its receipt: the programs over its backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from journal.erasure.erased import Erased
from journal.erasure.erasure_spec import ErasureSpec, Subjects
from journal.erasure.requests import ErasureRequest
from journal.erasure.seam import ErasureJournal
from journal.model.lazy_dataclass import dataclass
from journal.records.report import Work
from spark_compaction.contract import Engine, Progress, Watching, silent, unwatched
from spark_compaction.erasure import acceptance, legal_holds, purging
from spark_compaction.erasure.backend import ErasureBackend, HoldChange
from spark_compaction.erasure.deferred_search import AskAgain

OpenEngine = Callable[[], AbstractContextManager[Engine | None]]


def _no_exports(_subjects: Subjects, _by: str) -> None:
    """Nobody has exported anything."""


@dataclass(frozen=True, slots=True)
class ErasureProgram:
    """What can be done about requests to erase in a store.

    ``ask_again`` looks for a condition in copies that were out of reach when it was accepted.
    ``refresh_views`` stores the rows of materialised views anew that an erasure has touched.
    ``remove_exports`` removes the files with what tables hold about people who are erased.
    ``server_engine`` opens what writes rows of a store that purges at once; None: its server does.
    """

    backend: ErasureBackend
    ask_again: AskAgain | None = None
    server_engine: OpenEngine = nullcontext
    refresh_views: Callable[[], object] = tuple
    remove_exports: Callable[[Subjects, str], object] = _no_exports

    @property
    def journal(self) -> ErasureJournal:
        """Where requests and their log are."""
        return self.backend.journal

    def accept(self, wanted: ErasureSpec, by: str) -> ErasureRequest:
        """Hide who is meant from now on, and record the request; see ``acceptance.accept``."""
        if not wanted.restricts:
            self.remove_exports({**wanted.subjects, **wanted.named}, by)
        accepted = acceptance.accept(self.backend, wanted, by)
        self.refresh_views()
        return accepted

    def dry_run(self, wanted: ErasureSpec) -> ErasureRequest:
        """What accepting would find; nothing is written."""
        return acceptance.dry_run(self.backend, wanted)

    def cancel(self, request: ErasureRequest, by: str) -> ErasureRequest:
        """Let the rows be seen and written again; raises ERASURE once some are purged."""
        cancelled = acceptance.cancel(self.backend, request, by)
        self.refresh_views()
        return cancelled

    def purge(
        self,
        open_engine: OpenEngine | None,
        by: str,
        only: Iterable[str] | None = None,
        progress: Progress = silent,
        unit_bytes: int = 0,
        watching: Watching = unwatched,
    ) -> Erased:
        """Purge what has been accepted, of all or ``only`` some requests; see ``purging.purge``.

        ``open_engine`` starts what writes files anew; a store that purges at once needs none.
        """
        if self.backend.purges_at_once or open_engine is None:
            open_engine = self.server_engine
        with open_engine() as engine:
            again = self.ask_again
            # What hides rows of views goes with the purge: none may rely on it to be empty.
            self.refresh_views()
            try:
                return purging.purge(
                    *(self.backend, by),
                    only=only,
                    engine=engine,
                    progress=progress,
                    ask_again=again,
                    unit_bytes=unit_bytes,
                    watching=watching,
                )
            finally:
                self.refresh_views()

    def planned(self, table_id: int, found: Sequence[ErasureRequest]) -> Work:
        """What a purge of a table would do for some requests; changes nothing."""
        return purging.planned(self.backend, table_id, found)

    def change_holds(self, change: HoldChange, by: str) -> list[ErasureRequest]:
        """Place or release a hold; what it covers of open requests is seen from the commit on."""
        changed = legal_holds.apply_holds(self.backend, by, change=change)
        self.refresh_views()
        return changed
