"""Rules for the fields of a declaration, and the error for one field. Values; pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.governance.declarations import Path
from journal.model.lazy_dataclass import dataclass


class FieldError(Exception):
    """What is wrong at one place of a declaration."""

    def __init__(self, path: Path, message: str, advice: str) -> None:
        super().__init__(message)
        self.path, self.message, self.advice = path, message, advice


Check = Callable[[Any, Path], Any]
"""Takes a value and where it stands; returns its canonical form, or raises ``FieldError``."""


@dataclass(frozen=True, slots=True)
class FieldRule:
    """What a field takes, and whether it has to be there."""

    check: Check
    is_required: bool = False
