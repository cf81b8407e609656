"""Export files about people: recorded before they exist, and until they are removed.

Only the user who runs the desk can read one. It expires; and a later erasure of anybody whom its
request names removes it, whoever asks for that.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gateway.governance.acting_session import ActingSession
from gateway.privacy_desk.sealing import FORMS, identity_digest
from gateway.session.operations import Advance, operation
from journal.erasure import audit
from journal.erasure.recorded_forms import recorded_forms
from journal.erasure.suppressing import FormsByType
from journal.identity.normalisers import PLAIN
from journal.local_engine.file_modes import OWNER, make_folder, write_private
from journal.model.errors import Code, PalimpsestError
from journal.model.system_user import system_user
from journal.model.version import to_datetime
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyExport, PrivacyRequest
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from journal.erasure.seam import ErasureJournal


def export_folder(journal: ErasureJournal, named: str) -> Path:
    """Where exports are written: the folder that the policy names, else one of the store's own."""
    if named:
        return Path(named).expanduser()
    root = journal.capabilities.folder
    if root is not None:
        return root / "_palimpsest" / "exports"
    return Path("~/.palimpsest/exports").expanduser()


def write_export(journal: ErasureJournal, export: PrivacyExport, data: bytes) -> None:
    """Put a file on record, and then write it."""
    put_export(journal, export)
    path = Path(export.path)
    make_folder(path.parent, OWNER)
    write_private(path, data)


def move_export(journal: ErasureJournal, export: PrivacyExport, target: Path) -> PrivacyExport:
    """Hand a file over at another place, where it stays on record; raises FILE_ACCESS.

    Both places are on record until the old one is empty, so that a kill leaves no file behind that
    nobody removes; the same call then goes on.
    """
    path, goal = reached(export), str(target.resolve())
    if path == Path(goal):
        return _arrived(journal, export)
    if target.exists() and export.path != goal:
        raise PalimpsestError(
            Code.FILE_ACCESS, f"{target} exists already", advice="name a file that is not there yet"
        )
    if export.moved_from is not None and export.path != goal:
        Path(export.path).unlink(missing_ok=True)  # Where an earlier call was to hand it over.
    moving = replace(export, path=goal, moved_from=str(path))
    put_export(journal, moving)
    write_private(target, path.read_bytes())
    path.unlink()
    return _arrived(journal, moving)


def _arrived(journal: ErasureJournal, export: PrivacyExport) -> PrivacyExport:
    """Note that an export lies in one place alone."""
    if export.moved_from is None:
        return export
    arrived = replace(export, moved_from=None)
    put_export(journal, arrived)
    return arrived


def put_export(journal: ErasureJournal, export: PrivacyExport) -> None:
    """Put an export on record as it is now."""
    with journal.exclusive_session() as records:
        rows_of.put_export(records, export)
        records.commit()


def reached(export: PrivacyExport) -> Path:
    """Where an export lies on this machine; raises FILE_ACCESS if it does not.

    While it moves, that is where it came from: the file there is whole, and goes last.
    """
    path = Path(export.path)
    if export.moved_from is not None and Path(export.moved_from).exists():
        return Path(export.moved_from)
    if not path.exists():
        where = "" if export.host == platform.node() else f" on this machine, but on {export.host}"
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the export {export.path} is not there{where}",
            advice="ask there, or submit a new request of access",
        )
    return path


def remove_exports(
    journal: ErasureJournal, found: Sequence[PrivacyExport], by: str, why: str
) -> list[PrivacyExport]:
    """Remove files of this machine, and note that they are gone; those of others stay on record."""
    removed = []
    for export in found:
        if not Path(export.path).exists() and export.host != platform.node():
            continue
        for place in (export.path, export.moved_from):
            if place is not None:
                Path(place).unlink(missing_ok=True)
        removed.append(replace(export, removed_at=to_datetime(journal.clock.now())))
    if removed:
        with journal.exclusive_session() as records:
            for export in removed:
                rows_of.put_export(records, export)
                detail = {"export": export.id, "why": why}
                audit.record(journal, records, by, "privacy.unexport", export.request, detail)
            records.commit()
    return removed


def drop_expired(journal: ErasureJournal, now: datetime, by: str) -> list[PrivacyExport]:
    """Remove the exports past their time that lie on this machine."""
    with journal.reading_session() as records:
        over = [e for e in rows_of.all_exports(records) if e.is_there and e.expires_at <= now]
    return remove_exports(journal, over, by, "expired") if over else []


@operation
def remove_expired_exports(session: ActingSession, _advance: Advance) -> list[PrivacyExport]:
    """Remove the exports past their time that lie on this machine, as the scheduler does."""
    journal = cast("ErasureJournal", session.journal)
    now = to_datetime(journal.clock.now())
    return drop_expired(journal, now, session.recorded_user or system_user())


def drop_naming(journal: ErasureJournal, subjects: Mapping[str, Iterable[str]], by: str) -> None:
    """Remove the exports whose requests name one of these people, as they are being erased.

    In whatever spelling, as far as a table of the store says that two are one. Raises FILE_ACCESS
    for one that lies on another machine: nobody may take it for gone.
    """
    with journal.reading_session() as records:
        there = [e for e in rows_of.all_exports(records) if e.is_there]
        if not there:
            return
        secret = journal.read_secret()
        forms = recorded_forms(committed_state(journal))
        digests = {
            identity_digest(secret, kind, value, normaliser)
            for kind, values in subjects.items()
            for value in values
            for normaliser in forms.get(kind, PLAIN)
        }
        named = {i.request for i in rows_of.requests_naming(records, sorted(digests))}
        asked = [rows_of.request_by_id(records, e.request) for e in there]
    named |= {r.id for r in asked if r is not None and _may_name(r, digests, set(subjects), forms)}
    found = [e for e in there if e.request in named]
    remove_exports(journal, found, by, "erased")
    for export in found:
        if not Path(export.path).exists() and export.host == platform.node():
            continue
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the export {export.path} holds somebody who is erased, and lies on {export.host}",
            advice="run this there, or remove the file and run `palimpsest privacy export --gone`",
        )


def _may_name(
    request: PrivacyRequest, digests: set[str], types: set[str], forms: FormsByType
) -> bool:
    """True if a request names somebody in another spelling, or if nobody can tell.

    That is so where a type got a normaliser since, of whose form the request has no hash.
    """
    known: Mapping[str, list[str]] = request.detail.get(FORMS, {})
    if not digests.isdisjoint(d for found in known.values() for d in found):
        return True
    both = types & set(request.detail.get("types", {}))
    return any(
        not normaliser.is_plain and f"{kind}{normaliser.suffix}" not in known
        for kind in both
        for normaliser in forms.get(kind, ())
    )
