"""The receipts of a purge of one table.

They go into the requests in the transactions that swap the manifest and take the masks off it, so
that they never tell of more or less than was done. Removes nothing, and commits nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import replace

from journal.erasure import audit
from journal.erasure.column_changes import ColumnChange
from journal.erasure.requests import ErasureRequest, Outcome, State, Target
from journal.erasure.seam import ErasureJournal
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.model.store_session import StoreSession
from journal.records import erasure_rows as rows_of
from journal.records.report import JobReport, Work
from spark_compaction.erasure.backend import CopiesPurge


def accepted_masks(
    found: Iterable[ErasureRequest], accepted: Collection[str], table_id: int
) -> dict[str, tuple[ColumnChange, ...]]:
    """The masks of a table that the ``accepted`` of some requests have, and what they change.

    Those that a hold keeps back by now are none of them.
    """
    return {
        target.mask: target.changes
        for request in found
        if request.id in accepted and request.state is State.ACCEPTED
        for target in request.targets
        if target.mask is not None and target.table_id == table_id
    }


def nothing_to_purge(table: Table) -> JobReport:
    """The report on a table whose keys are hidden no more when its turn comes."""
    why = "the requests were cancelled, or a legal hold keeps them back"
    return JobReport("", "purge", str(table.name), "nothing", why)


@dataclass(frozen=True, slots=True)
class PurgedRows:
    """What a purge removed from all that a store has of a table, and the manifests around it.

    ``removed`` counts row versions by mask. ``others`` says what the rewritten pieces hold besides,
    as it was before and after.
    """

    before: Manifest
    after: Manifest
    work: Work
    removed: Mapping[str, int]
    others: str = ""

    def record(self, session: StoreSession) -> None:
        """Add it to the receipts of the masks; they stay PENDING."""
        _change(session, self.removed, self._added)

    def _added(self, target: Target, mask: str) -> Target:
        read, count = self.work.read, self.removed[mask]
        return replace(
            target,
            files_rewritten=target.files_rewritten + read.files,
            bytes_rewritten=target.bytes_rewritten + read.bytes,
            versions_removed=target.versions_removed + (0 if target.changes else count),
            versions_changed=target.versions_changed + (count if target.changes else 0),
            manifest_before=target.manifest_before or _digest(self.before),
            manifest_after=_digest(self.after),
            others=self.others or f"{self.work.written.rows} rows beside them are unchanged",
        )


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The end of a purge of some ``masks``, the manifest after it, and what copies have lost.

    While a copy cannot be reached the masks stay, and the receipts are PENDING.
    """

    masks: Collection[str]
    after: Manifest
    copies: CopiesPurge
    journal: ErasureJournal
    by: str

    def record(self, session: StoreSession) -> None:
        """Write it into the receipts of the masks.

        Where rows stay, or nothing is suppressed, their keys may be written again, and whoever read
        them before may not.
        """
        changed = _change(session, self.masks, self._concluded)
        for request, target in changed if self.copies.error is None else ():
            if target.frees_keys:
                rows_of.drop_table_keys(session, request.id, target.table_id)
                since = self.journal.clock.next()
                rows_of.add_changed(session, target.table_id, request.id, since)
                audit.record_changed(self.journal, session, self.by, request, target.table)

    def _concluded(self, target: Target, mask: str) -> Target:
        copied, is_over = self.copies.removed[mask], self.copies.error is None
        return replace(
            target,
            copies_rewritten=target.copies_rewritten + copied.files,
            copies_removed=target.copies_removed + (0 if target.changes else copied.versions),
            versions_changed=target.versions_changed + (copied.versions if target.changes else 0),
            mask=None if is_over else mask,
            outcome=Outcome.ERASED if is_over else Outcome.PENDING,
            manifest_after=_digest(self.after),
        )


def _change(
    session: StoreSession, masks: Container[str], change: Callable[[Target, str], Target]
) -> list[tuple[ErasureRequest, Target]]:
    """Write the receipts of masks anew, into their requests as they are on record: these."""
    changed: list[tuple[ErasureRequest, Target]] = []
    for request in map(ErasureRequest.of_row, rows_of.load_erasures(session)):
        targets = tuple(
            change(t, t.mask) if t.mask is not None and t.mask in masks else t
            for t in request.targets
        )
        if targets != request.targets:
            rows_of.put_erasure(session, replace(request, targets=targets).to_row())
        pairs = zip(request.targets, targets, strict=True)
        changed += [(request, after) for before, after in pairs if before != after]
    return changed


def _digest(manifest: Manifest) -> str:
    text = json.dumps(manifest.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
