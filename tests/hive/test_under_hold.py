"""What a legal hold covers in a Hive store, while a request to erase it waits."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from tests.support import under_hold

pytestmark = pytest.mark.timeout(900)


@pytest.mark.slow
@pytest.mark.parametrize("sealed", [False, True], ids=["written", "sealed"])
@pytest.mark.parametrize("action", ["DELETE", "ARCHIVE"])
@pytest.mark.parametrize("waits", ["ACCEPTED", "ON_HOLD"])
def test_retention_removes_no_row_under_a_hold(
    con: Connection, waits: str, action: str, sealed: bool
) -> None:
    under_hold.check_retention(con, waits=waits, action=action, sealed=sealed)
