"""Restricts people: hides their rows and keeps them, one request at a time.

A restricted person's rows are hidden as those of an accepted erasure are, and stay: no purge takes
them. Lifting shows them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.privacy_desk import composite
from gateway.privacy_desk.batch_steps import identities_in, subjects_in, take_step
from gateway.privacy_desk.desk import Desk, find_request
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.states import PrivacyState
from gateway.privacy_desk.store_decisions import decide_parts, has_parts
from gateway.privacy_desk.submission import request_error
from gateway.procedures.erasing import names_of
from gateway.procedures.erasure_program import erasure_of
from gateway.session.operations import Advance, single_operation
from journal.erasure import erasure_spec
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import State
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest

if TYPE_CHECKING:
    from gateway.session.session import Session

_MARK = "privacy restriction"


def restrict(desk: Desk, batch: PrivacyBatch, state: PrivacyState) -> PrivacyBatch:
    """Take a restriction through one step; it is COMPLETED when nobody sees the rows any more."""
    return take_step(desk, batch, state, lambda: {"erasures": _hidden(desk, batch)})


def _hidden(desk: Desk, batch: PrivacyBatch) -> list[str]:
    requests, named = identities_in(desk, batch)
    only = names_of(desk.session, list(requests[0].detail.get("options", {}).get("tables", ())))
    subjects = subjects_in(named)
    specs = [ErasureSpec(subjects=subjects, tables=only)] if subjects else []
    specs += composite.specs(desk.session, named, only)
    known = {r.reason: r for r in erasure_spec.requests(desk.journal)}
    ids = []
    for number, wanted in enumerate(specs, 1):
        mark = f"{_MARK} {batch.id}.{number}"
        found = known.get(mark)
        if found is None:
            spec = replace(wanted, reason=mark, restricts=True)
            found = erasure_of(desk.session).accept(spec, desk.by)
        ids.append(found.id)
    return ids


@single_operation
def lift(
    session: Session, _advance: Advance, names: Sequence[str], reason: str | None
) -> list[PrivacyRequest]:
    """Show the rows of restrictions again; one that is not in force stays as it is."""
    desk, results = Desk(session), []
    for name in names:
        with desk.reading() as records:
            request = find_request(records, name)
            batches = {b.id: b for b in rows_of.all_batches(records)}
        if request.action != PrivacyAction.RESTRICTION:
            raise request_error(
                f"request {request.id} asks for {request.action}, and restricts nobody",
                "name a request of a restriction",
            )
        if request.state != PrivacyState.COMPLETED or "lifted_by" in request.detail:
            results.append(request)
            continue
        if has_parts(request):
            decide_parts(desk, request, lift, reason)
        program = erasure_of(session)
        for erasure in erasure_spec.requests(desk.journal):
            if erasure.id in batches[request.batch].detail.get("erasures", ()):
                if erasure.state is State.RESTRICTED:
                    program.cancel(erasure, desk.by)
        with desk.writing() as records:
            now = desk.now()
            detail = {**request.detail, "lifted_by": desk.by, "lifted_at": now.isoformat()}
            lifted = replace(request, detail=detail, updated_at=now)
            rows_of.put_request(records, lifted)
            desk.note(records, "lift", request.id, {"reason": reason} if reason else {})
            records.commit()
        results.append(lifted)
    return results
