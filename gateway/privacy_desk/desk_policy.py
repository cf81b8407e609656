"""The desk's policy: deadlines, approvals, sizes of batches, prices. Values. Pure.

The deadlines are those that the laws name for a first answer; each can be set, and others added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from journal.erasure.column_changes import parse_change
from journal.model.duration import Duration
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold

ERASE = "erase"
"""The action that tables and columns have without being told: rows of people go."""
KEEP = "keep"
ROWS = "rows"
"""The action of a table whose rows go, without the people: they may be written again."""


class PrivacyAction(StrEnum):
    """What somebody asks for."""

    ACCESS = "access"
    ERASURE = "erasure"
    PORTABILITY = "portability"
    RESTRICTION = "restriction"
    RECTIFICATION = "rectification"


DEADLINES: Mapping[str, str] = {
    "GDPR": "1 MONTH",
    "UK-GDPR": "1 MONTH",
    "CCPA": "45 DAYS",
    "CPRA": "45 DAYS",
    "VCDPA": "45 DAYS",
    "LGPD": "15 DAYS",
    "PIPEDA": "30 DAYS",
}
"""How long a first answer may take, by regulation."""
_MONTHS_DIFFER = timedelta(days=4)
BATCH_MAX = 100_000
"""So many identifiers one request of the erasure machinery takes."""


@dataclass(frozen=True, slots=True)
class DeskPolicy:
    """What the desk goes by; each change is a version on record.

    ``identity_checks`` and ``four_eyes`` name the actions that wait until somebody has verified who
    asks, and until somebody else than the requester has approved. ``batch_identities`` bounds a
    batch; ``batch_bytes``, ``batch_seconds`` and ``batch_price`` what one scan of it may read, take
    and cost (0: no bound); ``batch_age`` makes even a small batch due. ``scan_mb_per_second`` and
    ``price_per_tb`` make estimates of bytes read. ``exports`` says whether exports hold all
    versions of rows (``history``) or the ``latest``; they are written to ``export_folder`` (empty:
    one of the store's own), and last ``export_days``. ``verification`` is ``search`` (look for the
    people once more) or ``receipts``. ``waived`` are tables and files that no request need cover,
    though values of people went into them. ``scheduled`` says whether schedulers run batches that
    are ``due``, or ``none``. ``actions`` say, by ``schema.table.column``, what becomes of a column
    where the rows of people stay, and by ``schema.table`` why a table is kept as it is, or that its
    rows go without their people; see ``table_actions``. ``stores`` are those that requests are
    about which name none; see ``desk_stores``.
    """

    deadlines: Mapping[str, str] = field(default_factory=lambda: dict(DEADLINES))
    warn_before: str = "7 DAYS"
    identity_checks: tuple[str, ...] = ()
    four_eyes: tuple[str, ...] = ()
    batch_identities: int = BATCH_MAX
    batch_bytes: int = 0
    batch_seconds: float = 0.0
    batch_price: float = 0.0
    batch_age: str = "1 DAYS"
    scan_mb_per_second: float = 200.0
    price_per_tb: float = 0.0
    currency: str = "EUR"
    exports: str = "history"
    export_days: int = 30
    export_folder: str = ""
    verification: str = "search"
    waived: tuple[str, ...] = ()
    scheduled: str = "due"
    actions: Mapping[str, str] = field(default_factory=dict)
    stores: tuple[str, ...] = ()

    @staticmethod
    def of_json(text: str) -> DeskPolicy:
        """As it was stored."""
        raw = json.loads(text)
        lists = {n: tuple(raw[n]) for n in _LISTS if n in raw}
        return DeskPolicy(**{**raw, **lists})

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def to_dict(self) -> dict[str, Any]:
        """By the name of each setting."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @property
    def part_bytes(self) -> int:
        """How many bytes of tables one part of a batch may have, by all its bounds; 0: any.

        >>> DeskPolicy(batch_seconds=2.0, scan_mb_per_second=100.0).part_bytes
        200000000
        """
        bounds = [float(self.batch_bytes), self.batch_seconds * self.scan_mb_per_second * 1e6]
        if self.price_per_tb:
            bounds.append(self.batch_price / self.price_per_tb * 1e12)
        return max(1, int(min(known))) if (known := [b for b in bounds if b]) else 0

    def due_at(self, regulation: str, received: datetime) -> datetime:
        """By when a request is to be answered; raises PRIVACY_REQUEST for an unknown regulation."""
        given = self.deadlines.get(regulation)
        if given is None:
            raise PalimpsestError(
                Code.PRIVACY_REQUEST,
                f"the policy has no deadline for {regulation}",
                advice=f"it has those of {', '.join(sorted(self.deadlines))}; add one:"
                f" palimpsest privacy policy --set deadlines.{regulation}='30 days'",
            )
        return Duration.parse(given).after(received)

    def warns_at(self, due: datetime) -> datetime:
        """From when on a request is reported as due soon."""
        return Duration.parse(self.warn_before).before(due)

    def warns_until(self, now: datetime) -> datetime:
        """A time by which all requests are due that ``warns_at`` reports now, and perhaps more.

        Months differ in length, so that what is before a date need not be as far behind another.
        """
        return Duration.parse(self.warn_before).after(now) + _MONTHS_DIFFER

    def changed(self, settings: Mapping[str, str]) -> DeskPolicy:
        """With some settings, each as text; raises PRIVACY_POLICY for one that cannot be."""
        policy = self
        for name, text in settings.items():
            policy = policy._with(name, text.strip())
        return policy

    def _with(self, name: str, text: str) -> DeskPolicy:
        changed: dict[str, Any] = {name: text}
        if name.startswith("deadlines."):
            regulation = name.removeprefix("deadlines.").upper()
            deadline = str(_duration(name, text))
            changed = {"deadlines": {**self.deadlines, regulation: deadline}}
        elif name.startswith("actions."):
            changed = {"actions": with_action(self.actions, name.removeprefix("actions."), text)}
        elif name in {"warn_before", "batch_age"}:
            changed = {name: str(_duration(name, text))}
        elif name in {"identity_checks", "four_eyes"}:
            changed = {name: _actions(name, text)}
        elif name in _NUMBERS:
            changed = {name: _number(name, text, *_NUMBERS[name])}
        elif name in {"waived", "stores"}:
            words = [word.strip() for word in text.split(",")]
            changed = {name: tuple(w for w in dict.fromkeys(words) if w)}
            if name == "stores" and changed[name] == ("none",):
                changed = {name: ()}
        elif name in _CHOICES and text not in _CHOICES[name]:
            raise desk_policy_error(
                f"{name} cannot be {text}", f"take {' or '.join(_CHOICES[name])}"
            )
        elif name not in {*_CHOICES, "currency", "export_folder"}:
            known = ", ".join(f.name for f in fields(self))
            raise desk_policy_error(f"there is no setting {name}", f"there are {known}")
        return replace(self, **changed)


_LISTS = ("identity_checks", "four_eyes", "waived", "stores")
_CHOICES = {
    "exports": ("history", "latest"),
    "verification": ("search", "receipts"),
    "scheduled": ("due", "none"),
}
_NUMBERS: Mapping[str, tuple[type, float, float]] = {
    "batch_identities": (int, 1, BATCH_MAX),
    "batch_bytes": (int, 0, 1 << 60),
    "batch_seconds": (float, 0, 1e9),
    "batch_price": (float, 0, 1e9),
    "scan_mb_per_second": (float, 0.001, 1e9),
    "price_per_tb": (float, 0, 1e9),
    "export_days": (int, 1, 3650),
}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _duration(name: str, text: str) -> Duration:
    try:
        return Duration.parse(text)
    except PalimpsestError as error:
        raise desk_policy_error(f"{name}: {error.message}", error.advice) from error


def _actions(name: str, text: str) -> tuple[str, ...]:
    known = [action.value for action in PrivacyAction]
    words = [word.strip() for word in text.split(",") if word.strip()]
    if words == ["all"]:
        return tuple(known)
    if words == ["none"]:
        return ()
    for word in words:
        if word not in known:
            raise desk_policy_error(
                f"{name}: there is no action {word}", f"take {', '.join(known)}"
            )
    return tuple(dict.fromkeys(words))


def _number(name: str, text: str, kind: type, low: float, high: float) -> float:
    try:
        value: float = kind(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise desk_policy_error(
            f"{name} cannot be {text}", f"give a number from {low:g} to {high:g}"
        )
    return value


def with_action(actions: Mapping[str, str], name: str, text: str) -> dict[str, str]:
    """Actions with that of a table or column; raises PRIVACY_POLICY, or PRIVACY_ACTION. Pure.

    >>> with_action({}, "HR.people.email", "hmac")
    {'hr.people.email': 'hmac'}
    >>> with_action({"hr.people.email": "hmac"}, "hr.people.email", "erase")
    {}
    """
    parts = [fold(part.strip()) for part in name.split(".")]
    word, _, rest = text.partition(" ")
    if len(parts) not in {2, 3} or not all(parts):
        raise desk_policy_error(
            f"actions.{name} names no table and no column",
            "write actions.schema.table.column, or actions.schema.table",
        )
    key = ".".join(parts)
    if word.lower() == ERASE and not rest:
        return {n: t for n, t in actions.items() if n != key}
    if len(parts) == 2:
        if word.lower() == ROWS and not rest:
            return {**actions, key: ROWS}
        if word.lower() != KEEP or not rest.strip():
            raise desk_policy_error(
                f"actions.{name} cannot be {text or 'nothing'}",
                "take erase, rows, or keep with the reason: 'keep tax law, ten years'",
            )
        return {**actions, key: f"{KEEP} {rest.strip()}"}
    return {**actions, key: str(parse_change(parts[2], text))}


def desk_policy_error(message: str, advice: str) -> PalimpsestError:
    """The error of a setting that cannot be."""
    return PalimpsestError(Code.PRIVACY_POLICY, message, advice=advice)
