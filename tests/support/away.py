"""A folder of a file system that is not this machine's, looked at by other means than ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Away:
    """Its URL; ``names`` are the files below it, ``fetch`` copies all of them to a new folder."""

    url: str
    names: Callable[[], list[str]]
    fetch: Callable[[Path], Path]
