"""Combines the states of a request's parts: wait, go on, fail, or done. Pure.

a store is away, or at work       the batch waits, and says for which store
else one has failed               FAILED; the next run goes on with what failed
else one is on hold               ON_HOLD
else one waits for a backup       AWAITING_BACKUP_EXPIRY
else                              VERIFYING, and then COMPLETED, or PARTIAL where one is not
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.privacy_desk.states import PrivacyEvent, PrivacyState
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_S = PrivacyState
STOPPED = frozenset({_S.CANCELLED, _S.DENIED})
"""The states of parts that nothing was done about."""
_SETTLED = STOPPED | {_S.COMPLETED, _S.PARTIAL}
_RANKED = (
    (_S.FAILED, PrivacyEvent.FAIL),
    (_S.ON_HOLD, PrivacyEvent.HOLD),
    (_S.AWAITING_BACKUP_EXPIRY, PrivacyEvent.AWAIT_BACKUPS),
)
_AWAY = frozenset({Code.PROCESS_STORE, Code.SAFE_MODE})
_CONNECTIONS = ("08", "57", "53")
"""Classes of errors that pass by themselves: of connections, shutdowns, and what is used up."""


@dataclass(frozen=True, slots=True)
class StoreStanding:
    """How far the parts of a batch are in a store, by state; ``receipts`` are of its own batches.

    ``store`` is its id, by which one that has two names is told.
    """

    store: str
    states: Mapping[str, int]
    batches: tuple[str, ...]
    receipts: tuple[Mapping[str, Any], ...]
    uncovered: Mapping[str, str]
    waits_for: str
    error: Mapping[str, str] | None

    def to_json(self) -> dict[str, Any]:
        """As the batch of the control store keeps it, which has the receipts of all together."""
        found: dict[str, Any] = {"store": self.store, "states": dict(self.states)}
        found |= {"batches": list(self.batches), "uncovered": dict(self.uncovered)}
        if self.waits_for:
            found["waits_for"] = self.waits_for
        if self.error is not None:
            found["error"] = dict(self.error)
        return found


Stores = Mapping[str, Mapping[str, Any]]
"""By name what the batch knows of each store: a standing, or that it is ``away``, and why; that it
has no part because it knows ``nothing`` of whom is asked; that it was ``waived``."""


def is_away(error: PalimpsestError) -> bool:
    """True for an error that passes when the store is there again."""
    return error.code in _AWAY or error.code.value.sqlstate.startswith(_CONNECTIONS)


def event_of(stores: Stores) -> tuple[PrivacyEvent | None, str]:
    """What the parts make of their batch, None: it waits; and what it waits for.

    >>> event_of({"a": {"states": {"COMPLETED": 2}}, "b": {"states": {"QUEUED": 1}}})
    (None, 'b: QUEUED')
    >>> event_of({"a": {"states": {"COMPLETED": 2}}, "b": {"states": {"PARTIAL": 1}}})
    (<PrivacyEvent.VERIFY: 'verify'>, '')
    """
    waits = [f"{name}: {why}" for name, one in stores.items() for why in _waits(one)]
    if waits:
        return None, "; ".join(waits)
    for state, event in _RANKED:
        held = [n for n, one in stores.items() if state in one.get("states", ()) or _is(one, state)]
        if held:
            told = (f"{n}: {stores[n].get('waits_for') or state}" for n in held)
            return event, "; ".join(told)
    return PrivacyEvent.VERIFY, ""


def first_error(stores: Stores) -> dict[str, str]:
    """The error of the first store that failed, with its name."""
    for name, one in stores.items():
        if one.get("error"):
            return {**one["error"], "message": f"{name}: {one['error']['message']}"}
    code = Code.PRIVACY_REQUEST.value.code
    return {"code": code, "message": "a part failed", "advice": "palimpsest privacy show"}


def gaps_in(stores: Stores, *, were_named: bool) -> dict[str, str]:
    """What was not done: tables by store, and stores; ``were_named``: one by one, not all."""
    found: dict[str, str] = {}
    for name, one in stores.items():
        found |= {f"{name}:{table}": why for table, why in one.get("uncovered", {}).items()}
        stopped = sorted(STOPPED & set(one.get("states", ())))
        if stopped:
            found[name] = f"its part is {stopped[0]} there"
        if were_named and one.get("nothing"):
            found[name] = one["nothing"]
    return found


def _waits(one: Mapping[str, Any]) -> Iterator[str]:
    if one.get("away"):
        yield one["away"]["message"]
    moving = [s for s in one.get("states", ()) if s not in _SETTLED | {r for r, _ in _RANKED}]
    if moving:
        yield one.get("waits_for") or ", ".join(sorted(moving))


def _is(one: Mapping[str, Any], state: PrivacyState) -> bool:
    return state is _S.FAILED and bool(one.get("error")) and "states" not in one
