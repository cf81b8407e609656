"""Writes and checks the evidence of a request: what was asked, decided and done.

    manifest.json    the digest of every other file, the store, and the newest entry of its log
    signature.json   a keyed hash of the manifest: whoever has the store can prove that it is theirs
    request.json     the request, its batch with receipts, and keyed hashes of whom it named
    policies.json    the policy that it was submitted under, and those since
    decisions.json   the entries of the audit log about it: approvals with their names
    erasures.json    the receipts of the erasure machinery
    audit.jsonl      the log since the last anchor, or since the request where that came before
    stores/..        over several stores, such a package of each part, signed by its store

No identifier is in it. Checking it takes the store, whose secret the hashes are made with.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from gateway.privacy_desk.desk import Desk, find_request
from gateway.privacy_desk.desk_stores import DeskStores
from gateway.privacy_desk.package_files import zip_of
from gateway.privacy_desk.several_stores import part_name, with_parts
from gateway.privacy_desk.store_decisions import has_parts
from gateway.privacy_desk.store_parts import part_ids
from gateway.session.operations import Advance, operation
from journal.erasure import audit, erasure_spec
from journal.erasure.audit_anchor import Anchor, newest_anchor
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass
from journal.records import privacy_rows as rows_of
from journal.records.erasure_rows import AuditRow, load_audit

if TYPE_CHECKING:
    from gateway.session.session import Session

_MANIFEST, _SIGNATURE = "manifest.json", "signature.json"
_STORES = "stores/"
_FILES_MAX, _BYTES_MAX = 1_024, 256 << 20


@dataclass(frozen=True, slots=True)
class EvidenceCheck:
    """What a package proves: of which request, and what is wrong with it, if anything is."""

    request: str
    entries: int
    problems: tuple[str, ...]


@operation
def make_evidence(
    session: Session, _advance: Advance, name: str, anchors: Sequence[Anchor] = ()
) -> bytes:
    """The evidence of a request as a zip archive; the log in it begins behind the last anchor."""
    desk = Desk(session)
    parts = _parts_evidence(desk, name, anchors)
    with desk.writing() as records:
        request = find_request(records, name)
        desk.note(records, "evidence", request.id, {"state": request.state})
        log = load_audit(records)
        newest = newest_anchor(records, log, audit.FIRST, desk.now())
        batch = next((b for b in rows_of.all_batches(records) if b.id == request.batch), None)
        named = rows_of.identities_of(records, [request.id])
        policies = rows_of.all_policies(records)
        records.commit()
    ids = set(() if batch is None else batch.detail.get("erasures", ()))
    erasures = [r.to_json() for r in erasure_spec.requests(desk.journal) if r.id in ids]
    about = {request.id, request.submission, request.batch, *ids} - {""}
    own = [row for row in log if row.object in about]
    anchored = max((a.entry for a in anchors if a.store == newest.store), default=0)
    first = min([anchored + 1, *(row.seq for row in own)])
    told = asdict(request)
    told["identities"] = [{"type": i.type, "digest": i.digest} for i in named if i.digest]
    told["batch"] = None if batch is None else asdict(batch)
    began = int(request.detail.get("policy", 0))
    files = {
        "request.json": _json(told),
        "policies.json": _json([asdict(p) for p in policies if p.version >= began]),
        "decisions.json": _json([asdict(row) for row in own]),
        "erasures.json": _json(erasures),
        "audit.jsonl": _lines(row for row in log if row.seq >= first),
        **parts,
    }
    manifest = {
        "request": request.id,
        "state": request.state,
        "store": newest.store,
        "made_at": desk.now().isoformat(),
        "made_by": desk.by,
        "log": {"entry": newest.entry, "hash": newest.hash},
        "sha256": {n: hashlib.sha256(data).hexdigest() for n, data in files.items()},
    }
    files[_MANIFEST] = _json(manifest)
    signature = _signature(desk.journal.read_secret(), files[_MANIFEST])
    files[_SIGNATURE] = _json({"hmac_sha256": signature})
    return zip_of(files)


def _parts_evidence(desk: Desk, name: str, anchors: Sequence[Anchor]) -> dict[str, bytes]:
    """The packages of a request's parts; raises PROCESS_STORE for a store that is away."""
    with desk.reading() as records:
        request = find_request(records, name)
        batches = [b for b in rows_of.all_batches(records) if b.id == request.batch]
    if not has_parts(request):
        return {}
    found: dict[str, bytes] = {}
    with DeskStores(desk.session) as sessions:
        called = part_name(sessions.control, request.id)
        for store_name in with_parts(batches[0].detail["stores"]):
            with sessions.session(store_name) as store:
                for part in store.perform(part_ids, [called]):
                    data = store.perform(make_evidence, part, anchors)
                    found[f"{_STORES}{store_name}/{part}.zip"] = data
    return found


def _parts_problems(desk: Desk, files: Mapping[str, bytes]) -> Iterable[str]:
    """What is wrong with the packages of parts, by the stores that signed them."""
    inner = {n.removeprefix(_STORES): d for n, d in files.items() if n.startswith(_STORES)}
    with DeskStores(desk.session) as sessions:
        for name, data in inner.items():
            store_name = name.partition("/")[0]
            try:
                with failures(), sessions.session(store_name) as store:
                    checked = store.perform(check_evidence, data)
            except PalimpsestError as error:
                yield f"{store_name}: its part was not checked: {error.message}"
                continue
            yield from (f"{store_name}: {problem}" for problem in checked.problems)


@operation
def check_evidence(session: Session, _advance: Advance, data: bytes) -> EvidenceCheck:
    """What a package proves by the secret and the log of this store.

    Raises EVIDENCE for what is no package.
    """
    desk = Desk(session)
    files = _unpacked(data)
    with desk.reading() as records:
        log = {row.seq: row.hash for row in load_audit(records)}
    try:
        manifest = json.loads(files[_MANIFEST])
        signature = str(json.loads(files[_SIGNATURE])["hmac_sha256"])
        rows = [AuditRow(**json.loads(text)) for text in files["audit.jsonl"].splitlines()]
        problems = list(_problems(desk.journal.read_secret(), files, manifest, signature, rows))
        problems += [
            f"entry {row.seq} of the log in it is not in the log of this store"
            for row in rows
            if log.get(row.seq) != row.hash
        ]
        if any(n.startswith(_STORES) for n in files):
            problems += _parts_problems(desk, files)
        return EvidenceCheck(str(manifest["request"]), len(rows), tuple(problems))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _no_evidence("a file in it cannot be read") from error


def _problems(
    secret: str,
    files: Mapping[str, bytes],
    manifest: Mapping[str, Any],
    signature: str,
    rows: Sequence[AuditRow],
) -> Iterable[str]:
    if not hmac.compare_digest(signature, _signature(secret, files[_MANIFEST])):
        yield "the manifest was altered, or another store signed it"
    listed = dict(manifest["sha256"])
    for name in sorted({*listed, *files} - {_MANIFEST, _SIGNATURE}):
        if name not in files:
            yield f"{name} is missing"
        elif hashlib.sha256(files[name]).hexdigest() != listed.get(name):
            yield f"{name} is not the file that the manifest lists"
    previous: AuditRow | None = None
    for row in rows:
        if not hmac.compare_digest(row.hash, audit.entry_hash(secret, row)):
            yield f"entry {row.seq} of the log in it was altered"
        if previous is not None and (row.previous, row.seq) != (previous.hash, previous.seq + 1):
            yield f"entry {row.seq} of the log in it does not follow the one before"
        previous = row
    if previous is None or previous.hash != manifest["log"]["hash"]:
        yield "the log in it does not end with the entry that the manifest names"


def _unpacked(data: bytes) -> dict[str, bytes]:
    try:
        with ZipFile(io.BytesIO(data)) as read:
            found = read.infolist()
            size = sum(one.file_size for one in found)
            if len(found) > _FILES_MAX or size > _BYTES_MAX:
                raise _no_evidence("it holds more than a package has")
            return {one.filename: read.read(one) for one in found}
    except BadZipFile as error:
        raise _no_evidence("it is no zip archive") from error


def _signature(secret: str, manifest: bytes) -> str:
    key = hmac.new(bytes.fromhex(secret), b"palimpsest privacy desk evidence", "sha256").digest()
    return hmac.new(key, manifest, "sha256").hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, default=str).encode()


def _lines(rows: Iterable[AuditRow]) -> bytes:
    return "".join(json.dumps(asdict(row), sort_keys=True) + "\n" for row in rows).encode()


def _no_evidence(why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.EVIDENCE,
        f"this is not the evidence of a privacy request: {why}",
        advice="name a file that `palimpsest privacy evidence` wrote, as it wrote it",
    )
