"""The catalog's record of runs of jobs: rows of text by id. Decides nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from journal.stores.hive.catalog_db.catalog import define, primary

JOBS = define(
    "jobs",
    primary("id", sa.String(64)),
    sa.Column("state", sa.String(16), nullable=False, index=True),
    sa.Column("row", sa.Text, nullable=False),
)
UNDER_WAY = "RUNNING"


def load_jobs(connection: Connection, *, under_way: bool) -> list[list[str | None]]:
    """Every run, or those that are on record as under way."""
    wanted = sa.select(JOBS.c.row)
    if under_way:
        wanted = wanted.where(JOBS.c.state == UNDER_WAY)
    return [json.loads(row) for row in connection.scalars(wanted)]


def put_job(connection: Connection, job_id: str, state: str, row: Sequence[str | None]) -> None:
    """Record a run, or what became of it."""
    connection.execute(sa.delete(JOBS).where(JOBS.c.id == job_id))
    values = {"id": job_id, "state": state, "row": json.dumps(list(row))}
    connection.execute(sa.insert(JOBS).values(values))
