"""Recognises transaction control statements by their first words; never runs anything."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

ControlKind: TypeAlias = Literal[
    "begin", "commit", "rollback", "savepoint", "rollback_to", "release"
]

_PATTERNS: tuple[tuple[ControlKind, re.Pattern[str]], ...] = (
    ("begin", re.compile(r"^(begin|start\s+transaction)\b", re.IGNORECASE)),
    ("commit", re.compile(r"^(commit|end)\b", re.IGNORECASE)),
    ("rollback_to", re.compile(r"^rollback\b.*?\bto\s+(?:savepoint\s+)?(\S+?)\s*;?$", re.I)),
    ("rollback", re.compile(r"^(rollback|abort)\b", re.IGNORECASE)),
    ("savepoint", re.compile(r"^savepoint\s+(\S+?)\s*;?$", re.IGNORECASE)),
    ("release", re.compile(r"^release\s+(?:savepoint\s+)?(\S+?)\s*;?$", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Control:
    """A transaction control statement and the savepoint it names, if any."""

    kind: ControlKind
    savepoint: str


def parse_control(sql: str) -> Control | None:
    """Return the transaction control statement in `sql`; None for any other statement."""
    text = " ".join(sql.split())
    for kind, pattern in _PATTERNS:
        found = pattern.match(text)
        if found:
            named = kind in ("rollback_to", "savepoint", "release")
            return Control(kind, found.group(1).strip('"').lower() if named else "")
    return None
