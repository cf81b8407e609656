"""After opening: remove what an interrupted process left behind.

The store itself replays its log, so what is committed is there and nothing else. What may be left
are segment files that no manifest lists; they were never visible and are removed.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from journal.journal import Journal


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery removed."""

    orphans: tuple[str, ...]


def recover(journal: Journal) -> Recovered:
    """Remove segment files that are not listed; called before the first statement."""
    orphans = unlisted_files(journal)
    for path in orphans:
        shutil.rmtree((journal.root / path).parent, ignore_errors=True)
    return Recovered(tuple(orphans))


def unlisted_files(journal: Journal) -> list[str]:
    """Segment files on disk that no manifest lists and no transaction has staged."""
    listed = {
        file.path
        for state in journal.state.tables.values()
        for segment in state.manifest.segments
        for file in segment.files
    }
    return [p for p in journal.warehouse.files() if p not in listed and p not in journal.staged]
