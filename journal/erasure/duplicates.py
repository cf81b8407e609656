"""Finds an open request that erases the same people, by the suppression list.

No request keeps whom it names; but what it suppresses is on record as keyed hashes, and whoever
names the same people again can be compared with these. Reads only.
"""

from __future__ import annotations

from journal.erasure.erasure_spec import ErasureSpec, aims
from journal.erasure.requests import WAITING, ErasureRequest, Outcome
from journal.erasure.seam import SecretJournal
from journal.erasure.suppressing import forms_of
from journal.identity.descriptor import forms_by_type
from journal.identity.suppression_list import digest_of
from journal.model.errors import Code, PalimpsestError
from journal.model.suppression import Suppression
from journal.model.version import to_datetime
from journal.records import erasure_rows as rows_of
from journal.transactions.reading import reading


def check_duplicate(journal: SecretJournal, wanted: ErasureSpec) -> None:
    """Raise DUPLICATE_ERASURE where a request that waits does all that is wanted.

    It names everybody who is named, searches every table that would be searched, and suppresses
    as much. One that wants more is a request of its own.
    """
    asks_more = wanted.suppression is Suppression.ALL or wanted.dependents is not None
    if asks_more or not wanted.subjects:
        return
    with reading(journal) as statement:
        session = statement.session
        found = [ErasureRequest.of_row(row) for row in rows_of.load_erasures(session)]
        waiting = [r for r in found if r.state in WAITING and r.expires is None]
        if not waiting:
            return
        aimed = [a for a in aims(session, statement.committed, wanted) if a.why_not is None]
        searched = {a.table.id for a in aimed}
        # Spellings that are one in every column are one here.
        compared = forms_by_type(i for a in aimed for i in a.identities)
        secret = journal.read_secret()
        forms = {
            kind: {digest_of(secret, kind, text) for text in texts}
            for kind, texts in forms_of(wanted.subjects, compared)
        }
        for request in waiting:
            covered = {t.table_id for t in request.targets if t.outcome != Outcome.NOT_SEARCHED}
            if searched <= covered and all(
                hashes <= rows_of.suppressed_hashes(session, request.id, kind)
                for kind, hashes in forms.items()
            ):
                raise _duplicate(request)


def _duplicate(request: ErasureRequest) -> PalimpsestError:
    return PalimpsestError(
        Code.DUPLICATE_ERASURE,
        f"request {request.id} of {to_datetime(request.accepted):%Y-%m-%d %H:%M} UTC names the same"
        f" people, and is {request.state}",
        advice=f"palimpsest erase status {request.id} shows it; nothing else need be done",
    )
