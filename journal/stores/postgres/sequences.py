"""The numbers a database generates for the columns of a table that is to be adopted.

A column has an identity, or a default that asks a sequence. Reads the server's own catalog in the
session it is given; changes nothing, and takes no number.
"""

from __future__ import annotations

from dataclasses import dataclass

from journal.model.schema import Identity
from journal.stores.postgres.store import PostgresSession

_SEQUENCES = (
    "SELECT a.attname, s.seqrelid::regclass::text, a.attidentity::text, s.seqincrement,"
    " coalesce(pg_sequence_last_value(s.seqrelid) + s.seqincrement, s.seqstart),"
    " EXISTS (SELECT 1 FROM pg_depend o WHERE o.refclassid = 'pg_class'::regclass"
    " AND o.refobjid = s.seqrelid AND o.classid = 'pg_attrdef'::regclass AND o.objid <> f.oid)"
    " FROM pg_attribute a LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum"
    " JOIN pg_depend d ON (d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid"
    " AND d.refclassid = 'pg_class'::regclass) OR (d.classid = 'pg_class'::regclass"
    " AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'"
    " AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum)"
    " JOIN pg_sequence s ON s.seqrelid ="
    " CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid ELSE d.refobjid END"
    " WHERE a.attrelid = ?::bigint AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)


@dataclass(frozen=True, slots=True)
class FoundSequence:
    """A sequence behind a column; ``is_shared`` if other columns take numbers of it, too."""

    name: str
    identity: Identity
    is_shared: bool


def sequences(session: PostgresSession, oid: int) -> dict[str, FoundSequence]:
    """The sequences of a table by column; their identities begin with the number that is next."""
    return {
        column: FoundSequence(name, Identity(kind == "a", int(start), int(step)), shared)
        for column, name, kind, step, start, shared in session.text(_SEQUENCES, [oid])
    }
