"""Updates the receipt of a request after a deferred search. Writes nothing."""

from __future__ import annotations

from dataclasses import replace

from journal.erasure.requests import OPEN, ErasureRequest, Target
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import erasure_rows as rows_of


def with_target(
    session: StoreSession, request_id: str, target: Target, done: Target, now: Version
) -> ErasureRequest:
    """The request as it is recorded, with ``done`` in the place of ``target``."""
    found = map(ErasureRequest.of_row, rows_of.load_erasures(session))
    current = next(r for r in found if r.id == request_id)
    if current.state not in OPEN or target not in current.targets:
        raise PalimpsestError(
            Code.ERASURE,
            f"request {current.id} has changed while {_what(target)} was searched for it:"
            f" it is {current.state}",
            advice="run `palimpsest erase run` again if it still waits",
        )
    targets = tuple(done if t == target else t for t in current.targets)
    return replace(current, targets=targets, updated=now)


def _what(target: Target) -> str:
    return "a copy" if target.reject_file is None else "a reject file"
