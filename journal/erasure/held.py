"""Which requests a legal hold keeps back: those that would remove a row version it covers.

A request is held as a whole, in all its tables, and says who holds it. Once nothing holds it any
more the next run takes it up again. Whether rows are covered the store is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal import holds
from journal.erasure import audit
from journal.erasure.requests import Request, State
from journal.erasure.seam import ErasureJournal
from journal.schema import Table
from journal.stores import erasure_rows as rows_of

Covers = Callable[[Table, str, exp.Expr], bool]
"""True if a version of a mask's rows meets a condition over the table's physical columns."""


def settle_holds(
    journal: ErasureJournal,
    found: Sequence[Request],
    by: str,
    definition: Callable[[int], Table],
    covers: Covers,
) -> list[Request]:
    """Requests as they stand now, those that are held put on hold, those released accepted."""
    settled = []
    for request in found:
        if request.state not in {State.ACCEPTED, State.ON_HOLD}:
            settled.append(request)
            continue
        who = holder(journal, request, definition, covers)
        state = State.ACCEPTED if who is None else State.ON_HOLD
        if state is not request.state:
            request = _moved(journal, request, state, who, by)
        settled.append(request)
    return settled


def _moved(
    journal: ErasureJournal, request: Request, state: State, holder: str | None, by: str
) -> Request:
    waits = "" if holder is None else f"legal {holder}"
    with journal.exclusive_session() as session:
        moved = request.moved(state, journal.clock.now(), holder=holder, waits_for=waits)
        rows_of.put_erasure(session, moved.to_row())
        action = "erase.release" if holder is None else "erase.hold"
        audit.record(journal, session, by, action, request.id, {})
        session.commit()
    return moved


def free_masks(
    journal: ErasureJournal,
    found: Sequence[Request],
    table_id: int,
    definition: Callable[[int], Table],
    covers: Covers,
) -> list[str]:
    """The masks of a table that requests have which no hold keeps back."""
    free = [r for r in found if holder(journal, r, definition, covers) is None]
    return [t.mask for r in free for t in r.targets if t.table_id == table_id and t.mask]


def holder(
    journal: ErasureJournal,
    request: Request,
    definition: Callable[[int], Table],
    covers: Covers,
) -> str | None:
    """The hold that keeps a request back, in words; None if there is none."""
    for target in request.targets:
        if target.mask is None:
            continue
        table = definition(target.table_id)
        active = holds.active(journal, table)
        whole = holds.whole_table(active)
        if whole is not None:
            return whole.told()
        for hold in active:
            condition = holds.covered(journal, table, [hold])
            if condition is not None and covers(table, target.mask, condition):
                return hold.told()
    return None
