"""The report of a verification, and the problems in it, for every store.

An empty list of problems is the proof that nothing was found. Holds values, looks at nothing.
"""

from __future__ import annotations

from dataclasses import asdict, field
from typing import Any

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: its kind, the table, and where and what."""

    kind: str
    table: str
    message: str


@dataclass(slots=True)
class Verification:
    """What was looked at and what was found."""

    tables: int = 0
    segments: int = 0
    files: int = 0
    bytes: int = 0
    rows: int = 0
    problems: list[Problem] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    dangling: dict[str, int] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """True when nothing is wrong; unlisted files are litter, dangling rows are allowed."""
        return not self.problems

    @property
    def known_bytes(self) -> int | None:
        """``bytes``; None where rows were looked at in a store that tells no sizes."""
        return self.bytes if self.bytes or not self.rows else None

    def to_json(self) -> dict[str, Any]:
        """A plain structure; unknown numbers are None."""
        return {"clean": self.is_clean, **asdict(self), "bytes": self.known_bytes}
