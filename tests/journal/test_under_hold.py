"""What a legal hold covers in an embedded warehouse, while a request to erase it waits."""

from __future__ import annotations

import pytest

from tests.support import under_hold
from tests.support.client import Client


@pytest.mark.parametrize("sealed", [False, True], ids=["head", "sealed"])
@pytest.mark.parametrize("action", ["DELETE", "ARCHIVE"])
@pytest.mark.parametrize("waits", ["ACCEPTED", "ON_HOLD"])
def test_retention_removes_no_row_under_a_hold(
    run: Client, waits: str, action: str, sealed: bool
) -> None:
    under_hold.check_retention(run.connection, waits=waits, action=action, sealed=sealed)
