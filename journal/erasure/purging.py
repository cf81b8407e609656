"""One run of purges in a store that purges by itself: holds, table after table, what is complete.

What a table's purge does and when a request is complete is the store's affair. A table that fails
stops no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from journal.erasure.erased import Erased
from journal.erasure.requests import Request, State
from journal.errors import PalimpsestError
from journal.jobs.contract import JobReport, Progress
from journal.schema import Table


@dataclass(frozen=True, slots=True)
class Purging:
    """What a store does for a run.

    ``search`` looks at copies that were out of reach before, and gives the requests as they are
    then, and what failed by table; ``settle`` gives requests as they stand after legal holds;
    ``purge`` removes from a table the keys of all accepted requests; ``purged`` gives a request
    none of whose rows are left in that state; ``complete`` ends it.
    """

    requests: Callable[[], list[Request]]
    search: Callable[[list[Request]], tuple[list[Request], dict[str, PalimpsestError]]]
    settle: Callable[[Sequence[Request]], list[Request]]
    definition: Callable[[int], Table]
    purge: Callable[[Table, set[str]], JobReport]
    purged: Callable[[Request], Request]
    complete: Callable[[Request], object]

    def run(self, only: Iterable[str] | None, progress: Progress) -> Erased:
        """Purge what has been accepted (or ``only`` some requests), and complete what can be."""
        run = Erased()
        wanted = None if only is None else set(only)
        pending = [r for r in self.requests() if wanted is None or r.id in wanted]
        pending, run.failures = self.search(pending)
        settled = self.settle(pending)
        accepted = {r.id for r in settled if r.state is State.ACCEPTED}
        tables = {t.table_id for r in settled if r.id in accepted for t in r.targets if t.mask}
        for done, table_id in enumerate(sorted(tables)):
            table = self.definition(table_id)
            try:
                run.reports.append(self.purge(table, accepted))
            except PalimpsestError as error:
                run.failures.setdefault(str(table.name), error)
            progress("purge", done + 1, len(tables))
        for request in self.requests():
            if request.id in accepted and not request.masks and not request.unsearched:
                self.complete(self.purged(request))
            elif request.state is State.PURGED and (wanted is None or request.id in wanted):
                self.complete(request)
        after = {r.id: r for r in self.requests()}
        run.requests = [after[r.id] for r in pending]
        return run
