"""The audit log as only growing: appended to by several at once, and changed by nobody."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from journal.erasure import audit, audit_check
from journal.erasure.seam import ErasureJournal

_ENTRIES = 8


def append_at_once(journals: Sequence[ErasureJournal]) -> None:
    """Gateways that append at the same time keep the chain: no entry is lost or comes twice."""
    before = audit_check.verify(journals[0]).entries

    def append(place: int) -> None:
        for number in range(_ENTRIES):
            with journals[place].exclusive_session() as session:
                audit.record(
                    journals[place], session, f"gateway {place}", "test", "", {"n": number}
                )
                session.commit()

    with ThreadPoolExecutor(len(journals)) as pool:
        list(pool.map(append, range(len(journals))))
    for journal in journals:
        checked = audit_check.verify(journal)
        assert checked.problems == ()
        assert checked.entries == before + _ENTRIES * len(journals)
