"""The receipts of a purge of one table.

They go into the requests in the transaction that swaps the manifest, so that they never tell of
more or less than was done. Removes nothing, and commits nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from journal.erasure.requests import ErasureRequest, Outcome, State, Target
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.model.store_session import StoreSession
from journal.records import erasure_rows as rows_of
from journal.records.report import JobReport, Work
from spark_compaction.erasure.backend import CopiesPurge


def targets_by_mask(
    found: Iterable[ErasureRequest], accepted: Collection[str], table_id: int
) -> dict[str, Target]:
    """What the ``accepted`` of some requests are about in a table, by the masks of their keys.

    Those that a hold keeps back by now are none of them.
    """
    return {
        target.mask: target
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
class PurgeResult:
    """What a purge did, the manifests around it, and what copies elsewhere lost.

    ``others`` says what the rewritten pieces hold besides, as it was before and after. While a copy
    cannot be reached its masks stay, and the receipts are PENDING.
    """

    before: Manifest
    after: Manifest
    work: Work
    copies: CopiesPurge
    others: str = ""

    @property
    def is_over(self) -> bool:
        """True if the keys are in no copy any more either."""
        return self.copies.error is None

    def record(
        self, session: StoreSession, targets: Mapping[str, Target], removed: Mapping[str, int]
    ) -> None:
        """Write the receipts of ``targets`` (by mask) into their requests, as they are on record.

        ``removed`` counts the row versions that went, by mask.
        """
        receipts = {mask: self._receipt(t, mask, removed[mask]) for mask, t in targets.items()}
        for request in map(ErasureRequest.of_row, rows_of.load_erasures(session)):
            if receipts.keys() & set(request.masks):
                listed = tuple(receipts.get(t.mask or "", t) for t in request.targets)
                rows_of.put_erasure(session, replace(request, targets=listed).to_row())

    def _receipt(self, target: Target, mask: str, removed: int) -> Target:
        copied = self.copies.removed[mask]
        return replace(
            target,
            copies_rewritten=target.copies_rewritten + copied.files,
            copies_removed=target.copies_removed + copied.versions,
            mask=None if self.is_over else mask,
            outcome=Outcome.ERASED if self.is_over else Outcome.PENDING,
            files_rewritten=target.files_rewritten + self.work.read.files,
            bytes_rewritten=target.bytes_rewritten + self.work.read.bytes,
            versions_removed=target.versions_removed + removed,
            manifest_before=target.manifest_before or _digest(self.before),
            manifest_after=_digest(self.after),
            others=self.others or f"{self.work.written.rows} rows beside them are unchanged",
        )


def _digest(manifest: Manifest) -> str:
    text = json.dumps(manifest.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
