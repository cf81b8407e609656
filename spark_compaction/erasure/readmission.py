"""Letting erased people come back: entries of the suppression list are taken off it.

A person who becomes a customer again is named again, so that the hashes can be found; or all that a
request suppressed is let in. What was erased does not come back by it. Every use is audited.
"""

from __future__ import annotations

from journal.erasure import audit
from journal.erasure.erasure_spec import Subjects
from journal.erasure.requests import ErasureRequest
from journal.erasure.seam import ErasureJournal
from journal.erasure.suppressing import forms_of
from journal.identity.suppression_list import digest_of
from journal.records import erasure_rows as rows_of


def readmit_subjects(journal: ErasureJournal, subjects: Subjects, by: str) -> int:
    """Let rows with these identifiers be written again; how many entries there were."""
    with journal.reading_session() as session:
        if not rows_of.load_fences(session):
            return 0
    secret = journal.read_secret()
    hashes = [digest_of(secret, kind, text) for kind, texts in forms_of(subjects) for text in texts]
    with journal.fencing_session() as session:
        dropped = rows_of.drop_hashes(session, hashes)
        detail = {"types": {t: len(v) for t, v in subjects.items()}, "entries": dropped}
        audit.record(journal, session, by, "erase.readmit", "", detail)
    return dropped


def readmit_request(journal: ErasureJournal, request: ErasureRequest, by: str) -> int:
    """Let everything that a request suppressed, keys too, be written again."""
    with journal.fencing_session() as session:
        dropped = rows_of.drop_suppressions(session, request.id)
        detail = {"entries": dropped}
        audit.record(journal, session, by, "erase.readmit", request.id, detail)
    return dropped
