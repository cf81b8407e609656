"""Writes the GRANT that a refused role lacks, as far as PostgreSQL's error names it. Pure.

The server names what it kept from the role, neither the role nor the schema. ``<role>`` in what is
said is the user of the URL.
"""

from __future__ import annotations

import re

_DENIED = re.compile(r"permission denied for ([a-z ]+?) (\S.*)$")
_OWNER = re.compile(r"must be owner of ([a-z ]+?) (\S.*)$")
_OURS = re.compile(
    r"t\d+_\w+|state|meta|journals|catalog_log|counters|transactions|jobs|epochs|table_ids"
)
"""Relations of our schema; whoever works through the gateway needs them all."""
_TO_WRITE = (
    "to write, it has to be a member of the schema's owner, whom SELECT nspowner::regrole FROM"
    " pg_namespace WHERE nspname = '_palimpsest' tells: GRANT that role TO <role>"
)
_TO_READ = (
    "to read: GRANT USAGE ON SCHEMA _palimpsest TO <role>; GRANT SELECT ON ALL TABLES IN SCHEMA"
    " _palimpsest TO <role>; " + _TO_WRITE
)
_TO_SETTLE = (
    "to read AS OF a point later than the last commit:"
    " GRANT UPDATE (settled) ON _palimpsest.state TO <role>; "
)


def advice(message: str) -> str:
    """What to type so that the role may do what the server's message says it may not."""
    owned = _OWNER.search(message)
    if owned is not None:
        return f"GRANT the owner of {owned[1]} {owned[2]} TO <role>"
    denied = _DENIED.search(message)
    if denied is None:
        return "grant the user of the URL what it needs; docs/postgresql.md lists it"
    kind, what = denied.groups()
    if kind == "database":
        return f'GRANT CREATE ON DATABASE "{what}" TO <role>'
    if kind == "schema" and what != "_palimpsest":
        return f'GRANT USAGE, CREATE ON SCHEMA "{what}" TO <role>'
    if kind == "schema" or _OURS.fullmatch(what):
        return (_TO_SETTLE if what == "state" else "") + _TO_READ
    if kind in {"table", "view", "sequence"}:
        return f"GRANT ALL ON the {kind} {what} TO <role>; to adopt it, it has to own it"
    return f"GRANT what it needs on {kind} {what} TO <role>"
