"""What vouches for the audit log, the lists and the secret from a second place.

    records      the number and hash of the newest entry, and a keyed hash by which the secret is
                 known again; both are written with the entry
    entries      of erasures and holds have digests of the suppression list and of the holds
    a folder     _palimpsest/audit.head has the newest entry as of the last time it was closed

So it is noticed where entries at the end, or all of them, are gone, where the lists were changed by
hand, and where another secret was put in the place of the one that everything was hashed with.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any

from journal.erasure.secret import PRIVATE
from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import RecordSession
from journal.records.catalog_format import get_meta, put_meta
from journal.records.erasure_rows import AuditRow, has_entry, last_audit
from journal.records.record_types import RecordType
from journal.records.schema import HOLDS, SUPPRESSIONS
from journal.records.statements import RecordStatement, execute, select

LISTS = "lists"
"""What the digests are called in the detail of an entry."""
_HEAD, _SECRET = "audit_head", "secret_check"
_FILE = "audit.head"
_ROWS = {"holds": select(HOLDS), "suppressions": select(SUPPRESSIONS)}


def mark_entry(session: RecordSession, secret: str, row: AuditRow) -> None:
    """Note the newest entry, in the transaction that adds it, and by what its secret is known."""
    put_meta(session, _HEAD, f"{row.seq} {row.hash} {_keyed(secret, f'{row.seq} {row.hash}')}")
    if get_meta(session, _SECRET) is None:
        put_meta(session, _SECRET, _keyed(secret, _SECRET))


def has_marks(session: RecordSession) -> bool:
    """True if entries were recorded, whether or not they are still there."""
    return get_meta(session, _HEAD) is not None or get_meta(session, _SECRET) is not None


def is_known_secret(session: RecordSession, secret: str) -> bool:
    """True for the secret that entries were made with, and where there are none yet."""
    known = get_meta(session, _SECRET)
    return known is None or hmac.compare_digest(known, _keyed(secret, _SECRET))


def check_known_secret(session: RecordSession, secret: str) -> None:
    """Raise WAREHOUSE_FORMAT for another secret than that which entries were made with."""
    if not is_known_secret(session, secret):
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            f"{PRIVATE}/secret.key is not the one that the warehouse was hashed with: erased values"
            " would not be recognised by it",
            advice="copy the file back from the warehouse that this one was copied from",
        )


def head_problems(
    session: RecordSession, secret: str, rows: Sequence[AuditRow], folder: Path | None
) -> Iterator[str]:
    """Where the log does not end as was noted in the records, and in ``folder``."""
    marked = get_meta(session, _HEAD)
    if marked is not None:
        seq, found, keyed = [*marked.split(), "", "", ""][:3]
        if not hmac.compare_digest(keyed, _keyed(secret, f"{seq} {found}")):
            yield "the record of the newest entry was altered"
        elif found not in {row.hash for row in rows}:
            yield f"the log lacks entry {seq}, the newest on record: its end was removed"
        elif found != rows[-1].hash:
            yield f"entries were added behind {seq}, which is on record as the newest"
    elif rows and get_meta(session, _SECRET) is not None:
        yield "the record of the newest entry is gone"
    noted = None if folder is None else read_note(folder)
    if noted is not None and noted.partition(" ")[2] not in {row.hash for row in rows}:
        yield (
            f"the log lacks entry {noted.partition(' ')[0]}, which {PRIVATE}/{_FILE} has noted:"
            " entries at its end were removed, or the log is that of an older copy"
        )


def lists_now(session: RecordSession) -> dict[str, list[Any]]:
    """Of holds and of suppressions how many there are, and a digest that knows no order."""
    return {name: _digest(session, rows) for name, rows in _ROWS.items()}


def lists_problems(rows: Sequence[AuditRow], now: dict[str, list[Any]]) -> Iterator[str]:
    """Where holds or suppressions are not what the newest entry about them says."""
    details = (json.loads(row.detail) for row in reversed(rows))
    said = next((detail[LISTS] for detail in details if LISTS in detail), now)
    for name, found in now.items():
        if name in said and said[name] != found:
            yield (
                f"the {name} are not those of the newest entry about them: {found[0]} rows,"
                f" {said[name][0]} were recorded"
            )


def note_head(folder: Path, session: RecordSession) -> None:
    """Note the newest entry in a file, unless the file tells of one that the log lacks."""
    last, noted = last_audit(session), read_note(folder)
    if last is None or noted == f"{last.seq} {last.hash}":
        return
    if noted is not None and not has_entry(session, noted.partition(" ")[2]):
        return  # It is what shows that entries were removed.
    place = folder / PRIVATE / _FILE
    draft = place.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(f"{last.seq} {last.hash}")
    draft.replace(place)


def read_note(folder: Path) -> str | None:
    """The number and the hash of the entry that a warehouse's file notes; None if it has none."""
    try:
        return (folder / PRIVATE / _FILE).read_text().strip() or None
    except OSError:
        return None


def _digest(session: RecordSession, rows: RecordStatement) -> list[Any]:
    total, counted = 0, 0
    has_moments = RecordType.MOMENT in rows.gives
    for row in execute(session, rows):
        text = json.dumps([_plain(v) for v in row]) if has_moments else _json(row)
        total += int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        counted += 1
    return [counted, f"{total % 2**256:064x}"]


def _json(row: Sequence[Any]) -> str:
    """What ``json.dumps`` writes, sooner where there are texts, whole numbers and NULL alone."""
    parts = []
    for value in row:
        if type(value) is str:
            parts.append(encode_basestring_ascii(value))
        elif type(value) is int:
            parts.append(str(value))
        elif value is None:
            parts.append("null")
        else:
            return json.dumps(row)
    return f"[{', '.join(parts)}]"


def _plain(value: Any) -> Any:
    return round(value.timestamp() * 1_000_000) if isinstance(value, datetime) else value


def _keyed(secret: str, text: str) -> str:
    return hmac.new(bytes.fromhex(secret), text.encode(), hashlib.sha256).hexdigest()
