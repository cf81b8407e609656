"""Triggers on tables of journals that refuse writers other than the gateway.

Triggers that cost the gateway nothing: none is fired by its own INSERTs, and nothing else is ever
done to rows of a journal. They keep from accidents, not from a purpose: an owner can switch them
off, or say that the session is a gateway's. What indexes and counts tell then stands in ADR 0050.
Servers whose statements have no triggers have no guards. Runs in the session it is given; commits
nothing, and touches no journal that others write too.
"""

from __future__ import annotations

from journal.stores.postgres.store import PostgresSession

A_GATEWAY = "'palimpsest.gateway', 'on'"
"""Name and value of the setting by which guards know a gateway's session, as SQL."""
_GUARD = "SELECT _palimpsest.guard(?::regclass)"
_GUARD_ALL = (
    "SELECT _palimpsest.guard(c.oid) FROM pg_class c WHERE c.relkind IN ('r', 'p')"
    " AND c.relnamespace = '_palimpsest'::regnamespace AND NOT c.relispartition"
    " AND c.relname ~ '^t[0-9]+_(head_[0-9]+|s[0-9]+_[0-9]+)$'"
    " AND pg_has_role(c.relowner, 'USAGE')"
    " AND NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = c.oid"
    " AND g.tgname = 'palimpsest_guard')"
)


def guard(session: PostgresSession, place: str) -> None:
    """Guard a table behind a journal, whose name is given as SQL, with its partitions."""
    if session.abilities.has_statement_triggers:
        session.text(_GUARD, [place])


def guard_all(session: PostgresSession) -> None:
    """Guard what an earlier version left unguarded of the tables of the session's role."""
    if session.abilities.has_statement_triggers:
        session.text(_GUARD_ALL)
