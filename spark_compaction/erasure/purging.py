"""One run of purges in a store that purges by itself.

    search     copies that were out of reach when a request was accepted
    hold       what a legal hold keeps back waits for its release
    purge      table after table; one that fails stops no other
    complete   each request none of whose rows are left

What a table's purge does, and when a request is complete, is the store's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from journal.erasure.erased import Erased
from journal.erasure.erasure_spec import requests
from journal.erasure.requests import ErasureRequest, State
from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.model.schema import Table
from journal.records.report import JobReport
from spark_compaction.contract import Progress
from spark_compaction.erasure.deferred_search import AskAgain, Late, search_each


@dataclass(frozen=True, slots=True)
class Purging:
    """What a store does for a run.

    ``late`` searches copies; ``definition`` gives a table as it is now, or was last; ``settle``
    has holds spare what they cover of some requests; ``purge`` removes from a table the keys of all
    accepted requests; ``purged`` gives a request none of whose rows are left in that state;
    ``complete`` ends it.
    """

    late: Late
    definition: Callable[[int], Table]
    settle: Callable[[Collection[str]], object]
    purge: Callable[[Table, set[str]], JobReport]
    purged: Callable[[ErasureRequest], ErasureRequest]
    complete: Callable[[ErasureRequest], object]

    def run(
        self, only: Iterable[str] | None, by: str, ask_again: AskAgain | None, progress: Progress
    ) -> Erased:
        """Purge what has been accepted (or ``only`` some requests), and complete what can be.

        ``ask_again`` looks for a condition in copies that were out of reach when it was accepted.
        """
        run, journal = Erased(), self.late.journal
        wanted = None if only is None else set(only)
        pending = [r for r in requests(journal) if wanted is None or r.id in wanted]
        pending, run.failures = search_each(self.late, pending, by, ask_again)
        chosen = {r.id for r in pending}
        self.settle(chosen)
        settled = [r for r in requests(journal) if r.id in chosen and r.state is State.ACCEPTED]
        accepted = {r.id for r in settled}
        tables = {t.table_id for r in settled for t in r.targets if t.mask}
        for done, table_id in enumerate(sorted(tables)):
            table = self.definition(table_id)
            try:
                with failures():
                    run.reports.append(self.purge(table, accepted))
            except PalimpsestError as error:
                run.failures.setdefault(str(table.name), error)
            progress("purge", done + 1, len(tables))
        for request in requests(journal):
            if request.id in accepted and request.state is State.ACCEPTED:
                if not request.masks and not request.unsearched:
                    self.complete(self.purged(request))
            elif request.state is State.PURGED and (wanted is None or request.id in wanted):
                self.complete(request)
        after = {r.id: r for r in requests(journal)}
        run.requests = [after[r.id] for r in pending]
        return run
