"""Anchors of the audit log: its newest entry, noted outside the store as a line of JSON.

    {"at": "2026-11-24T05:00:00+00:00", "entry": 17, "hash": "1f0c..", "store": "5d4e.."}

A line may also have ``timestamp``: a token of RFC 3161 over the rest of the line, in base64.
Whoever cuts the log, or writes it anew, cannot change what is noted where they may not write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.catalog_format import get_meta
from journal.records.erasure_rows import AuditRow


@dataclass(frozen=True, slots=True)
class Anchor:
    """The newest entry of a store's log at a moment: its number, 0 for an empty log, and hash."""

    store: str
    entry: int
    hash: str
    at: datetime
    timestamp: str | None = None

    def line(self) -> str:
        """The anchor as a line of a file."""
        fields = {"at": self.at.isoformat(), "entry": self.entry, "hash": self.hash}
        fields["store"] = self.store
        if self.timestamp is not None:
            fields["timestamp"] = self.timestamp
        return json.dumps(fields, sort_keys=True)

    def stamped_bytes(self) -> bytes:
        """What a timestamp is about: the line without it."""
        return replace(self, timestamp=None).line().encode()


def read_anchors(text: str, file: str) -> list[Anchor]:
    """The anchors in the text of a file; raises FILE_ACCESS for a line that is none."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            at = datetime.fromisoformat(raw["at"])
            timestamp = raw.get("timestamp")
            found.append(Anchor(raw["store"], int(raw["entry"]), raw["hash"], at, timestamp))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise PalimpsestError(
                Code.FILE_ACCESS,
                f"line {number} of {file} is not an anchor of an audit log",
                advice="name a file that `palimpsest audit anchor` wrote, as it wrote it",
            ) from error
    return found


def newest_anchor(
    session: RecordSession, rows: Sequence[AuditRow], first: str, at: datetime
) -> Anchor:
    """The anchor of the log as it is; ``first`` stands for the hash of an empty one."""
    last = rows[-1] if rows else None
    store = store_id(session)
    return Anchor(store, 0, first, at) if last is None else Anchor(store, last.seq, last.hash, at)


def store_id(session: RecordSession) -> str:
    """What a store is known by, wherever it is moved; restored copies have the same."""
    return get_meta(session, "id") or ""


def anchor_problems(
    anchors: Sequence[Anchor], store: str, rows: Sequence[AuditRow]
) -> Iterator[str]:
    """Which anchors the log does not fit, those of other stores apart."""
    own = [anchor for anchor in anchors if anchor.store == store]
    if anchors and not own:
        yield f"none of the {len(anchors)} anchors is of this store, which is known as {store}"
    known = {row.seq: row.hash for row in rows}
    for anchor in own:
        if not anchor.entry or known.get(anchor.entry) == anchor.hash:
            continue
        shown = f"entry {anchor.entry}, which was anchored at {anchor.at.isoformat()}"
        if anchor.entry in known:
            yield f"{shown}, is another one in the log: the log was written anew"
        else:
            yield f"the log lacks {shown}: its end was removed"
