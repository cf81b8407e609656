"""Something that happens once, in the midst of what a test runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def once_after(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, then: Callable[[], object]
) -> None:
    """Have ``then`` called once, when what ``owner`` calls ``name`` has returned."""
    called, left = getattr(owner, name), [then]

    def calling(*arguments: Any, **more: Any) -> Any:
        found = called(*arguments, **more)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(owner, name, calling)
