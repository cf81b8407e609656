"""Letting erased people come back: entries of the suppression list are taken off it.

A person who becomes a customer again is named again, so that the hashes can be found; or all that a
request suppressed is let in. What was erased does not come back by it. Every use is audited.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from journal.erasure import audit
from journal.erasure.fence import P_SECRET, digest, texts_of
from journal.erasure.guard import load_fence
from journal.erasure.locate import Subjects
from journal.erasure.requests import Request
from journal.erasure.secret import read_secret
from journal.journal import Journal
from journal.plan import Query
from journal.relations import column
from journal.stores import duckdb_erasure as rows_of

_SHOWN = "readmitted"


def readmit_subjects(journal: Journal, subjects: Subjects, by: str) -> int:
    """Let rows with these identifiers be written again; how many entries there were."""
    with journal.exclusive_session() as session:
        secret = read_secret(journal.root)
        hashes: list[str] = []
        for name, values in subjects.items():
            for lower in (False, True):
                kind = f"id:{name}" + (" lower" if lower else "")
                shown = pa.table({"v": texts_of(values, lower=lower)})
                session.show_arrow(_SHOWN, shown)
                query = Query.of(exp.select(digest(kind, column("v"))).from_(_SHOWN))
                session.execute(query, {P_SECRET: secret})
                hashes += [row[0] for row in session.fetch_many(shown.num_rows + 1)]
        dropped = rows_of.drop_hashes(session, hashes)
        detail = {"types": {t: len(v) for t, v in subjects.items()}, "entries": dropped}
        audit.record(journal, session, by, "erase.readmit", "", detail)
        journal.swap_all(session, {}, fenced=load_fence(session))
    return dropped


def readmit_request(journal: Journal, request: Request, by: str) -> int:
    """Let everything that a request suppressed, keys too, be written again."""
    with journal.exclusive_session() as session:
        dropped = rows_of.drop_suppressions(session, request.id)
        detail = {"entries": dropped}
        audit.record(journal, session, by, "erase.readmit", request.id, detail)
        journal.swap_all(session, {}, fenced=load_fence(session))
    return dropped
