"""Exports what tables hold about people: one search for a batch, a file for each request.

FINDING, PLANNED   the batch waits for its turn
EXECUTING          the search, and the files; one that was written is written again
VERIFYING          each request has a file on record
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from gateway.privacy_desk import sealing
from gateway.privacy_desk.batch_steps import identities_in, subjects_in, take_step
from gateway.privacy_desk.desk import Desk
from gateway.privacy_desk.desk_policy import DeskPolicy
from gateway.privacy_desk.exports import drop_expired, export_folder, write_export
from gateway.privacy_desk.package_files import PeopleRows, archive
from gateway.privacy_desk.states import PrivacyState
from gateway.procedures.erasing import names_of
from gateway.procedures.erasure_program import erasure_backend
from journal.erasure.package import seal_package
from journal.model.errors import Code, PalimpsestError
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyBatch, PrivacyExport, PrivacyRequest
from journal.transactions.reading import committed_state
from spark_compaction.erasure.access import gather_rows

_PASSPHRASE = "PALIMPSEST_PASSPHRASE"


def step(desk: Desk, batch: PrivacyBatch, state: PrivacyState) -> PrivacyBatch:
    """Take a batch through one step."""
    return take_step(
        desk,
        batch,
        state,
        execute=lambda: {"files": _write_all(desk, batch)},
        verify=lambda: check_files(desk, [r.id for r in identities_in(desk, batch)[0]]),
    )


def _write_all(desk: Desk, batch: PrivacyBatch) -> int:
    requests, named = identities_in(desk, batch)
    with desk.reading() as records:
        _, policy = desk.policy(records)
        there = {e.request for e in rows_of.all_exports(records) if is_whole(e)}
    drop_expired(desk.journal, desk.now(), desk.by)
    for kind, _ in (pair for pairs in named.values() for pair in pairs):
        if sealing.is_composite(kind):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "an export of an identity of several parts is not possible yet",
                advice="name the person by one identifier of a type that tables describe",
            )
    only = _tables(desk, requests[0])
    found, told = gather_rows(erasure_backend(desk.session), subjects_in(named), only)
    people = [PeopleRows.of(one) for one in found]
    left = {t.table: t.why for t in told if t.why}
    latest = policy.exports == "latest"
    written = 0
    for request in requests:
        if request.id in there:
            continue  # An earlier attempt of this step has written it.
        tables = {p.name: p.of_person(named[request.id], latest=latest) for p in people}
        summary = {
            "action": request.action,
            "regulation": request.regulation,
            "made_at": desk.now().isoformat(),
            "versions": policy.exports,
            "not_searched": left,
        }
        data = archive(request.id, summary, tables)
        write_file(desk, policy, request, data, sum(map(len, tables.values())))
        written += 1
    return written


def _tables(desk: Desk, request: PrivacyRequest) -> list[int] | None:
    names = list(request.detail.get("options", {}).get("tables", ()))
    if not names:
        return None
    keys = names_of(desk.session, names) or frozenset()
    catalog = committed_state(desk.journal).catalog
    return [table.id for table in catalog.tables() if table.name.key in keys]


def write_file(
    desk: Desk,
    policy: DeskPolicy,
    request: PrivacyRequest,
    data: bytes,
    rows: int,
    until: datetime | None = None,
) -> PrivacyExport:
    """Write the file of a request, and note it; it lasts as the policy says, or ``until``."""
    now = desk.now()
    expires = until or now + timedelta(days=policy.export_days)
    passphrase = os.environ.get(_PASSPHRASE, "")
    suffix = "package" if passphrase else "zip"
    if passphrase:
        data = seal_package({"export.zip": data}, passphrase, now, expires)
    path = export_folder(desk.journal, policy.export_folder) / f"privacy-{request.id}.{suffix}"
    export = PrivacyExport(
        id=request.id,
        request=request.id,
        host=platform.node(),
        path=str(path.resolve()),
        digest=hashlib.sha256(data).hexdigest(),
        rows=rows,
        bytes=len(data),
        made_by=desk.by,
        made_at=now,
        expires_at=expires,
    )
    write_export(desk.journal, export, data)
    result: dict[str, Any] = {"export": export.id, "rows": rows, "sha256": export.digest}
    with desk.writing() as records:
        current = rows_of.request_by_id(records, request.id)
        assert current is not None
        detail = {**current.detail, "result": result}
        rows_of.put_request(records, replace(current, detail=detail, updated_at=now))
        records.commit()
    return export


def check_files(desk: Desk, ids: Sequence[str]) -> None:
    """Raise FILE_ACCESS where one of some requests has no whole file."""
    with desk.reading() as records:
        found = {e.request: e for e in rows_of.all_exports(records) if e.request in set(ids)}
    for request_id in ids:
        export = found.get(request_id)
        if export is None or not is_whole(export):
            raise PalimpsestError(
                Code.FILE_ACCESS,
                f"the export file of request {request_id} was changed or removed",
                advice="submit the request once more",
            )


def is_whole(export: PrivacyExport) -> bool:
    """True for a file that is there as it was written."""
    path = Path(export.path)
    if not export.is_there or not path.exists():
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == export.digest
