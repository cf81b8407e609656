"""Reading by position always: positions are found before each read, however small the table.

Tests that say what a table holds run a second time under this, so that both ways to read the
current view are held against the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from journal.stores.embedded.journal import Journal
from journal.stores.embedded.positions import PositionKeeper, Positions, Thresholds
from journal.transactions.state import TableState

EVERY_TABLE = Thresholds(rows_min=1, ended_min_per_mille=0, wait_ns_per_row=0, again_ns_per_row=0)


class AtOnce(PositionKeeper):
    """Finds positions for whoever asks; ``given`` counts how often there were any."""

    given = 0

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal, EVERY_TABLE)

    def of(self, table_id: int, state: TableState) -> Positions | None:
        found = super().of(table_id, state)
        if found is None and self.thresholds.admits(state):
            self.find(table_id)
            found = super().of(table_id, state)
        AtOnce.given += found is not None
        return found


@contextmanager
def always_by_position() -> Iterator[None]:
    """Warehouses that are opened meanwhile are read by position; at least one was."""
    before = AtOnce.given
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("journal.stores.embedded.journal.PositionKeeper", AtOnce)
        yield
    assert AtOnce.given > before
