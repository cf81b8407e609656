"""The scheduler over a Hive store: what is due, once, whoever runs it."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from tests.support import scheduling

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("check", scheduling.CHECKS)
def test_the_scheduler(
    check: scheduling.Check, con: Connection, connect: scheduling.Connect
) -> None:
    check(con, connect)


def test_a_killed_run(con: Connection, url: str) -> None:
    scheduling.check_killed(con, url)
