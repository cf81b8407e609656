"""Visits of 2024, sealed month by month; one of January is of somebody who goes by a token."""

from __future__ import annotations

from tests.support.client import Client


def fill(run: Client, months: int, mail: str) -> None:
    """Make the table; fifty visits a month, and visit 7 of who has that address."""
    run("SET job_engine = 'local'")
    run(
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, email VARCHAR, day DATE)"
        " WITH (erasure = 'email LOWER')"
    )
    for month in range(1, months + 1):
        run(
            "INSERT INTO visits SELECT ?::INTEGER * 100 + i, 'u' || ? || i || '@x.example',"
            " make_date(2024, ?, 1 + i::INTEGER % 28) FROM range(50) t(i)",
            *(month, month, month),
        )
        if month == 1:
            run("INSERT INTO visits VALUES (7, ?, DATE '2024-01-07')", mail)
        run("CALL system.flush('visits')")
