"""Scripts of statements that migrations send, with what the gateway says otherwise than PostgreSQL.

    -- A title, at the beginning of a script
    CREATE TABLE t (k INT);
    -- ours: 0A000
    CREATE TRIGGER ..;

``-- ours:`` stands before a statement to which the gateway gives another SQLSTATE, or ok.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psycopg

import gateway

_MARK = "-- ours: "


@dataclass(frozen=True, slots=True)
class Sent:
    """A statement; ``ours`` is the SQLSTATE that the gateway gives, if it is another one."""

    sql: str
    ours: str | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """Statements that run one after the other, in a schema of their own."""

    title: str
    statements: tuple[Sent, ...]


class Client(Protocol):
    """A connection in autocommit."""

    def execute(self, query: Any, /) -> Any:
        """Run a statement."""


def read_scripts(path: Path) -> list[Script]:
    """The scripts of a file, which empty lines keep apart."""
    found = []
    for part in path.read_text().strip().split("\n\n"):
        title, *lines = part.strip().splitlines()
        statements, mark, held = [], None, ""
        for line in lines:
            if line.startswith(_MARK):
                mark = line.removeprefix(_MARK)
                continue
            held += line + "\n"
            if line.endswith(";"):
                statements.append(Sent(held.strip().removesuffix(";"), mark))
                mark, held = None, ""
        found.append(Script(title.removeprefix("-- "), tuple(statements)))
    return found


def outcome(client: Client, sql: str) -> tuple[str, Any]:
    """The SQLSTATE of a statement, or ok, and its rows if it is a query."""
    try:
        cursor = client.execute(sql)
        if " RETURNING " in sql:
            return "ok", sorted(cursor.fetchall(), key=str)
        is_query = sql.lstrip().upper().startswith("SELECT")
        return "ok", cursor.fetchall() if is_query else None
    except (psycopg.Error, gateway.Error) as error:
        return error.sqlstate or "", None


def differences(script: Script, number: int, theirs: Client, ours: Client) -> list[str]:
    """The statements of a script with another outcome than PostgreSQL's, and than is marked."""
    for client in (theirs, ours):
        client.execute(f"CREATE SCHEMA script_{number}")
        client.execute(f"SET search_path = script_{number}")
    found = []
    for sent in script.statements:
        wanted, given = outcome(theirs, sent.sql), outcome(ours, sent.sql)
        if sent.ours is not None:
            wanted = (sent.ours, wanted[1] if sent.ours == "ok" else None)
        if given != wanted:
            found.append(f"{sent.sql}: {given}, not {wanted}")
    return found
