"""What ``pg_stat_activity`` holds: the sessions of the process; statements without their values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gateway.activity.activity import Activity, ActivityReader
from gateway.servers.pg_catalog import numbering

STATE_RELATION = "pg_stat_activity"


def activity_contents(
    activity: Activity, reader: ActivityReader, database: str
) -> list[dict[str, Any]]:
    """One row for each session that the reader may see, as PostgreSQL has them for its backends."""
    rows: list[dict[str, Any]] = []
    for found in filter(reader.sees, activity.sessions()):
        session, last = found.session(), found.last
        host, _, port = (found.client or "").rpartition(":")
        row: dict[str, Any] = {
            "datid": numbering.DATABASE,
            "datname": database,
            "pid": found.id,
            "usesysid": numbering.OWNER,
            "usename": None if session is None else session.user,
            "application_name": (session and session.settings.application) or "",
            "client_addr": host.strip("[]") or None,
            "client_port": int(port) if port.isdigit() else -1,
            "backend_start": _moment(found.started_s),
            "state": found.state,
            "backend_type": "client backend",
        }
        if last is not None:
            digest = int(last.digest, 16)
            row |= {
                "query_start": _moment(last.started_s),
                "state_change": _moment(last.started_s + (last.seconds or 0.0)),
                "query_id": digest - (1 << 64) if digest >= 1 << 63 else digest,
                "query": last.text,
            }
        rows.append(row)
    return rows


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
