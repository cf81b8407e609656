"""How a statement of a role ends, on PostgreSQL and through the gateway: to be compared."""

from __future__ import annotations

from typing import Any

import psycopg

import gateway


def outcome(connection: Any, role: str, sql: str) -> tuple[str, int, list[Any]]:
    """How a statement of a role ends: class of error, count, rows in any order."""
    connection.execute("BEGIN")
    connection.execute(f"SET LOCAL ROLE {role}")
    try:
        cursor = connection.execute(sql)
        rows = sorted(cursor.fetchall(), key=repr) if cursor.description else []
    except (psycopg.Error, gateway.Error) as error:
        connection.execute("ROLLBACK")
        return str(error.sqlstate), -1, []
    connection.execute("COMMIT")
    return "", len(rows) if cursor.description else cursor.rowcount, rows
