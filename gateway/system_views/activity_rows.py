"""Rows of ``system.sessions`` and ``system.statements``: who is connected, and what they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from gateway.activity.activity import Activity, ActivityReader

Row = tuple[Any, ...]
_TEXT, _NUMBER, _MOMENT = pa.string(), pa.int64(), pa.timestamp("us", "UTC")


def session_rows(activity: Activity, reader: ActivityReader) -> Iterator[Row]:
    """One row for each session of this process on the warehouse that the reader may see."""
    for found in filter(reader.sees, activity.sessions()):
        session, last = found.session(), found.last
        user = None if session is None else session.recorded_user
        application = None if session is None else session.settings.application
        runs = last is not None and last.state == "running"
        yield (
            *(found.id, user, application, found.front_end, found.client, found.state),
            _moment(found.started_s),
            *((last.id, last.text) if last is not None and runs else (None, None)),
        )


def statement_rows(activity: Activity, reader: ActivityReader) -> Iterator[Row]:
    """Statements that run, and those that ended last, the newest first."""
    for noted in filter(reader.sees, activity.statements()):
        error = None if noted.error is None else noted.error.code.value.code
        yield (
            *(noted.id, noted.session.id, noted.user, noted.application, noted.session.client),
            *(noted.digest, noted.text, noted.state, noted.rows, noted.bytes),
            *(_moment(noted.started_s), noted.elapsed_s, error),
        )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


ACTIVITY_RELATIONS: dict[str, tuple[Any, Callable[[Activity, ActivityReader], Iterator[Row]]]] = {
    "sys_sessions": (
        [
            *(("id", _NUMBER), ("user", _TEXT), ("application", _TEXT), ("front_end", _TEXT)),
            *(("client", _TEXT), ("state", _TEXT), ("started_at", _MOMENT)),
            *(("statement_id", _NUMBER), ("statement", _TEXT)),
        ],
        session_rows,
    ),
    "sys_statements": (
        [
            *(("id", _NUMBER), ("session_id", _NUMBER), ("user", _TEXT), ("application", _TEXT)),
            *(("client", _TEXT), ("digest", _TEXT), ("statement", _TEXT), ("state", _TEXT)),
            *(("rows", _NUMBER), ("bytes", _NUMBER), ("started_at", _MOMENT)),
            *(("seconds", pa.float64()), ("error_code", _TEXT)),
        ],
        statement_rows,
    ),
}
"""The columns of these relations, and their rows, by the names that plans give them."""
