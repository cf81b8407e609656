"""Marks in a second place that show changes of the audit log, the lists or the secret.

    records      the number and hash of the newest entry, the number that a folder has noted, and a
                 keyed hash by which the secret is known again; all are written with the entry
    entries      of erasures and holds have digests of the suppression list and of the holds
    a folder     _palimpsest/audit.head has the newest entry as of the last time it was closed

So it is noticed where entries at the end, or all of them, are gone, where the lists were changed by
hand, where the file is gone or an older one, and where another secret was put in the place of the
one that everything was hashed with. No later entry, and no later close, covers what was noticed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Sequence, Set
from datetime import datetime
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any

from journal.erasure.secret import PRIVATE
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class _Head:
    """The newest entry as the records have it, and the newest that a folder has noted (0: none)."""

    seq: int
    hash: str
    noted: int = 0

    def signed(self, secret: str) -> str:
        """The same as the records keep it, with its keyed hash."""
        said = f"{self.seq} {self.hash} {self.noted}" if self.noted else f"{self.seq} {self.hash}"
        return f"{said} {_keyed(secret, said)}"


def mark_entry(session: RecordSession, secret: str, row: AuditRow) -> None:
    """Note the newest entry, in the transaction that adds it, and by what its secret is known.

    The mark only moves on from the entry before: one that somebody altered or removed, or that
    names another entry, stays as it is, for it shows what was done.
    """
    if get_meta(session, _SECRET) is None:
        put_meta(session, _SECRET, _keyed(secret, _SECRET))
        put_meta(session, _HEAD, _Head(row.seq, row.hash).signed(secret))
    elif (head := _head_of(session, secret)) is not None and head.hash == row.previous:
        put_meta(session, _HEAD, _Head(row.seq, row.hash, head.noted).signed(secret))


def _head_of(session: RecordSession, secret: str) -> _Head | None:
    """The mark in the records; None if it is gone or was altered."""
    marked = get_meta(session, _HEAD)
    said, _, keyed = ("" if marked is None else marked).rpartition(" ")
    if not hmac.compare_digest(keyed, _keyed(secret, said)):
        return None
    seq, found, *noted = said.split()
    return _Head(int(seq), found, int(noted[0]) if noted else 0)


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
    head = _head_of(session, secret)
    hashes = {row.hash for row in rows}
    if head is not None:
        if head.hash not in hashes:
            yield f"the log lacks entry {head.seq}, the newest on record: its end was removed"
        elif head.hash != rows[-1].hash:
            yield f"entries were added behind {head.seq}, which is on record as the newest"
    elif get_meta(session, _HEAD) is not None:
        yield "the record of the newest entry was altered"
    elif rows and get_meta(session, _SECRET) is not None:
        yield "the record of the newest entry is gone"
    if folder is not None:
        yield from _note_problems(read_note(folder), hashes, 0 if head is None else head.noted)


def _note_problems(note: Note | None, hashes: Set[str], noted: int) -> Iterator[str]:
    """Where a folder's file is not what was written, at least up to the entry ``noted``."""
    place = f"{PRIVATE}/{_FILE}"
    if note is None:
        if noted:
            yield f"{place} is gone or damaged; it had noted entry {noted}"
    elif note.hash not in hashes:
        yield (
            f"the log lacks entry {note.seq}, which {place} has noted:"
            " entries at its end were removed, or the log is that of an older copy"
        )
    elif note.seq < noted:
        yield f"{place} is an older one: it notes entry {note.seq}, and had noted entry {noted}"


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


def is_note_due(folder: Path, session: RecordSession, secret: str) -> bool:
    """True if a folder's file lacks the newest entry and nothing shows that somebody changed it."""
    return _due_note(folder, session, secret) is not None


def note_head(folder: Path, session: RecordSession, secret: str) -> None:
    """Note the newest entry in a file, and in the session's transaction that the file has it.

    What shows that somebody changed the log, its mark or the file stays as it is.
    """
    note = _due_note(folder, session, secret)
    if note is not None:
        # The file comes first: a crash in between leaves it ahead of the records: no damage.
        _write_note(folder, note)
        put_meta(session, _HEAD, _Head(note.seq, note.hash, note.seq).signed(secret))


def _due_note(folder: Path, session: RecordSession, secret: str) -> Note | None:
    last, note, head = last_audit(session), read_note(folder), _head_of(session, secret)
    if last is None or head is None or head.hash != last.hash or head.noted == last.seq:
        return None
    if (0 if note is None else note.seq) < head.noted:
        return None
    if note is not None and not has_entry(session, note.hash):
        return None
    return Note(last.seq, last.hash)


@dataclass(frozen=True, slots=True)
class Note:
    """The entry that a warehouse's file notes."""

    seq: int
    hash: str


def read_note(folder: Path) -> Note | None:
    """What a warehouse's file notes; None if the file is not there or damaged."""
    try:
        seq, found = (folder / PRIVATE / _FILE).read_text().split()
        return Note(int(seq), found)
    except (OSError, ValueError):
        return None


def _write_note(folder: Path, note: Note) -> None:
    place = folder / PRIVATE / _FILE
    draft = place.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(f"{note.seq} {note.hash}")
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(place)


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
