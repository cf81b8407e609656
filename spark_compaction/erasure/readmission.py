"""Readmits erased people: removes entries from the suppression list.

A person who becomes a customer again is named again, so that the hashes can be found; or all that a
request suppressed is let in. What was erased does not come back by it. Every use is audited. A
restriction is no erasure: it ends when the privacy desk lifts it, never here.
"""

from __future__ import annotations

from collections.abc import Iterable

from journal.erasure import audit
from journal.erasure.erasure_spec import Subjects
from journal.erasure.recorded_forms import recorded_forms
from journal.erasure.requests import ErasureRequest, State
from journal.erasure.seam import ErasureJournal
from journal.erasure.suppressing import forms_of
from journal.identity.key_ring import parted
from journal.identity.suppression_list import digest_of
from journal.model.errors import Code, PalimpsestError
from journal.records import erasure_rows as rows_of
from journal.transactions.reading import committed_state


def readmit_subjects(journal: ErasureJournal, subjects: Subjects, by: str) -> int:
    """Let rows with these identifiers be written again; how many entries there were.

    Raises ERASURE if one of these people is restricted.
    """
    with journal.reading_session() as session:
        keys = {parted(kind)[1] for kind, _ in rows_of.load_fences(session)}
    if not keys:
        return 0
    named = forms_of(subjects, recorded_forms(committed_state(journal)))
    hashes = [
        digest_of(secret, kind, text)
        for secret in map(journal.read_secret, keys)
        for kind, texts in named
        for text in texts
    ]
    with journal.fencing_session() as session:
        found = rows_of.requests_of(session, hashes)
        rows = (r for r in rows_of.load_erasures(session) if r.id in found)
        refuse_restricted(map(ErasureRequest.of_row, rows))
        dropped = rows_of.drop_hashes(session, hashes)
        detail = {"types": {t: len(v) for t, v in subjects.items()}, "entries": dropped}
        audit.record(journal, session, by, "erase.readmit", "", detail)
    return dropped


def readmit_request(journal: ErasureJournal, request: ErasureRequest, by: str) -> int:
    """Let everything that a request suppressed, keys too, be written again.

    Raises ERASURE if the request restricts somebody.
    """
    refuse_restricted([request])
    with journal.fencing_session() as session:
        dropped = rows_of.drop_suppressions(session, request.id)
        detail = {"entries": dropped}
        audit.record(journal, session, by, "erase.readmit", request.id, detail)
    return dropped


def refuse_restricted(requests: Iterable[ErasureRequest]) -> None:
    """Raise ERASURE if one of the requests is a restriction in force."""
    for request in requests:
        if request.state is State.RESTRICTED:
            raise PalimpsestError(
                Code.ERASURE,
                f"request {request.id} restricts people, and keeps their rows",
                advice="`palimpsest privacy lift` shows the rows again, and lets them be written",
            )
