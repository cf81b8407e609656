"""The features of servers of PostgreSQL's family, and how they distribute rows.

A server is asked once, when its first connection is made; what it can do stands in ``Abilities``,
by which the adapter chooses. Says SQL and runs none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.records.catalog_format import OLDEST_SERVER
from journal.sql.relations import ident
from journal.stores.postgres.dialect.text import shortened

ASK = (
    "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'gp_distribution_policy'"
    " AND relnamespace = 11), current_setting('server_version_num')::integer, version()"
)
"""Eleven is ``pg_catalog`` in every version; the table is in Greenplum and what came of it."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a server can do: lay rows on segments by some columns, and some kinds of statements."""

    distributes: bool
    has_view_triggers: bool
    has_statement_triggers: bool
    writes_several_at_once: bool
    indexes_beside_writers: bool
    asks_number: str
    """Asks for the number of a transaction that may have written; NULL: it has not."""


_NUMBER = "SELECT txid_current_if_assigned()::text"
POSTGRESQL = Abilities(False, True, True, True, True, _NUMBER)
# What only segments have written has no number on the coordinator unless one is asked for.
GREENPLUM = Abilities(True, False, False, False, False, "SELECT txid_current()::text")


def abilities(answer: Sequence[Any]) -> Abilities:
    """What a server can do that has given this answer; raises NOT_SUPPORTED for an old one."""
    distributes, number, shown = answer
    if number < OLDEST_SERVER:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the server is older than PostgreSQL 12, or made from an older one: {shown}",
            advice="use PostgreSQL 12 or later, or Greenplum 7; a table of another database can be"
            " exported to Parquet files and adopted by an embedded warehouse",
        )
    return GREENPLUM if distributes else POSTGRESQL


RANDOMLY = " DISTRIBUTED RANDOMLY"


def distributed_by(columns: Iterable[str]) -> str:
    """The end of a CREATE TABLE whose rows lie together where they have these values alike."""
    names = ", ".join(ident(shortened(c.casefold())).sql(dialect="postgres") for c in columns)
    return f" DISTRIBUTED BY ({names})"
