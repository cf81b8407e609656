"""Merges the export files of several stores into one that each of them can remove.

The file lies where the control store's desk writes its files. It is on record there, and in each
store in the place of the part's own: an erasure of its person in any of them removes it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from zipfile import ZipFile

from gateway.privacy_desk.desk import Desk
from gateway.privacy_desk.desk_policy import DeskPolicy
from gateway.privacy_desk.desk_stores import OWN, DeskStores
from gateway.privacy_desk.exporting_steps import is_whole, write_file
from gateway.privacy_desk.package_files import zip_of
from gateway.privacy_desk.store_parts import (
    PartFile,
    files_of_part,
    follow_part_files,
    part_files,
    place_files_of_part,
)
from journal.erasure.package import open_package
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyExport, PrivacyRequest

_PASSPHRASE = "PALIMPSEST_PASSPHRASE"
_MANIFEST = "manifest.json"
_OWN_FOLDER = "_control"
"""The folder of the control store's own part; no profile is called so."""


def merge(
    desk: Desk,
    policy: DeskPolicy,
    sessions: DeskStores,
    request: PrivacyRequest,
    called: str,
    names: Sequence[str],
) -> None:
    """Write the files of a request's parts as one, unless it is there, and let stores follow it.

    Raises FILE_ACCESS for a part's file that lies on another machine.
    """
    export = _export_of(desk, request)
    if export is None or not is_whole(export):
        files: dict[str, bytes] = {}
        told: dict[str, Any] = {}
        rows, until = 0, desk.now() + timedelta(days=policy.export_days)
        for name in names:
            for part in _part_files(desk, sessions, name, called):
                files |= _files(desk, name, part, told)
                rows, until = rows + part.rows, min(until, part.expires_at)
        manifest = {
            "request": request.id,
            "action": request.action,
            "regulation": request.regulation,
            "made_at": desk.now().isoformat(),
            "stores": told,
            "sha256": {n: hashlib.sha256(data).hexdigest() for n, data in files.items()},
        }
        files[_MANIFEST] = json.dumps(manifest, indent=1, sort_keys=True).encode()
        export = write_file(desk, policy, request, zip_of(files), rows, until)
    follow(desk, sessions, called, names, export, None)


def _part_files(desk: Desk, sessions: DeskStores, name: str, called: str) -> list[PartFile]:
    if name == OWN:
        return files_of_part(desk, called)
    with sessions.session(name) as store:
        return store.perform(part_files, called)


def follow(
    desk: Desk,
    sessions: DeskStores,
    called: str,
    names: Sequence[str],
    export: PrivacyExport,
    moved_from: str | None,
) -> None:
    """Let the stores of some parts know where the one file of a request lies."""
    where = (called, export.path, moved_from, export.digest)
    for name in names:
        if name == OWN:
            place_files_of_part(desk, *where)
            continue
        with sessions.session(name) as store:
            store.perform(follow_part_files, *where)


def _export_of(desk: Desk, request: PrivacyRequest) -> PrivacyExport | None:
    with desk.reading() as records:
        return next(iter(rows_of.exports_of(records, [request.id])), None)


def _files(desk: Desk, name: str, part: PartFile, told: dict[str, Any]) -> dict[str, bytes]:
    """The files in a part's, each in the folder of its store; ``told`` is given its manifest."""
    data = part.data
    if not data.startswith(b"PK"):
        passphrase = os.environ.get(_PASSPHRASE, "")
        data = open_package(data, passphrase, desk.now()).files["export.zip"]
    folder = _OWN_FOLDER if name == OWN else name
    with ZipFile(io.BytesIO(data)) as read:
        found = {n: read.read(n) for n in read.namelist()}
    told.setdefault(folder, []).append(json.loads(found.pop(_MANIFEST)))
    return {f"{folder}/{n}": content for n, content in found.items()}
