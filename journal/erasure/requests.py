"""Erasure requests: their targets, their states, and a receipt for each table.

    ACCEPTED --purge--> PURGED --no old byte left--> COMPLETED
    ACCEPTED --hold placed--> ON_HOLD --released--> ACCEPTED
    ACCEPTED | ON_HOLD | RESTRICTED --cancel--> CANCELLED

A request that a hold covers when it is accepted is ON_HOLD from the beginning. In ACCEPTED nobody
sees the rows, in ON_HOLD nobody sees those that no hold covers; PURGED means that no segment and no
head holds them, while a statement that still runs may keep an old file open. In RESTRICTED nobody
sees the rows, and no purge removes them: they stay until it is cancelled. Requests hold counts and
names of tables, never an identifier. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, field, replace
from enum import StrEnum
from typing import Any

from journal.erasure.column_changes import ColumnChange
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.version import Version, to_datetime
from journal.records.erasure_rows import ErasureRow
from journal.transactions.orphaned_rows import describe_counts


class State(StrEnum):
    """How far a request is."""

    ACCEPTED = "ACCEPTED"
    ON_HOLD = "ON_HOLD"
    PURGED = "PURGED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    RESTRICTED = "RESTRICTED"


_NEXT = {
    State.ACCEPTED: {State.ON_HOLD, State.PURGED, State.CANCELLED},
    State.ON_HOLD: {State.ACCEPTED, State.CANCELLED},
    State.PURGED: {State.COMPLETED},
    State.COMPLETED: set(),
    State.CANCELLED: set(),
    State.RESTRICTED: {State.CANCELLED},
}


OPEN = frozenset({State.ACCEPTED, State.ON_HOLD})
"""The states of requests whose rows are not purged everywhere."""
WAITING = OPEN | {State.PURGED}
"""The states of requests with which a purge has something to do."""


class Outcome(StrEnum):
    """What became of a request in one table."""

    PENDING = "PENDING"
    ERASED = "ERASED"
    SEARCHED_NONE = "SEARCHED_NONE"
    NOT_SEARCHED = "NOT_SEARCHED"


@dataclass(frozen=True, slots=True)
class Target:
    """The receipt of a request for one table.

    Files and bytes are those of live segments; ``kept`` counts those of retired segments, backups
    and archives, ``copies`` those of backups elsewhere, and ``copies_removed`` the versions removed
    there. Digests are of the manifests; ``others`` says what the rewritten files hold
    besides: rows by kind and a sum over them, which were equal before and after. ``copy`` names the
    backup elsewhere that this is the receipt of: it could not be searched with the others.
    ``reject_file`` is the id of a reject file that the purge searches, or removes as a whole.
    ``dangling`` counts by foreign key the current rows that stay and refer to rows that go.
    A table that was not searched ``holds_copies`` where rows or values of one that was are in it.
    ``mask`` is the list of the keys that nobody sees, ``spared`` of those under a legal hold.
    ``changes`` are what becomes of columns where rows stay: ``versions_changed`` counts them, and
    no row is removed. Where it is ``rows_only`` the rows go, and their keys may be written again.
    ``pieces`` are the files or segments that it was searched in, where several share a large table.
    """

    table_id: int
    table: str
    outcome: Outcome
    why: str = ""
    keys: int = 0
    mask: str | None = None
    files_searched: int = 0
    files_skipped: int = 0
    bytes_searched: int = 0
    bytes_skipped: int = 0
    files_rewritten: int = 0
    bytes_rewritten: int = 0
    versions_removed: int = 0
    manifest_before: str = ""
    manifest_after: str = ""
    others: str = ""
    kept_searched: int = 0
    kept_skipped: int = 0
    kept_bytes_searched: int = 0
    kept_bytes_skipped: int = 0
    copies_searched: int = 0
    copies_skipped: int = 0
    copies_bytes_searched: int = 0
    copies_bytes_skipped: int = 0
    copies_rewritten: int = 0
    copies_removed: int = 0
    copy: str | None = None
    dangling: Mapping[str, int] = field(default_factory=dict)
    spared: str | None = None
    reject_file: str | None = None
    is_whole_file: bool = False
    holds_copies: bool = False
    changes: tuple[ColumnChange, ...] = ()
    versions_changed: int = 0
    rows_only: bool = False
    pieces: tuple[str, ...] = ()

    @property
    def frees_keys(self) -> bool:
        """True if the keys of the rows may be written again once they are purged."""
        return self.rows_only or bool(self.changes)

    @property
    def is_deferred(self) -> bool:
        """True for the receipt of what is searched after the request was accepted."""
        return self.copy is not None or self.reject_file is not None

    @property
    def lists(self) -> list[str]:
        """The lists of its keys, as long as they are not purged."""
        return [name for name in (self.mask, self.spared) if name is not None]

    @property
    def remarks(self) -> str:
        """What whoever asks should know besides the counts."""
        return "; ".join(part for part in (self.why, describe_counts(self.dangling)) if part)


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """One request; ``types`` says how many identifiers of each type it named."""

    id: str
    state: State
    accepted: Version
    updated: Version
    by: str
    reason: str | None
    types: Mapping[str, int]
    targets: tuple[Target, ...]
    holder: str | None = None
    waits_for: str = ""
    expires: Version | None = None

    def in_state(self, state: State, now: Version, **changes: Any) -> ErasureRequest:
        """The request in its next state; an illegal step raises ERASURE."""
        if state not in _NEXT[self.state]:
            raise PalimpsestError(
                Code.ERASURE,
                f"request {self.id} is {self.state}, and cannot become {state}",
                advice="a request can be cancelled until its rows are purged",
            )
        return replace(self, state=state, updated=now, **changes)

    def cancelled(self, now: Version) -> ErasureRequest:
        """The request taken back; once rows of it are purged it raises ERASURE."""
        if any(t.outcome is Outcome.ERASED or t.manifest_after for t in self.targets):
            raise PalimpsestError(
                Code.ERASURE,
                f"rows of request {self.id} are purged already",
                advice="a request can be cancelled until its rows are purged",
            )
        bare = tuple(replace(t, mask=None, spared=None) for t in self.targets)
        return self.in_state(State.CANCELLED, now, targets=bare)

    @property
    def unsearched(self) -> list[Target]:
        """The copies and reject files that it was not looked for in yet."""
        left = Outcome.NOT_SEARCHED
        return [t for t in self.targets if t.is_deferred and t.outcome is left]

    @property
    def masks(self) -> list[str]:
        """The lists of keys that hide its rows."""
        return [t.mask for t in self.targets if t.mask is not None]

    def to_row(self) -> ErasureRow:
        """As it is stored."""
        detail = asdict(self)
        for name in ("id", "state", "accepted", "updated"):
            del detail[name]
        return ErasureRow(self.id, self.state.value, self.accepted, self.updated, detail)

    @staticmethod
    def of_row(row: ErasureRow) -> ErasureRequest:
        """As it was stored."""
        detail = dict(row.detail)
        targets = tuple(map(_target, detail.pop("targets")))
        state = State(row.state)
        return ErasureRequest(row.id, state, row.accepted, row.updated, targets=targets, **detail)

    def to_json(self) -> dict[str, Any]:
        """For people and scripts."""
        found = {**asdict(self), "state": self.state.value}
        found["accepted_at"] = to_datetime(self.accepted).isoformat()
        found["updated_at"] = to_datetime(self.updated).isoformat()
        return found


def _target(raw: Mapping[str, Any]) -> Target:
    changes = tuple(map(ColumnChange.of_row, raw.get("changes", ())))
    pieces, outcome = tuple(raw.get("pieces", ())), Outcome(raw["outcome"])
    return Target(**{**raw, "outcome": outcome, "changes": changes, "pieces": pieces})


def looked_for(found: Iterable[ErasureRequest]) -> set[str]:
    """The requests, of all there are, for which something is kept aside to be looked for."""
    return {r.id for r in found if r.state in OPEN and r.unsearched}
