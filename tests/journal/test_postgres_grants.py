"""What PostgreSQL keeps from a role, and the GRANT that is named for it."""

from __future__ import annotations

import pytest

from journal.stores.postgres.errors import translate

WANTED = {
    "permission denied for database g": 'GRANT CREATE ON DATABASE "g" TO <role>',
    "permission denied for schema hr": 'GRANT USAGE, CREATE ON SCHEMA "hr" TO <role>',
    "permission denied for schema _palimpsest": "GRANT USAGE ON SCHEMA _palimpsest TO <role>",
    "permission denied for table meta": "GRANT SELECT ON ALL TABLES IN SCHEMA _palimpsest",
    "permission denied for view t1_head": "GRANT SELECT ON ALL TABLES IN SCHEMA _palimpsest",
    "permission denied for table t2_head_1": "member of the schema's owner",
    "permission denied for sequence table_ids": "GRANT that role TO <role>",
    "permission denied for table state": "GRANT UPDATE (settled) ON _palimpsest.state TO <role>",
    "permission denied for table orders": "GRANT ALL ON the table orders TO <role>",
    "must be owner of table orders": "GRANT the owner of table orders TO <role>",
    "permission denied for foreign server s": "GRANT what it needs on foreign server s TO <role>",
    "permission denied to create role": "docs/postgresql.md",
}


@pytest.mark.parametrize("message", WANTED)
def test_the_grant_is_named(message: str) -> None:
    error = translate("42501", message)
    assert error.code.value.code == "PAL-523"
    assert WANTED[message] in error.advice
