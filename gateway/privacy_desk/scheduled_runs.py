"""Runs the desk's due batches and callbacks for the scheduler."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gateway.privacy_desk.desk_policy import DeskPolicy
from gateway.privacy_desk.running import UNFINISHED, run
from gateway.privacy_desk.states import PrivacyState
from gateway.session.operations import Advance, operation
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyBatch
from journal.records.safe_mode_rows import safe_mode_now

if TYPE_CHECKING:
    from gateway.session.session import Session

_LOG = logging.getLogger("palimpsest.privacy")


@operation
def run_scheduled(session: Session, advance: Advance) -> list[PrivacyBatch]:
    """Run what is due, as schedulers do; nothing in safe mode, or where the policy says so."""
    with session.journal.reading_session() as records:
        row = rows_of.last_policy(records)
        is_on = row is None or DeskPolicy.of_json(row.definition).scheduled == "due"
        is_idle = not rows_of.ids_in(records, PrivacyState.QUEUED) and not any(
            b.step in UNFINISHED for b in rows_of.all_batches(records)
        )
        safe = safe_mode_now(records)
    if not is_on or is_idle or (safe is not None and safe.is_on):
        return []
    done = run(session, advance, only_due=True)
    for batch in done:
        level = logging.WARNING if batch.step == PrivacyState.FAILED else logging.INFO
        why = batch.detail.get("error") or {}
        said = f": {why.get('code')}" if batch.step == PrivacyState.FAILED else ""
        fields = {"batch": batch.id, "action": batch.action, "state": batch.step}
        _LOG.log(
            *(level, "the batch %s of %d requests is %s%s"),
            *(batch.id, batch.requests, batch.step, said),
            extra={"fields": fields},
        )
    return done
