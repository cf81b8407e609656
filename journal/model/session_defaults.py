"""Members of a ``StoreSession`` for stores that have nothing faster: made of its other members.

An adapter names them in its class: ``arrow, row = arrow_of, row_of``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from sqlglot import exp

from journal.model.plan import Query
from journal.model.store_session import Parameters, StoreSession


def arrow_of(session: StoreSession, query: Query, parameters: Parameters) -> pa.Table:
    """``StoreSession.arrow``, where nothing is faster."""
    session.execute(query, parameters)
    return session.rest_as_arrow()


def row_of(session: StoreSession, query: Query, parameters: Parameters) -> tuple[Any, ...]:
    """``StoreSession.row``, where nothing is faster."""
    session.execute(query, parameters)
    (found,) = session.fetch_many(2)
    return tuple(found)


def count_of(session: StoreSession, name: str) -> int:
    """``StoreSession.count``, where nothing is faster."""
    counted = exp.select(exp.Count(this=exp.Star())).from_(exp.to_table(name))
    return int(session.row(Query(counted, ()), {})[0])


def nothing_known(_session: object, *_asked: object) -> None:
    """Of a store that does not tell how far a query is, nor whether all its rows have come.

    For ``track_progress``, ``progress`` and ``rows_at_hand``, and for ``server_text`` of a store
    that runs queries as plans have them.
    """
